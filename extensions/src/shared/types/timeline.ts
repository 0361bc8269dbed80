// Recorded runs of the model.

import type { ErrorInfo } from './status';

/** A recorded run: `run_ms` is that of the one that is drawn, the sum of `calls_ms` and `gaps_ms`. */
export interface RecordedRun {
  /** Which schedules the tasks have: "default" or "best". */
  readonly name: string;
  readonly number: number;
  readonly threads: number;
  readonly runs: number;
  readonly run_ms: number;
  readonly calls_ms: number;
  readonly gaps_ms: number;
  /** Median of runs without a clock between the calls. */
  readonly whole_ms: number;
  readonly whole_spread: number | null;
  readonly untuned: number;
  /** Call that something else interrupted in the drawn run; -1 where nothing did. */
  readonly interrupted: number;
}
export interface ShownRun extends RecordedRun {
  /** How fast it is beside the first one, in words, or that no difference shows; empty for the first. */
  readonly change: string;
}
/**
 * A task, with id -1 the calls of none, with -2 the time between kernels; a number for each drawn run, milliseconds of
 * all its calls without gaps. Milliseconds and shares of all rows add up to the run.
 */
export interface TimelineRow {
  readonly id: number;
  readonly calls: number;
  readonly ms: readonly number[];
  readonly gap: readonly number[];
  readonly share: readonly number[];
  readonly bytes: number;
  readonly change: string;
}
export interface TimelineSlice {
  readonly step: string;
  readonly at: number;
  readonly of: number;
  readonly error: ErrorInfo | null;
  readonly runs: readonly ShownRun[];
  readonly rows: readonly TimelineRow[];
  /** Milliseconds of the kernel of each node, in the last run. */
  readonly nodes: Readonly<Record<string, number>>;
}

type Numbers = readonly number[];
/** What lies where in the arena, and from which call to which. */
export interface ArenaMap {
  readonly arena: number;
  readonly constants: number;
  readonly names: readonly string[];
  readonly start: Numbers;
  readonly bytes: Numbers;
  readonly first: Numbers;
  readonly last: Numbers;
  /** Bytes that are taken while each call runs. */
  readonly live: Numbers;
}
/** Answer to "timeline": a run call by call; stamps and gaps in nanoseconds. */
export interface TimelineAnswer extends RecordedRun {
  readonly names: readonly string[];
  readonly task: Numbers;
  readonly stamps: Numbers;
  readonly gaps: Numbers;
  readonly ms: Numbers;
  readonly share: Numbers;
  readonly bytes: Numbers;
  readonly gflops: readonly (number | null)[];
  readonly gbytes: readonly (number | null)[];
  readonly roof: readonly string[];
  readonly roof_share: readonly (number | null)[];
  readonly tuned: Numbers;
  readonly work: Readonly<Record<'thread' | 'call' | 'begin' | 'end' | 'busy', Numbers>>;
  readonly memory: ArenaMap;
}
