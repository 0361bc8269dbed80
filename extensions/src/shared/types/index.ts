// What the kernel sends, as the protocol describes it. Unknown numbers are null; times are in milliseconds.

import type { CacheAnswer } from './cache';
import type { ChartSlice } from './charts';
import type { CodeAnswer, DiffAnswer } from './code';
import type { ExportAnswer } from './export';
import type { GraphColumns, GraphSlice, PassesAnswer, StagesSlice } from './graph';
import type { LengthsSlice } from './lengths';
import type { AccessesSlice, CuresAnswer, PlanAnswer, WayAnswer, DropsAnswer, NestSlice, WhySlice } from './nest';
import type { PaletteSlice, PreviewAnswer, StepAnswer, WitnessAnswer } from './palette';
import type { PrecisionSlice } from './precision';
import type { HeadSlice, MetaSlice, SelectionSlice, StatusSlice } from './status';
import type { DevicesAnswer, TargetSlice } from './target';
import type { CountersAnswer, ThroughputAnswer } from './throughput';
import type { TimelineAnswer, TimelineSlice } from './timeline';
import type { SpaceInfo, SteeringSlice, TasksSlice, TuningSlice } from './tuning';
import type { HistorySlice } from './variants';
import type { ComparisonSlice, LeaveOneOutSlice } from './work';

export type * from './cache';
export type * from './charts';
export type * from './code';
export type * from './export';
export type * from './graph';
export type * from './json';
export type * from './lengths';
export type * from './nest';
export type * from './palette';
export type * from './precision';
export type * from './status';
export type * from './target';
export type * from './throughput';
export type * from './timeline';
export type * from './tuning';
export type * from './variants';
export type * from './work';

export interface Slices {
  readonly meta: MetaSlice;
  readonly graph: GraphSlice;
  readonly tasks: TasksSlice;
  readonly head: HeadSlice;
  readonly stages: StagesSlice;
  readonly nest: NestSlice;
  readonly accesses: AccessesSlice;
  /** Null while numbers are open. */
  readonly why: WhySlice;
  readonly selection: SelectionSlice;
  readonly palette: PaletteSlice;
  readonly history: HistorySlice;
  readonly tuning: TuningSlice;
  readonly steering: SteeringSlice;
  readonly status: StatusSlice;
  readonly chart: ChartSlice;
  /** Null without a model. */
  readonly precision: PrecisionSlice;
  /** Null without a model. */
  readonly timeline: TimelineSlice;
  /** Null without a model for ranges of lengths. */
  readonly lengths: LengthsSlice;
  readonly leave_one_out: LeaveOneOutSlice;
  readonly comparison: ComparisonSlice;
  readonly target: TargetSlice;
}

/** Questions, by the type of their answers. */
export interface Questions {
  readonly graph: GraphColumns;
  readonly passes: PassesAnswer;
  readonly cures: CuresAnswer;
  readonly way: WayAnswer;
  readonly plan: PlanAnswer;
  readonly spills: { readonly text: string };
  readonly drops: DropsAnswer;
  readonly preview: PreviewAnswer;
  readonly witness: WitnessAnswer;
  readonly step: StepAnswer;
  readonly code: CodeAnswer;
  readonly diff: DiffAnswer;
  readonly space: SpaceInfo;
  readonly export: ExportAnswer;
  readonly timeline: TimelineAnswer;
  readonly throughput: ThroughputAnswer;
  readonly counters: CountersAnswer;
  readonly cache: CacheAnswer;
  readonly devices: DevicesAnswer;
}

export type Theme = 'light' | 'dark';
