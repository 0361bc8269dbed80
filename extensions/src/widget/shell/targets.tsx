// What kernels are made for, and what they could be made for: what is here, what a package would add, what is missing.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button, Key, walk } from '../elements/controls';
import { errorText, Refusal } from '../elements/refusal';
import { useAnswer } from '../kernel/answers';
import { noKernel } from '../kernel/link-words';
import type { Store } from '../kernel/store';
import { whyNot } from '../tuning/run-states';
import type { Device, ErrorInfo, TargetSlice } from '../../shared/types';
import { typeIn, useUi } from './ui';

const WORDS: Readonly<Record<Device['state'], readonly [word: string, title: string]>> = {
  runs: ['runs here', 'Kernels are compiled, run and measured on it'],
  compiles: ['compiles', 'Kernels are compiled and can be looked at, but not measured here'],
  prints: ['prints', 'The text of kernels is made, but neither compiled nor measured here'],
  missing: ['missing', 'Not even the text of kernels is made']
};
/** Stands for what has to be filled in. */
const OPEN = '…';

/** In the header: what the kernels are for. */
export function TargetButton({ store }: { store: Store }) {
  const { targets } = useUi();
  const text = store.see('target')?.text;
  const short = store.see('meta')?.target ?? '';
  if (!text || !short) return null;
  return (
    <Button
      class="swb-link swb-target"
      data-swb-do="targets"
      title={`Made for ${text}. Choose another target (O)`}
      aria-haspopup="dialog"
      onPress={() => {
        targets.value = true;
      }}
    >
      for {short.split(' · ')[0]}
    </Button>
  );
}

/** Why no other target can be chosen now. */
function stopped(store: Store, busy: boolean): string {
  if (busy) return 'another one is being made';
  if (!whyNot('cancel', store.see('tuning')?.state ?? 'none'))
    return 'tuning is under way: stop it first, or wait for its end';
  return noKernel(store);
}

function Row({ device, reason, onPick }: { device: Device; reason: string; onPick: (target: string) => void }) {
  const { target, title, state, note, install, now, refused } = device;
  const [word, about] = WORDS[state];
  const why = now
    ? 'kernels are made for it already'
    : state === 'missing'
      ? 'it is missing here'
      : refused
        ? 'what is open cannot be made for it'
        : reason;
  return (
    <li class={`swb-device is-${state}`} data-swb-device={target}>
      <Button
        aria-label={`Use ${target}`}
        aria-current={now ? 'true' : undefined}
        reason={why}
        onPress={() => onPick(target)}
      >
        {now ? 'Now' : target.includes(OPEN) ? 'Fill in' : 'Use'}
      </Button>
      <div>
        <p>
          <b class="swb-mono">{target}</b>{' '}
          <span class="swb-device-state" title={about}>
            {word}
          </span>
        </p>
        <p class="swb-mut">{title}</p>
        {note && <p class="swb-faint">{note}</p>}
        {refused && <p>{errorText(refused)}</p>}
        {install && <code>{install}</code>}
      </div>
    </li>
  );
}

function Content({ store, slice }: { store: Store; slice: TargetSlice }) {
  const wanted = useSignal('');
  const refused = useSignal<ErrorInfo | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const { value, error } = useAnswer(store, `devices ${slice.text}`, 'devices', {});
  const reason = stopped(store, slice.step !== '');
  const choose = (target: string): void => {
    if (reason || !target.trim()) return;
    refused.value = null;
    if (target.includes(OPEN)) {
      wanted.value = target;
      requestAnimationFrame(() => {
        typeIn(field.current);
        field.current?.setSelectionRange(target.indexOf(OPEN), target.indexOf(OPEN) + 1);
      });
      return;
    }
    store.do('retarget', { target: target.trim() }).catch((why: ErrorInfo) => {
      refused.value = why;
    });
  };
  const problem = refused.value ?? (slice.step ? null : slice.error);
  return (
    <>
      <p class="swb-mut">
        Another target has tasks, variants, a log and tuning of its own; here everything stays as it is, to come back
        to.
      </p>
      {value ? (
        <ul class="swb-devices" aria-label="Targets">
          {value.rows.map(one => (
            <Row key={one.target} device={one} reason={reason} onPick={choose} />
          ))}
        </ul>
      ) : error ? (
        <Refusal title="The devices could not be listed.">{errorText(error)}</Refusal>
      ) : (
        <p class="swb-devices" role="status">
          Looking for devices…
        </p>
      )}
      <form
        class="swb-device-own"
        onSubmit={event => {
          event.preventDefault();
          choose(wanted.value.replaceAll(OPEN, ''));
        }}
      >
        <label>
          Any target
          <input
            ref={field}
            class="swb-mono"
            spellcheck={false}
            placeholder="cuda -arch=sm_90"
            value={wanted.value}
            aria-invalid={problem ? 'true' : undefined}
            onInput={event => {
              wanted.value = event.currentTarget.value;
            }}
          />
        </label>
        <Button type="submit" reason={reason || (wanted.value.trim() ? '' : 'write a target first')}>
          Use
        </Button>
      </form>
      {slice.step && (
        <p class="swb-mut" role="status">
          {slice.step} …
        </p>
      )}
      {problem && <Refusal title="It stays as it is.">{errorText(problem)}</Refusal>}
    </>
  );
}

export function TargetsDialog({ store }: { store: Store }) {
  const ui = useUi();
  const dialog = useRef<HTMLDialogElement>(null);
  const slice = store.see('target');
  const open = ui.targets.value && slice !== null;
  const text = slice?.text ?? '';
  const before = useRef(text);
  useEffect(() => {
    if (before.current && before.current !== text) {
      ui.compare.value = null; // numbers of variants are those of a target
      ui.said.value = `Kernels are made for ${store.slice('meta').peek()?.target}`;
      dialog.current?.close();
    }
    before.current = text;
  }, [text]);
  useEffect(() => {
    if (!open || dialog.current?.open) return;
    dialog.current?.showModal();
    dialog.current?.querySelector('button')?.focus();
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      ref={dialog}
      class="swb-sheet swb-targets"
      aria-label="Targets"
      onClose={() => {
        ui.targets.value = false;
      }}
      onKeyDown={event => {
        event.stopPropagation();
        if (!(event.target as Element).matches('input')) walk(event, event.currentTarget, 'button');
      }}
    >
      <h3 class="swb-h3">Target</h3>
      <Content store={store} slice={slice} />
      <Button onPress={() => dialog.current?.close()}>
        Close<Key>Esc</Key>
      </Button>
    </dialog>
  );
}
