// What is drawn by plotly, and the estimate that stands beside measured numbers.

/** Analytic, never measured: shown with "≈". `low` and `high` only where numbers are open. */
export interface EstimateInfo {
  readonly ms: number | null;
  readonly low?: number | null;
  readonly high?: number | null;
  /** What each cache fetches from the next one. */
  readonly bytes: Readonly<Record<string, number>>;
}

export type ChartName = 'tuning' | 'roofline';

/**
 * Which chart the one figure shows, and its `height` in pixels; `wide` when its plots stand around the task table;
 * how many `trials` are in the roofline; what each level of memory allows the schedule on show.
 */
export interface ChartSlice {
  readonly name: ChartName;
  readonly wide: boolean;
  readonly height: number;
  readonly roofs: 'none' | 'measuring' | 'stored';
  readonly trials?: number;
  readonly levels?: readonly LevelRoof[];
}

/** A schedule at one level: bytes that come from there, operations per byte, and GFLOP/s that its roof allows. */
export interface LevelRoof {
  readonly name: string;
  readonly bytes: number;
  readonly intensity: number;
  readonly most: number | null;
}
