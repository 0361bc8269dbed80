// By what the nodes of the model are coloured, and what the colours mean.

import type { Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { DagNode } from '../dag/graph';
import { bytes, count, percent } from '../../shared/format';
import { shareStep, STEPS } from '../elements/share-bar';
import { shareOf } from '../tuning/task-columns';
import type { TaskRow } from '../../shared/types';

export type Mode = 'share' | 'bytes' | 'trials' | 'type' | 'tunable';
type Rows = ReadonlyMap<number, TaskRow>;
type Value = (node: DagNode, row: TaskRow | undefined) => number | null | undefined;

const MODES: Readonly<Record<Mode, readonly [name: string, value: Value, print: (top: number) => string]>> = {
  share: ['time', (_, row) => row && shareOf(row), top => percent(top)],
  bytes: ['bytes', node => (node.kind === 'view' ? null : node.bytes), top => bytes(top)],
  trials: ['trials', (_, row) => row?.trials, top => count(top)],
  type: ['element type', node => TYPES[bits(node)], () => ''],
  tunable: ['tunable', node => (node.task == null ? null : TUNABLE), () => '']
};
/** The tone of what is tunable: where text on it is well read. */
const TUNABLE = 3;
/** Tones by the bits of a number: the fewer, the stronger. */
const TYPES: Readonly<Record<string, number>> = { 32: 1, 16: 3, 8: 5 };

const bits = (node: DagNode): string => /\d+$/.exec(node.dtype ?? '')?.[0] ?? '';

/** The words beside their boxes. */
const BOXES: Partial<Record<Mode, readonly (readonly [word: string, tone: number])[]>> = {
  type: Object.entries(TYPES).map(([many, tone]) => [`${many} bits`, tone] as const),
  tunable: [
    ['tunable', TUNABLE],
    ['not', 0]
  ]
};

/** Steps of the scale for each node, the same map as long as no colour changes, and the largest value. */
export function useTones(
  nodes: readonly DagNode[],
  rows: Rows,
  mode: Mode
): readonly [ReadonlyMap<string, number>, number] {
  const value = MODES[mode][1];
  const values = nodes.map(node => (node.kind === 'frame' ? null : value(node, rows.get(node.task ?? -1))));
  const top = values.reduce<number>((most, one) => Math.max(most, one ?? 0), 0);
  const steps = values.map(one => (BOXES[mode] ? (one ?? 0) : shareStep(one, top)));
  const key = steps.join('');
  const tones = useMemo(() => new Map(nodes.map((node, i) => [node.id, steps[i] ?? 0])), [nodes, key]);
  return [tones, top];
}

/** What the colours mean, in a corner of the drawing. */
export function Scale({ mode, top }: { mode: Mode; top: number }) {
  const [name, , print] = MODES[mode];
  const boxes = BOXES[mode];
  if (boxes) {
    return (
      <span class="swb-legend">
        {boxes.map(([word, tone]) => (
          <>
            <i class={`swb-legend-box ${tone ? `swb-bg${tone}` : 'is-hatched'}`} />
            {word}
          </>
        ))}
      </span>
    );
  }
  if (!(top > 0)) return <span class="swb-legend">no {mode === 'share' ? 'times' : mode} yet</span>;
  return (
    <span class="swb-legend" role="img" aria-label={`Colour: ${name}, from 0 to ${print(top)}`}>
      0
      <span class="swb-legend-scale">
        {Array.from({ length: STEPS }, (_, i) => (
          <i key={i} class={`swb-bg${i + 1}`} />
        ))}
      </span>
      {print(top)}
    </span>
  );
}

/** The choice of what the colours show. */
export function Colours({ mode }: { mode: Signal<Mode> }) {
  return (
    <select
      aria-label="Colour of the nodes"
      title="What the colour shows"
      value={mode.value}
      onChange={event => {
        mode.value = event.currentTarget.value as Mode;
      }}
    >
      {Object.entries(MODES).map(([key, [name]]) => (
        <option key={key} value={key}>
          {key === 'tunable' ? name : `by ${name}`}
        </option>
      ))}
    </select>
  );
}
