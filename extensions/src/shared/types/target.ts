// What kernels are made for, and what they could be made for.

import type { ErrorInfo } from './status';
import type { WorkSlice } from './work';

export interface TargetSlice extends WorkSlice {
  /** With all options, as Python writes it. */
  readonly text: string;
}

export interface Device {
  readonly target: string;
  readonly title: string;
  /** Kernels run here; are compiled; are printed; or not even that. */
  readonly state: 'runs' | 'compiles' | 'prints' | 'missing';
  readonly note: string;
  /** The command that would add what is missing; "" where none would. */
  readonly install: string;
  /** Whether kernels are made for it now. */
  readonly now: boolean;
  /** Why what is open cannot be made for it. */
  readonly refused: ErrorInfo | null;
}

export interface DevicesAnswer {
  readonly rows: readonly Device[];
}
