// Columns of the task table and the order of its rows.

import { outcome } from '../../shared/outcome';
import type { MetaSlice, TaskRow } from '../../shared/types';

export type Term = 'gain' | 'backward' | 'optimism' | 'similarity';
export type Key =
  | 'name'
  | 'weight'
  | 'ms'
  | 'gflops'
  | 'peak'
  | 'rounds'
  | 'trials'
  | 'share'
  | 'delta'
  | 'failed'
  | 'state'
  | 'more'
  | 'reason'
  | Term;
export interface Sort {
  readonly key: Key;
  readonly down: boolean;
}
export interface Column {
  readonly key: Key | 'spark';
  readonly text: string;
  readonly title: string;
  /** From which width on the column is shown: always, in a medium panel, in a wide one. */
  readonly from: 's' | 'm' | 'l';
  readonly left?: boolean;
  /** Whether a beginner can do without it. */
  readonly more?: boolean;
}

/** Whether the processor has an instruction for what a task multiplies, and so a peak of its own. */
export const ownPeak = (meta: MetaSlice | null | undefined, product: string | undefined): boolean =>
  meta?.peaks?.[product ?? ''] !== undefined;

/** The peak for what a task multiplies, in GFLOP/s; null where it was not measured. */
export const peakOf = (meta: MetaSlice | null | undefined, product: string | undefined): number | null =>
  (ownPeak(meta, product) ? meta?.peaks?.[product ?? ''] : meta?.peak_gflops) ?? null;

/** What is counted, also where an algorithm needs less. */
export const FLOPS = "Counts the operator's FLOPs";

export const COLUMNS: readonly Column[] = [
  { key: 'name', text: 'task', title: 'Fused operators that become one kernel', from: 's', left: true },
  { key: 'weight', text: '×', title: 'How often the model calls this task', from: 's' },
  {
    key: 'ms',
    text: 'ms',
    title: 'Best measured time of one call, in milliseconds; ≈ by a model of the machine, until one is measured',
    from: 's'
  },
  { key: 'gflops', text: 'GFLOP/s', title: `Speed of the best schedule. ${FLOPS}`, from: 'l', more: true },
  {
    key: 'peak',
    text: 'of peak',
    title: `Share of the peak of this machine for the numbers that are multiplied; * is above it, and its hint says why. ${FLOPS}`,
    from: 'm',
    more: true
  },
  { key: 'trials', text: 'trials', title: 'Measured candidates, without comparisons of the fastest', from: 'm' },
  {
    key: 'share',
    text: 'share',
    title:
      'Share of the end-to-end time: calls × time of one call, each as long as it took inside the network where that was measured (there caches hold other things); ≈ while some are estimates',
    from: 's'
  },
  {
    key: 'delta',
    text: 'Δ 20 trials',
    title: 'Change of the best time over the last 20 trials: near 0, more hardly pay',
    from: 'l',
    more: true
  },
  { key: 'spark', text: 'best so far', title: 'Best time over the trials, logarithmic', from: 'l', left: true },
  { key: 'failed', text: 'failed', title: 'Candidates without a result, by kind in the hint', from: 'l', more: true },
  { key: 'state', text: 'state', title: 'What the tuner does with the task', from: 'm', left: true }
];

/** What a beginner needs of them. */
export const FEW: readonly Column[] = COLUMNS.filter(column => !column.more);

/** The parts of what the scheduler expects of a task, in few words and in more. */
export const TERMS: readonly (readonly [Term, string, string])[] = [
  ['backward', 'by the last rounds', 'what its last rounds have saved'],
  ['optimism', 'if trials go on to pay', 'what is possible, as it had few rounds so far'],
  ['similarity', 'by similar tasks', 'what it is slower than similar tasks']
];

/** Why the scheduler takes which task next. */
export const OUTLOOK: readonly Column[] = [
  ...COLUMNS.slice(0, 2),
  {
    key: 'gain',
    text: 'gain µs',
    title: 'What one more round should save of the end-to-end time; the task with the largest gain goes next',
    from: 's'
  },
  { ...COLUMNS.find(column => column.key === 'trials')!, from: 'l' },
  {
    key: 'rounds',
    text: 'rounds',
    title: 'In a round a batch of candidates of one task is measured; after few rounds more may be possible',
    from: 'm'
  },
  ...TERMS.map(([key, , words]): Column => ({
    key,
    text: key,
    title: `A part of the gain, in microseconds of one call: ${words}`,
    from: 'l'
  })),
  {
    key: 'more',
    text: 'to come',
    title: 'Trials that the task is likely to get of those left, if they pay as they do now',
    from: 's'
  },
  { key: 'reason', text: 'why', title: 'What decides about the task now', from: 'm', left: true }
];

/** A first click on a text sorts A to Z, on a number the largest first. */
export const firstDown = (key: Key): boolean => key !== 'name' && key !== 'state' && key !== 'reason';

/** The share of a task, measured or estimated. */
export const shareOf = (row: TaskRow): number | null => row.share ?? row.est_share ?? null;

/** What a column is sorted by: estimates stand in for what is not measured. */
const valueOf = (row: TaskRow, key: Key): string | number | null =>
  key === 'share'
    ? (shareOf(row) ?? (row.ms == null ? null : row.ms * row.weight))
    : key === 'ms'
      ? (row.ms ?? row.est ?? null)
      : (row[key === 'peak' ? 'gflops' : key] ?? null);

/** A sorted copy. What is not known goes last either way; equal rows keep the order of the tasks. */
export function sortRows(rows: readonly TaskRow[], { key, down }: Sort): TaskRow[] {
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [valueOf(a, key), valueOf(b, key)];
    if (x == null || y == null) return (x == null ? 1 : 0) - (y == null ? 1 : 0) || a.id - b.id;
    const order = typeof x === 'string' ? x.localeCompare(String(y), undefined, { numeric: true }) : x - Number(y);
    return sign * order || a.id - b.id;
  });
}

/** `{timeout: 11, wrong_answer: 1}` as `11 timeouts, 1 wrong answer`. */
export function failureWords(failures: Readonly<Record<string, number>> | null | undefined): string {
  return Object.entries(failures ?? {})
    .filter(([, n]) => n > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([kind, n]) => `${n} ${outcome(kind, n)}`)
    .join(', ');
}
