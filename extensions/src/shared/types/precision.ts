// The model in several precisions side by side.

import type { WorkSlice } from './work';

/** A network in one precision; `ms` is null where it could not be computed in it, and `note` says why. */
export interface PrecisionRow {
  readonly precision: string;
  readonly ms: number | null;
  readonly error: number | null;
  /** The first tensor whose error is above the bound; "" where there is none. */
  readonly first_above: string;
  readonly bytes: number | null;
  readonly weights: number | null;
  readonly note: string;
}
/** A task, or with id -1 the kernels of none; a number for each precision that was made. */
export interface PrecisionTask {
  readonly id: number;
  readonly kernels: number;
  readonly ms: readonly (number | null)[];
  readonly bytes: readonly (number | null)[];
  readonly error: readonly (number | null)[];
}
export interface PrecisionAnswer {
  readonly precisions: readonly PrecisionRow[];
  readonly made: readonly string[];
  readonly rows: readonly PrecisionTask[];
  /** Error of each node against float32, by precision. */
  readonly nodes: Readonly<Record<string, Readonly<Record<string, number | null>>>>;
  readonly random: boolean;
  readonly bound: number;
}
/** How far a comparison is, and what the last one has found. */
export interface PrecisionSlice extends WorkSlice {
  readonly answer: PrecisionAnswer | null;
}
