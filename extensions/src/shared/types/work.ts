// Work of the kernel in steps, and what two kinds of it find.

import type { ErrorInfo } from './status';

/** How far it is: `step` is "" while none runs. */
export interface WorkSlice {
  readonly step: string;
  readonly at: number;
  readonly of: number;
  readonly error: ErrorInfo | null;
}
/** A variant without one of its steps; `ratio` is its time over that of the whole, null where it was not timed. */
/** What turns tell of two: one is faster, they take the same time, or nobody can tell. */
export type Known = 'apart' | 'same' | '';
export interface WithoutRow {
  readonly number: number;
  readonly step: string;
  readonly ratio: number | null;
  readonly known: Known;
  /** How sure the difference is; null where none is known. */
  readonly confidence: number | null;
  readonly why_not: string;
  readonly text: string;
  /** Milliseconds without it, and with all steps. */
  readonly ms: number | null;
  readonly whole_ms: number | null;
}
export interface LeaveOneOutSlice extends WorkSlice {
  /** The variant whose steps were left out. */
  readonly node: number | null;
  readonly rows: readonly WithoutRow[];
}
/** A variant among several; numbers are null where there is no such number, and `note` says why. */
export interface ComparedRow {
  readonly id: number;
  readonly ms: number | null;
  /** Its time over that of the fastest. */
  readonly ratio: number | null;
  readonly known: Known;
  readonly confidence: number | null;
  readonly text: string;
  readonly status: string;
  readonly error: string;
  readonly nbytes: number | null;
  readonly instructions: number | null;
  readonly registers: number | null;
  /** Of vector registers, and of those of addresses and counters. */
  readonly spills: number | null;
  readonly scalar_spills: number | null;
  /** Of each level of the simulated caches. */
  readonly misses: readonly number[];
  /** Share of the accesses that was simulated. */
  readonly share: number | null;
  readonly note: string;
}
export interface ComparisonSlice extends WorkSlice {
  readonly levels: readonly string[];
  readonly rows: readonly ComparedRow[];
}
