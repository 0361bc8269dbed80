// A model for ranges of lengths.

import type { ErrorInfo } from './status';

/** Lengths that share kernels, in the order of the ranges; `fixed_ms` is null where `least` was not compiled alone. */
export interface LengthsRow {
  readonly least: readonly number[];
  readonly most: readonly number[];
  /** The largest lengths of the kernels that run `least`. */
  readonly kernels: readonly number[];
  readonly ms: number;
  readonly fixed_ms: number | null;
  readonly untuned: number;
}
export interface LengthsAnswer {
  /** Why each shape is compiled as it comes; "" where kernels are shared. */
  readonly reason: string;
  readonly rows: readonly LengthsRow[];
}
/** How far a comparison is (`step` is "" while none runs), and what the last one has found. */
export interface LengthsSlice {
  readonly step: string;
  readonly at: number;
  readonly of: number;
  readonly error: ErrorInfo | null;
  readonly ranges: readonly { readonly name: string; readonly least: number; readonly most: number }[];
  readonly answer: LengthsAnswer | null;
}
