// What the passes did to the model: one row for each; the drawing shows the operators before or after the chosen one.

import { walk } from '../elements/controls';
import { Switch } from '../elements/switch';
import { milliseconds } from '../../shared/format';
import type { PassesAnswer, PassInfo, Side } from '../../shared/types';

interface PassesProps {
  answer: PassesAnswer;
  at: number;
  onPick: (at: number) => void;
}

const SIDES = [
  ['before', 'Before'],
  ['after', 'After']
] as const;

/** Which side of the pass is drawn. */
export const Sides = ({ side, onSide }: { side: Side; onSide: (side: Side) => void }) => (
  <Switch label="Side of the pass" values={SIDES} value={side} onPick={onSide} />
);

const signed = ({ removed, added, changed, kernels }: PassInfo): string =>
  [removed && `−${removed}`, added && `+${added}`, changed && `~${changed}`, kernels && `${kernels} kernels`]
    .filter(Boolean)
    .join(' ');

const said = (p: PassInfo): string =>
  `${p.name}: ${p.before} nodes before, ${p.after} after; ${p.removed} removed, ${p.added} added, ${p.changed} changed; ${milliseconds(p.ms)} ms. ${p.doc}`;

export function Passes({ answer, at, onPick }: PassesProps) {
  const key = (event: KeyboardEvent): void => {
    walk(event, event.currentTarget as Element, 'button');
  };
  return (
    <div class="swb-passes" role="group" aria-label="Passes" onKeyDown={key}>
      {answer.passes.map((p, i) => (
        <button
          key={i}
          aria-pressed={i === at}
          tabIndex={i === at ? 0 : -1}
          aria-label={said(p)}
          title={p.doc}
          data-pass={i}
          class={signed(p) ? '' : 'is-idle'}
          onClick={() => onPick(i)}
        >
          <span class="swb-cut">{p.name}</span>
          <span class="swb-faint">{signed(p) || 'nothing'}</span>
          <span>{p.before === p.after ? p.after : `${p.before} → ${p.after}`}</span>
        </button>
      ))}
    </div>
  );
}
