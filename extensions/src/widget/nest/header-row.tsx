// The first row of the nest, and the steps that led to it.

import { useLayoutEffect, useRef } from 'preact/hooks';
import { walk } from '../elements/controls';
import type { HistorySlice } from '../../shared/types';
import type { Store } from '../kernel/store';
import { headTicks, type Count, type Scale } from './row';

const COUNTS: Readonly<Record<Count, readonly [string, string]>> = {
  iters: ['iterations', 'How often the body runs in one call'],
  flops: ['operations', 'Arithmetic operations in one call (FLOP)']
};
const BYTES =
  'Bytes that come from further away when nothing survives from one run of the loop to the next; the bar is logarithmic, and strong where statements right in the loop or in a folded one move them';

export function Head({ scale, shows, onSwitch }: { scale: Scale; shows: Count; onSwitch: (shows: Count) => void }) {
  const other = shows === 'iters' ? 'flops' : 'iters';
  const [name, about] = COUNTS[shows];
  return (
    <div class="swb-row swb-row-head" role="row" aria-rowindex={1}>
      <span role="columnheader">loop</span>
      <span role="columnheader" title="Iterations of one run of the loop">
        extent
      </span>
      <span role="columnheader" class="swb-col-iters">
        <button
          class="swb-link is-quiet"
          title={`${about}; the bar is logarithmic.\nClick to see ${COUNTS[other][0]}`}
          onClick={() => onSwitch(other)}
        >
          {name}
        </button>
      </span>
      <span role="columnheader" class="swb-col-bytes" title={BYTES}>
        traffic
      </span>
      <span
        role="columnheader"
        class="swb-col-ws"
        title="Bytes that one run of the loop touches, and the smallest level that holds them"
      >
        {'working set '}
        <span class="swb-ticks" aria-hidden>
          {headTicks(scale)}
        </span>
      </span>
    </div>
  );
}

/** The steps from the program as it was written to the nest on show; each one leads back to the state after it. */
export function Steps({ store, history }: { store: Store; history: HistorySlice | null }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // Not at once: the page would be laid out now, and again for the panels that are drawn after this one.
    const frame = requestAnimationFrame(() => {
      if (box.current) box.current.scrollTop = box.current.scrollHeight;
    });
    return () => cancelAnimationFrame(frame);
  }, [history?.path.join()]);
  const rows = new Map(history?.rows.map(row => [row.id, row]));
  const steps = (history?.path ?? []).slice(1).flatMap(id => rows.get(id) ?? []);
  if (!history || steps.length === 0) return null;
  return (
    <div
      ref={box}
      class="swb-trace"
      role="group"
      aria-label="Steps taken"
      onKeyDown={event => {
        if (box.current) walk(event, box.current, 'button');
      }}
    >
      {steps.map((step, i) => (
        <button
          key={step.id}
          class="swb-cut"
          data-swb-taken={step.id}
          title={`${step.text}\nBack to this step`}
          tabIndex={step.id === history.at ? 0 : -1}
          aria-current={step.id === history.at || undefined}
          onClick={() => store.act('goto', { step: step.id })}
        >
          <small>{i + 1}:</small> {step.text}
        </button>
      ))}
    </div>
  );
}
