// Why a step cannot be taken: the two iterations that it would bring into conflict, and legal steps instead of it.

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from '../elements/controls';
import { milliseconds } from '../../shared/format';
import type { Offer, Step, Verdict, WitnessAnswer, WitnessInfo } from '../../shared/types';
import { stepText } from '../../shared/steps';
import { markRows } from '../nest/marks';
import type { Store } from '../kernel/store';
import { STOP } from '../shell/keys';
import { focusOn, useUi, type Ui } from '../shell/ui';
import { sentence } from '../elements/text';
import { noKernel } from '../kernel/link-words';
import { putBeside } from './box-place';
import { usePreview } from './preview';

type Kind = WitnessInfo['kind'];

/** What goes wrong, after the step in the title; then what it says in the element, and who meets there. */
const WORDS: Readonly<Record<Kind, readonly [title: string, element: string, first: string, second: string]>> = {
  'write-write': ['would change the result', 'one element, written twice', 'iteration A', 'iteration B'],
  twice: ['would count terms twice', 'takes in the same term twice', 'first', 'again'],
  'read-before-write': ['would read too early', 'read before it is complete', 'reads', 'still writes']
};
const title = (witness: WitnessInfo | null): string => (witness ? WORDS[witness.kind][0] : 'is not legal here');

function Iteration({
  name,
  block,
  at,
  other
}: {
  name: string;
  block: string;
  at: WitnessInfo['first'];
  other: WitnessInfo['first'];
}) {
  return (
    <div class="swb-iteration">
      <span>
        <b>{name}</b>
        {block && <span class="swb-mono"> {block}</span>}
      </span>
      <span class="swb-mono">
        {Object.entries(at).map(([loop, value]) => (
          <span key={loop} class={other[loop] === value ? '' : 'is-other'}>
            {loop}&nbsp;=&nbsp;{value}{' '}
          </span>
        ))}
      </span>
    </div>
  );
}

const number = (value: number): string => String(Math.round(value * 1e4) / 1e4).replace('-', '\u2212');

function Meeting({ witness }: { witness: WitnessInfo }) {
  const { kind, blocks, first, second, effect, filling = {} } = witness;
  const [, what, one, two] = WORDS[kind];
  const element = `${witness.buffer}[${witness.element.join(', ')}]`;
  const named = kind === 'read-before-write';
  const never = Object.keys(second).length === 0;
  const open = Object.entries(filling);
  return (
    <>
      <div class="swb-meeting">
        <div>
          <Iteration name={one} block={named ? blocks[0] : ''} at={first} other={second} />
          {never ? (
            <div class="swb-iteration">
              <b>nothing writes it</b>
            </div>
          ) : (
            <Iteration name={two} block={named ? blocks[1] : ''} at={second} other={first} />
          )}
        </div>
        <svg viewBox="0 0 48 100" preserveAspectRatio="none" aria-hidden>
          <path d="M0 24C30 24 20 50 48 50M0 76C30 76 20 50 48 50" />
        </svg>
        <div>
          <div class="swb-element" title={element}>
            <span class="swb-mono">{element}</span>
            <small>{what}</small>
          </div>
          {effect && (
            <p class="swb-effect" title="The two terms alone, with inputs that were made up">
              in order {number(effect.order)}
              <br />
              <b>at once {effect.otherwise.map(number).join(' or ')}</b>
            </p>
          )}
        </div>
      </div>
      {open.length > 0 && <p>Shown with {open.map(([name, value]) => `?${name} = ${value}`).join(', ')}.</p>}
    </>
  );
}

