// What the kernel sends of a log, and what is sent back. Arrays travel as bytes beside the message.

import type { ErrorInfo } from '../shared/types';

export interface ColumnInfo {
  readonly name: string;
  /** The name with its unit. */
  readonly title: string;
  readonly group: 'record' | 'result' | 'time' | 'parameter';
  readonly discrete: boolean;
  /** Whether its axis can be one of factors. */
  readonly positive: boolean;
  readonly varies: boolean;
}
export type Tick = readonly [place: number, text: string];
export interface Ends {
  readonly low: number;
  readonly high: number;
  readonly log: boolean;
  readonly ticks: readonly Tick[];
}
export interface Axis extends ColumnInfo, Ends {
  readonly bins: number;
  readonly labels: readonly string[] | null;
}
export interface Brush {
  readonly low: number | null;
  readonly high: number | null;
  readonly missing?: boolean;
}
export type Brushes = Readonly<Record<string, Brush>>;
/** Places on the axes from 0 to 1; null where a record has no value. */
export type Places = readonly (number | null)[];

export interface Meta {
  readonly title: string;
  readonly format: string;
  readonly n: number;
  readonly scope: number;
  readonly tasks: readonly (readonly [key: string, label: string, records: number])[];
  readonly more_tasks: number;
  readonly columns: readonly ColumnInfo[];
  readonly cost: string;
  readonly direction: 'min' | 'max';
  readonly logs: readonly string[];
  readonly warnings: readonly string[];
  readonly more_warnings: number;
  readonly panels: readonly (readonly [name: string, tab: string, question: string])[];
  readonly reading: number | null;
  readonly live: string;
}
export interface Chosen {
  readonly n: number;
  readonly of: number;
  readonly task: string;
  readonly statuses: readonly (readonly [key: string, words: string, all: number, chosen: number, on: boolean])[];
  readonly brushes: readonly (Brush & { readonly column: string; readonly title: string; readonly text: string })[];
  readonly text: string;
  readonly error: { readonly message: string; readonly hint: string } | null;
  /** The best record; `of` is how many bests there are: of tasks, devices and objectives that cannot be compared. */
  readonly best: { readonly record: number; readonly cost: string; readonly unit: string; readonly of: number } | null;
}
export interface Axes {
  readonly axes: readonly Axis[];
  readonly all: readonly Uint8Array[];
}
export interface Lines {
  readonly chosen: readonly Uint8Array[];
  readonly counts: readonly Uint32Array[];
  readonly best: Places | null;
}
export interface Scatter {
  readonly x: Axis;
  readonly y: Axis;
  readonly across: number;
  readonly up: number;
  readonly all: Uint8Array;
}
export interface Points {
  readonly chosen: Uint8Array;
  readonly best: Places | null;
}
export interface Histogram {
  readonly axis: Axis;
  readonly all: Uint32Array;
  readonly merge: number;
}
export interface Bars {
  readonly chosen: Uint32Array;
}
export interface Steps {
  readonly x: Float32Array;
  readonly y: Float32Array;
}
export interface Curve {
  readonly name: string;
  readonly end: number;
  readonly all: Steps;
  readonly chosen: Steps;
}
export interface BestSoFar {
  readonly curves: readonly Curve[];
  readonly more: number;
  readonly by_time: boolean;
  readonly can_time: boolean;
  readonly x: Ends & { readonly title: string };
  readonly y: Ends & { readonly title: string };
}
export interface Table {
  readonly columns: readonly ColumnInfo[];
  readonly sort: string;
  readonly descending: boolean;
  readonly n: number;
  readonly first: number;
  readonly records: readonly number[];
  readonly rows: readonly (readonly string[])[];
}
export interface Slices {
  meta: Meta;
  chosen: Chosen;
  axes: Axes;
  lines: Lines;
  scatter: Scatter;
  points: Points;
  histogram: Histogram;
  bars: Bars;
  best: BestSoFar;
  table: Table;
}

export interface Detail {
  readonly record: number;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly params: readonly (readonly [name: string, value: string])[];
  readonly error: string;
  readonly raw: string;
  readonly places: Places;
  readonly point: Places;
  readonly neighbour: {
    readonly record: number;
    readonly text: string;
  } | null;
  readonly neighbour_words: string;
  readonly replay: string;
}
export interface PanelAnswer {
  readonly finding: string;
  readonly columns: readonly { readonly name: string; readonly numbers: boolean; readonly most: number | null }[];
  readonly rows: readonly (readonly (string | readonly [text: string, value: number])[])[];
  readonly more: number;
  readonly scope: string;
  readonly figure: boolean;
  /** Values of a column, one of which is to be chosen: without that there is no answer. */
  readonly choices: Choices | null;
}
export interface Choices {
  readonly column: string;
  readonly values: readonly (readonly [place: number, key: string, label: string, records: number])[];
  readonly more: number;
}
export interface Questions {
  detail: Detail;
  panel: PanelAnswer;
  figure: { readonly shown: string };
  variant: { readonly code: string; readonly explain: string };
}
export interface Settings {
  task?: string;
  statuses?: readonly string[];
  text?: string;
  brushes?: Brushes;
  axes?: readonly string[];
  logs?: readonly string[];
  x?: string;
  y?: string;
  histogram?: string;
  by_time?: boolean;
  sort?: string;
  descending?: boolean;
  first?: number;
  count?: number;
}
export type { ErrorInfo };
