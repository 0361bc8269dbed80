// The variants of the schedule on show: a tree. The slice is called `history`.

import type { ContestInfo } from './code';
import type { Doubt } from './status';

export interface VariantRow {
  readonly id: number;
  readonly parent: number | null;
  /** How it came of its parent: by one step, several at once, numbers for its open ones, or steps of another task. */
  readonly edge: 'start' | 'step' | 'steps' | 'fill' | 'replay';
  readonly steps: number;
  readonly text: string;
  /** The same in fewer letters, where there is a shorter way to say it. */
  readonly short?: string;
  readonly primitive: string;
  readonly name: string;
  readonly star: boolean;
  readonly by: 'hand' | 'tuner' | 'template';
  readonly trial: number | null;
  readonly holes: number;
  /** Column and row; rows above the first branch are negative. */
  readonly x: number;
  readonly y: number;
  readonly ms: number | null;
  /** None where it was timed once. */
  readonly spread: number | null;
  readonly gflops: number | null;
  readonly doubt?: Doubt | null;
  readonly remark?: string;
  /** What the kernel found in the caches, in words. */
  readonly caches?: string;
  /** Which faster variant takes the same time in turns. */
  readonly same?: string;
  /** Estimated latency; where numbers are open, from it to `est_high`. */
  readonly est: number | null;
  readonly est_high: number | null;
  readonly status: string;
  readonly error: string;
  /** What came of timing it against its parent. */
  readonly than?: string;
  /** Whether redo leads there. */
  readonly undone: boolean;
}
export interface HistorySlice {
  readonly rows: readonly VariantRow[];
  readonly at: number;
  /** From the program as it was written to the one on show. */
  readonly path: readonly number[];
  readonly can_undo: boolean;
  readonly can_redo: boolean;
  readonly auto: boolean;
  readonly best: number | null;
  /** Variants that were let go because there were too many. */
  readonly hidden: number;
  readonly contests: readonly ContestInfo[];
  /** How fast the variant on show is beside those that it was made of, as far as anybody can tell. */
  readonly change?: { readonly text: string; readonly title: string } | null;
  /** How many times as fast the best variant is as that on show, where the two can be told apart. */
  readonly ahead?: { readonly gain: number; readonly text: string };
}

/** What came of taking a variant's steps on another task; with the note of the status. */
export interface ReplayReport {
  readonly onto: string;
  readonly steps: readonly ReplayStep[];
  /** The first step that is not legal there. */
  readonly failed_at: number | null;
}
export interface ReplayStep {
  readonly text: string;
  readonly ok: boolean | null;
  readonly reason: string;
  readonly hint: string;
  readonly where: readonly string[];
}
