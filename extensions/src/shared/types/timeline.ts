// Recorded runs of the model.

import type { ErrorInfo } from './status';

/** Recorded runs of a network: `sum_ms` is the sum of `calls_ms` and `gaps_ms`, which are medians over them. */
export interface RecordedRun {
  /** Which schedules the tasks have: "default" or "best". */
  readonly name: string;
  readonly number: number;
  readonly threads: number;
  readonly runs: number;
  readonly calls_ms: number;
  readonly gaps_ms: number;
  readonly sum_ms: number;
  /** Of the run that is drawn. */
  readonly run_ms: number;
  /** Median of the recorded runs. */
  readonly timed_ms: number;
  /** Median of runs without a clock between the calls. */
  readonly whole_ms: number;
  readonly whole_spread: number | null;
  readonly untuned: number;
  /** Call that something else interrupted in the drawn run; -1 where nothing did. */
  readonly interrupted: number;
  /** Whether gaps can be seen: some call has a parallel region. */
  readonly has_gaps: boolean;
  /** Why the times are not to be trusted; empty where nothing speaks against them. */
  readonly doubt: string;
}
export interface ShownRun extends RecordedRun {
  /** How fast it is beside the first one, in words, or that no difference shows; empty for the first. */
  readonly change: string;
}
/**
 * A task, with id -1 the calls of none, with -2 the time between kernels, where gaps can be seen; a number for each
 * network, milliseconds of all its calls without gaps: medians over the recorded runs. All rows add up to `sum_ms`.
 */
export interface TimelineRow {
  readonly id: number;
  readonly calls: number;
  readonly ms: readonly number[];
  readonly gap: readonly number[];
  readonly share: readonly number[];
  readonly bytes: number;
  /** How fast it is beside the first, "same schedule" where the code is the same, or that no difference shows. */
  readonly change: string;
  /** Where the drawn run is far from the median, in words. */
  readonly far: string;
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
  /** Why a call is faster than its roof allows; empty for others. */
  readonly above: readonly string[];
  readonly tuned: Numbers;
  readonly work: Readonly<Record<'thread' | 'call' | 'begin' | 'end' | 'busy', Numbers>>;
  readonly memory: ArenaMap;
}
