// Why a step would change the result, with the two iterations that meet in one element.

import { useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from '../../shared/a11y';
import type { WitnessInfo } from '../../shared/types';
import type { Store } from '../store';
import { useUi } from '../ui';
import { sentence } from '../words';

function Iteration({ name, at, other }: { name: string; at: Readonly<Record<string, number>>; other: Readonly<Record<string, number>> }) {
  return (
    <div class="swb-iteration">
      <b>iteration {name}</b>
      <span class="swb-mono">
        {Object.entries(at).map(([loop, value]) => (
          <span key={loop} class={other[loop] === value ? '' : 'is-other'}>{loop}&nbsp;=&nbsp;{value} </span>
        ))}
      </span>
    </div>
  );
}

function Meeting({ witness }: { witness: WitnessInfo }) {
  const element = `${witness.buffer}[${witness.element.join(', ')}]`;
  return (
    <div class="swb-meeting">
      <div>
        <Iteration name="A" at={witness.first} other={witness.second} />
        <Iteration name="B" at={witness.second} other={witness.first} />
      </div>
      <svg viewBox="0 0 48 100" preserveAspectRatio="none" aria-hidden="true"><path d="M0 24C30 24 20 50 48 50M0 76C30 76 20 50 48 50" /></svg>
      <div class="swb-element" title={element}><span class="swb-mono">{element}</span><small>one element, written twice</small></div>
    </div>
  );
}

export function WitnessBox({ store }: { store: Store }) {
  const ui = useUi();
  const shown = ui.shown.value;
  const box = useRef<HTMLDivElement>(null);
  const back = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => {
    if (shown) {
      const active = document.activeElement;
      if (!box.current?.contains(active)) back.current = active as HTMLElement | null;
      box.current?.focus();
    } else if (back.current) {
      if (back.current.isConnected) back.current.focus();
      back.current = null;
    }
  }, [shown]);
  if (!shown) return null;
  const close = (): void => {
    ui.shown.value = null;
    store.marked.value = new Set();
  };
  return (
    <div ref={box} class="swb-pop" role="dialog" aria-label={`${shown.step} would change the result`} tabIndex={-1}>
      <h4><span class="swb-mono">{shown.step}</span> would change the result</h4>
      <p>{shown.reason}</p>
      {shown.witness && <Meeting witness={shown.witness} />}
      {shown.hint && <p class="swb-pop-hint"><b>What to do instead</b> {sentence(shown.hint)}</p>}
      <Button class="swb-close" aria-label="Close" title="Close (Esc)" onPress={close}>×</Button>
    </div>
  );
}
