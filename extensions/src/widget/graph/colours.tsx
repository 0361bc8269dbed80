// By what the nodes of the model are coloured, and what the colours mean.

import type { Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { DagNode } from '../dag/graph';
import { bytes, count, errorOf, milliseconds, percent } from '../../shared/format';
import { shareStep, STEPS } from '../elements/share-bar';
import { shareOf } from '../tuning/task-columns';
import type { PrecisionAnswer, TaskRow } from '../../shared/types';

export type Mode = 'share' | 'measured' | 'bytes' | 'trials' | 'type' | 'tunable' | 'bfloat16' | 'int8';
type Rows = ReadonlyMap<number, TaskRow>;
/** Errors of nodes by precision, and as `MEASURED` their milliseconds in a recorded run, where these are known. */
export type Errors = PrecisionAnswer['nodes'];
export const MEASURED = 'measured';
type Value = (node: DagNode, row: TaskRow | undefined, errors: Errors) => number | null | undefined;
type Meaning = readonly [name: string, value: Value, print: (top: number) => string];

/** The largest number of a node and of those that are drawn as it; null where none is known. */
function worst(node: DagNode, of: Errors, precision: string): number | null {
  const all = of[precision] ?? {};
  const found = [node.id, ...(node.likes?.split(' ') ?? [])].flatMap(id => all[id] ?? []);
  return found.length ? Math.max(...found) : null;
}

/** What a node takes in a recorded run, and what it is off in each precision, in words. */
export const errorWords = (node: DagNode, of: Errors): string[] =>
  Object.keys(of).flatMap(one => {
    const error = worst(node, of, one);
    if (error == null) return [];
    return one === MEASURED ? `${milliseconds(error)} ms in the network` : `${one} error ${errorOf(error)}`;
  });

const errorIn = (precision: string): Meaning => [
  `${precision} error`,
  (node, _, errors) => worst(node, errors, precision),
  errorOf
];

const MODES: Readonly<Record<Mode, Meaning>> = {
  share: ['time', (_, row) => row && shareOf(row), top => percent(top)],
  measured: ['measured time', (node, _, of) => worst(node, of, MEASURED), top => `${milliseconds(top)} ms`],
  bytes: ['bytes', node => (node.kind === 'view' ? null : node.bytes), top => bytes(top)],
  trials: ['trials', (_, row) => row?.trials, top => count(top)],
  type: ['element type', node => TYPES[bits(node)], () => ''],
  tunable: ['tunable', node => (node.task == null ? null : TUNABLE), () => ''],
  bfloat16: errorIn('bfloat16'),
  int8: errorIn('int8')
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
  mode: Mode,
  errors: Errors
): readonly [ReadonlyMap<string, number>, number] {
  const value = MODES[mode][1];
  const values = nodes.map(node => (node.kind === 'frame' ? null : value(node, rows.get(node.task ?? -1), errors)));
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
  if (!(top > 0)) {
    const what =
      mode === 'measured'
        ? 'times (record in Profile)'
        : mode === 'share'
          ? 'times'
          : print === errorOf
            ? 'errors (compare in Tuning, Precision)'
            : mode;
    return <span class="swb-legend">no {what} yet</span>;
  }
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