/** Legal steps: the pointer or the focus previews them, Enter takes them. */
export function OfferButton({ store, offer, onTake }: { store: Store; offer: Offer; onTake?: () => void }) {
  const over = useSignal(false);
  const { step, then = [], without, label, est } = offer;
  usePreview(store, over.value && step ? step : null, then, without);
  // Only a pointer that moves asks: a button may slide below one that rests.
  const show = (): void => {
    over.value = true;
  };
  const end = (): void => {
    over.value = false;
  };
  return (
    <button
      type="button"
      class="swb-mini is-wide"
      title={`${label}\n${then.length > 0 ? 'Take these steps; only their end is measured' : step ? 'Take this step' : 'Show this schedule'}`}
      onPointerMove={show}
      onPointerLeave={end}
      onFocus={show}
      onBlur={end}
      onClick={() => {
        end();
        if (step) store.act('apply', then.length > 0 || without ? { step, then, without } : { step });
        else store.act(offer.act ?? 'open_default', offer.args);
        onTake?.();
      }}
    >
      <span class="swb-cut">{label}</span>
      {est !== null && <span class="swb-faint"> ≈ {milliseconds(est)} ms</span>}
    </button>
  );
}

type Reason = Pick<Verdict, 'reason' | 'hint' | 'where' | 'witness'>;

/**
 * Mark what a reason is about, and open the box: at once where two iterations are at hand or it is wanted in any case,
 * else when the kernel has found some, or another step that is legal.
 */
export function showWhy(store: Store, ui: Ui, step: Step, why: Reason, always = false): string {
  const { reason, hint, where } = why;
  const said = markRows(store, ui, where);
  const open = (witness: WitnessInfo | null, instead?: WitnessAnswer['instead']): void => {
    ui.shown.value = { step: stepText(step.primitive, step.args), reason, hint, where, witness, instead };
  };
  if (why.witness || always) open(why.witness);
  else ui.shown.value = null;
  const before = ui.shown.peek();
  if (!noKernel(store)) {
    store.ask('witness', { step }).then(
      ({ verdict, instead }) => {
        const witness = why.witness ?? verdict.witness;
        if (ui.shown.peek() === before && (witness || instead.length > 0)) open(witness, instead);
      },
      () => undefined
    );
  }
  return said;
}

export function WitnessBox({ store }: { store: Store }) {
  const ui = useUi();
  const shown = ui.shown.value;
  const box = useRef<HTMLDivElement>(null);
  const back = useRef<HTMLElement | null>(null);
  const nest = store.see('nest');
  useEffect(
    () => () => {
      ui.shown.value = null;
    },
    [nest, ui.tab.value]
  ); // what was said of another nest
  useLayoutEffect(() => {
    if (shown) {
      const active = document.activeElement;
      if (!box.current?.contains(active)) back.current = active as HTMLElement | null;
      putBeside(ui.root.current!, box.current!, store.marked.peek());
      box.current!.focus({ preventScroll: true });
    } else if (back.current) {
      if (!back.current.isConnected) focusOn(ui, `.swb-nest ${STOP}`);
      else back.current.focus();
      back.current = null;
    }
  }, [shown]);
  if (!shown) return null;
  const { witness, instead } = shown;
  const close = (): void => {
    ui.shown.value = null;
    store.marked.value = new Set();
  };
  return (
    <div ref={box} class="swb-pop" role="dialog" aria-label={`${shown.step} ${title(witness)}`} tabIndex={-1}>
      <h4>
        <span class="swb-mono">{shown.step}</span> {title(witness)}
      </h4>
      <p>{shown.reason}</p>
      {witness && <Meeting witness={witness} />}
      {shown.hint && (
        <p class="swb-pop-hint">
          <b>What to do instead</b> {sentence(shown.hint)}
        </p>
      )}
      {instead && instead.length > 0 && (
        <p class="swb-pop-hint swb-line">
          <b>Legal instead</b>
          {instead.map(offer => (
            <OfferButton key={offer.label} store={store} offer={offer} onTake={close} />
          ))}
        </p>
      )}
      <Button class="swb-close" aria-label="Close" title="Close (Esc)" onPress={close}>
        ×
      </Button>
    </div>
  );
}
