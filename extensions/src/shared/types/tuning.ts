// The tasks, the run that tunes them, and what steers it.

import type { Args } from './json';
import type { HeadSlice } from './status';

export interface TaskRow {
  readonly id: number;
  readonly key: string;
  readonly name: string;
  readonly weight: number;
  readonly flops: number | null;
  readonly ms: number | null;
  readonly gflops: number | null;
  /** Element type of the numbers that it multiplies, where that is not float32. */
  readonly product?: string;
  /** Why that is above the peak, where it is. */
  readonly above?: string;
  readonly trials: number;
  readonly failed: number;
  readonly failures?: Readonly<Record<string, number>>;
  readonly untuned_ms: number | null;
  readonly share: number | null;
  readonly state: string;
  readonly reason: string;
  readonly delta: number | null;
  readonly spark: readonly number[];
  readonly spread?: number | null;
  /** What the best time stands on. */
  readonly sure?: HeadSlice['best_sure'];
  /** Comparisons that were made, and how sure the last one was that the best is the best. */
  readonly compared?: number;
  readonly confidence?: number | null;
  /** What the scheduler expects of one more round, while a run is on: in all, and the parts, in milliseconds. */
  readonly gain?: number | null;
  /** Rounds that it had. */
  readonly rounds?: number;
  readonly backward?: number | null;
  readonly optimism?: number | null;
  readonly similarity?: number | null;
  /** How many of the trials that are left the task is expected to get. */
  readonly more?: number | null;
  /**
   * While a task has no time: what this one should take without tuning, and its share of measured and estimated
   * times.
   */
  readonly est?: number | null;
  readonly est_share?: number | null;
}
export interface TasksSlice {
  readonly rows: readonly TaskRow[];
  readonly total_ms: number | null;
  readonly untuned_ms: number | null;
  /** What the tasks should take together, while not all have a time. */
  readonly est_ms?: number | null;
  /** How many kernels the sums are of, in words. */
  readonly covers: string;
  /** What the whole network takes, measured; in words how fast that is beside untuned, or that no difference shows. */
  readonly network?: {
    readonly ms: number;
    readonly spread: number | null;
    readonly untuned_ms: number;
    readonly untuned_spread: number | null;
    readonly change: string;
    readonly why_not: string;
    /** After which trial it was measured, in words; empty where the log does not say it. */
    readonly at: string;
  };
}

type OrderWidget = 'text' | 'number' | 'real' | 'checkbox' | 'numbers' | 'shown';
export interface OrderField {
  readonly name: string;
  readonly widget: OrderWidget;
  readonly label: string;
  readonly required: boolean;
  /** What its text or number is the name of. */
  readonly names?: 'task' | 'hole' | 'variant';
  /** The field whose values it takes. */
  readonly of?: string;
}
/** A command that steers a tuning run. */
export interface OrderInfo {
  readonly name: string;
  readonly summary: string;
  readonly fields: readonly OrderField[];
}
export interface TuningSlice {
  readonly state: 'none' | 'idle' | 'running' | 'paused' | 'stopping' | 'done' | 'cancelled' | 'failed';
  readonly trials: number;
  readonly total: number | null;
  readonly elapsed_s: number | null;
  readonly eta_s: number | null;
  readonly fraction: number | null;
  /** Why it ended: `budget`, `resting`, `exhausted`, `stopped`, `cancelled`, `failed`; empty while it has not. */
  readonly end?: string;
  readonly rate: number | null;
  readonly failed: number;
  readonly scope: string;
  readonly log: string;
  readonly message: string;
  readonly best_ready: boolean;
  /** Why the best trial cannot be used when it is not ready. */
  readonly best_why: string;
  /** Why there is no tuner, in a sentence. */
  readonly off?: string;
}

export interface SpaceInfo {
  readonly holes: readonly {
    readonly name: string;
    readonly values: readonly number[];
    readonly variants: readonly number[];
  }[];
  readonly variants: readonly { readonly id: number; readonly label: string; readonly rows: number }[];
}
interface ComparisonInfo {
  readonly text: string;
  readonly won: boolean;
  readonly why: string;
  readonly trials: readonly number[];
  readonly winner: number;
}
export interface SteeringSlice {
  /** The task that is tuned now. */
  readonly next: {
    readonly name: string;
    readonly reason: string;
    readonly gain: number | null;
    readonly backward: number | null;
    readonly optimism: number | null;
    readonly similarity: number | null;
  } | null;
  /** The task on show. */
  readonly task: {
    readonly trial: number | null;
    readonly ms: number | null;
    readonly spread: number | null;
    /** Who made the best, in words. */
    readonly origin: string;
    readonly chosen?: string;
    /** After how many trials of the task a comparison made it the best; null where its own trial did. */
    readonly since: number | null;
    /** The best of the run, where the log has a better one that was timed under other conditions. */
    readonly run: { readonly trial: number | null; readonly ms: number | null } | null;
    readonly quality: number | null;
    readonly reason: string;
    readonly resting: boolean;
    readonly compared: number;
    readonly won: number;
    readonly last: ComparisonInfo | null;
    readonly waiting: number;
    /** Kinds of failures, the most frequent first, each with its newest trial. */
    readonly failures: readonly {
      readonly kind: string;
      readonly count: number;
      readonly trial: number;
      readonly error: string;
      readonly opens: boolean;
    }[];
  } | null;
  readonly held: readonly { readonly task: string; readonly text: string; readonly args: Args }[];
  /** What commands would change, as it is now: by command and argument. */
  readonly values: Readonly<Record<string, Readonly<Record<string, number | null>>>>;
  /** The newest commands, newest first. */
  readonly commands: readonly {
    readonly id: number;
    readonly name: string;
    readonly text: string;
    readonly task: string;
    readonly source: string;
    readonly accepted: boolean;
    readonly error: string;
    readonly at: number;
  }[];
  readonly count: number;
  readonly refused: number;
}
