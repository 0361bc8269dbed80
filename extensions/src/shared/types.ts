// The slices that the kernel sends, as the protocol describes them. Unknown numbers are null; times are in milliseconds.

export interface ErrorInfo {
  readonly code: string;
  readonly message: string;
  readonly where: readonly string[];
  readonly hint: string;
}

export interface Cache { readonly name: string; readonly bytes: number }

export type FieldWidget = 'select' | 'multiselect' | 'factors' | 'size' | 'number' | 'checkbox' | 'text';
export interface FieldInfo {
  readonly name: string;
  readonly widget: FieldWidget;
  readonly label: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly may_be_open: boolean;
  readonly default?: Json;
  /** Words that it may hold; where it names something, `names` says what. */
  readonly options?: readonly Json[];
  readonly names?: 'loop' | 'block' | 'buffer' | 'nest' | 'axis';
  /** The field that an axis or factors are about. */
  readonly of?: string;
  /** Anything else than the options may be written too. */
  readonly free?: boolean;
}
export interface PrimitiveInfo {
  readonly name: string;
  readonly category: string;
  readonly summary: string;
  readonly returns: string;
  readonly fields: readonly FieldInfo[];
}
export type OrderWidget = 'text' | 'number' | 'real' | 'checkbox' | 'numbers' | 'shown';
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
export interface OrderInfo { readonly name: string; readonly summary: string; readonly fields: readonly OrderField[] }
export interface MetaSlice {
  readonly version: string;
  readonly kind: 'model' | 'task' | 'schedule' | 'tuning' | 'log';
  readonly title: string;
  readonly target: string;
  readonly threads: number | null;
  readonly peak_gflops: number | null;
  readonly caches: readonly Cache[];
  readonly primitives: readonly PrimitiveInfo[];
  readonly orders?: readonly OrderInfo[];
  readonly panels: readonly string[];
}

export interface GraphNode {
  readonly id: string;
  readonly label: string;
  readonly sub: string;
  readonly task: number | null;
  readonly kind: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}
export interface GraphEdge { readonly a: string; readonly b: string; readonly points: readonly (readonly number[])[] }
export interface GraphSlice {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly width: number;
  readonly height: number;
}

export interface TaskRow {
  readonly id: number;
  readonly key: string;
  readonly name: string;
  readonly weight: number;
  readonly flops: number | null;
  readonly ms: number | null;
  readonly gflops: number | null;
  readonly trials: number;
  readonly failed: number;
  readonly failures?: Readonly<Record<string, number>>;
  readonly untuned_ms: number | null;
  readonly share: number | null;
  readonly state: string;
  readonly reason: string;
  readonly delta: number | null;
  readonly spark: readonly number[];
}
export interface TasksSlice {
  readonly rows: readonly TaskRow[];
  readonly total_ms: number | null;
  readonly untuned_ms: number | null;
}

export interface HeadSlice {
  readonly task: number | null;
  readonly name: string;
  readonly weight: number | null;
  readonly flops: number | null;
  readonly step: string;
  readonly ms: number | null;
  readonly spread: number | null;
  readonly gflops: number | null;
  readonly peak_share: number | null;
  readonly best_ms: number | null;
  readonly best_by: 'hand' | 'tuner' | null;
  readonly holes: number;
}

/** How a loop is run; what is bound to a part of a device has the part's name (`threadIdx.x`, `vthread`). */
export type Mark = 'serial' | 'parallel' | 'vectorize' | 'unroll' | (string & {});
export type ChipKind = 'reduce' | 'run' | 'intrin' | 'note' | 'unit' | 'buffer';
export interface NestRow {
  readonly id: string;
  readonly parent: string | null;
  readonly depth: number;
  readonly kind: 'loop' | 'init' | 'stmt';
  readonly name: string;
  readonly extent: number | string | null;
  readonly mark: Mark;
  readonly chips: readonly string[];
  /** What each chip is about. */
  readonly kinds?: readonly ChipKind[];
  readonly text: string;
  readonly reduce: boolean;
  readonly iters: number | null;
  readonly flops: number | null;
  readonly bytes: number | null;
  readonly ws: number | null;
  readonly level: string | null;
  readonly block: string | null;
}
export interface HoleInfo { readonly name: string; readonly choices: readonly Json[] | null }
export interface NestSlice {
  readonly rows: readonly NestRow[];
  readonly loops: number;
  readonly statements: number;
  readonly hidden: number;
  readonly buffers: readonly string[];
  readonly holes: readonly HoleInfo[];
  /** Axes of every block, outermost first. */
  readonly axes?: Readonly<Record<string, readonly string[]>>;
  /** How buffers lie in memory, where that is not as usual. */
  readonly storage?: Readonly<Record<string, readonly string[]>>;
}

export interface SelectionSlice { readonly id: string }

export interface WitnessInfo {
  readonly buffer: string;
  readonly element: readonly number[];
  readonly first: Readonly<Record<string, number>>;
  readonly second: Readonly<Record<string, number>>;
}
export type Args = Readonly<Record<string, Json>>;
export interface Step { readonly primitive: string; readonly args: Args }
export interface QuickMove {
  readonly args: Args;
  readonly label: string;
  readonly legal: boolean;
  readonly reason?: string;
}
export interface PaletteItem {
  /** Name of the primitive. */
  readonly id: string;
  readonly legal: boolean;
  readonly count: number;
  readonly reason: string;
  readonly hint: string;
  readonly code: string;
  readonly where: readonly string[];
  readonly witness: WitnessInfo | null;
  readonly quick: readonly QuickMove[];
  readonly divisors: readonly number[] | null;
}
export interface PaletteSlice {
  readonly at: string;
  readonly about: string;
  readonly rows: readonly PaletteItem[];
}
/** Answer to the question "judge": the same words that the palette uses. */
export interface Verdict {
  readonly legal: boolean;
  readonly code: string;
  readonly reason: string;
  readonly hint: string;
  readonly where: readonly string[];
  readonly witness: WitnessInfo | null;
}

export interface HistoryRow {
  readonly id: number;
  readonly text: string;
  readonly primitive: string;
  readonly ms: number | null;
  readonly spread: number | null;
  readonly gflops: number | null;
  readonly status: string;
  readonly error: string;
  readonly undone: boolean;
  readonly holes: number;
  readonly by: 'hand' | 'tuner';
}
export interface HistorySlice {
  readonly rows: readonly HistoryRow[];
  readonly at: number;
  readonly can_undo: boolean;
  readonly can_redo: boolean;
  readonly can_back: boolean;
  readonly auto: boolean;
}

export interface TuningSlice {
  readonly state: 'none' | 'idle' | 'running' | 'paused' | 'stopping' | 'done' | 'cancelled' | 'failed';
  readonly trials: number;
  readonly total: number | null;
  readonly elapsed_s: number | null;
  readonly eta_s: number | null;
  readonly fraction: number | null;
  readonly rate: number | null;
  readonly failed: number;
  readonly scope: string;
  readonly log: string;
  readonly message: string;
  readonly best_ready: boolean;
}

export interface SpaceInfo {
  readonly holes: readonly { readonly name: string; readonly values: readonly number[]; readonly variants: readonly number[] }[];
  readonly variants: readonly { readonly id: number; readonly label: string; readonly rows: number }[];
}
export interface ComparisonInfo {
  readonly text: string;
  readonly won: boolean;
  readonly why: string;
  readonly trials: readonly number[];
  readonly winner: number;
  readonly ms: readonly (number | null)[];
}
export interface SteeringSlice {
  /** The task that is tuned now. */
  readonly next: {
    readonly name: string; readonly reason: string; readonly gain: number | null; readonly backward: number | null;
    readonly optimism: number | null; readonly similarity: number | null;
  } | null;
  /** The task on show. */
  readonly task: {
    readonly trial: number | null; readonly ms: number | null; readonly spread: number | null; readonly origin: string;
    readonly quality: number | null; readonly reason: string; readonly resting: boolean; readonly compared: number;
    readonly won: number; readonly last: ComparisonInfo | null; readonly waiting: number;
  } | null;
  readonly held: readonly { readonly task: string; readonly text: string; readonly args: Args }[];
  /** What commands would change, as it is now: by command and argument. */
  readonly values: Readonly<Record<string, Readonly<Record<string, number | null>>>>;
  /** The newest commands, newest first. */
  readonly commands: readonly {
    readonly id: number; readonly name: string; readonly text: string; readonly task: string; readonly source: string;
    readonly accepted: boolean; readonly error: string; readonly at: number;
  }[];
  readonly count: number;
  readonly refused: number;
}

export interface Note extends Omit<ErrorInfo, 'message'> {
  readonly level: 'info' | 'warn' | 'error';
  readonly text: string;
}
export interface StatusSlice { readonly busy: string; readonly note: Note | null; readonly log: string }

export interface Slices {
  readonly meta: MetaSlice;
  readonly graph: GraphSlice;
  readonly tasks: TasksSlice;
  readonly head: HeadSlice;
  readonly stages: GraphSlice;
  readonly nest: NestSlice;
  readonly selection: SelectionSlice;
  readonly palette: PaletteSlice;
  readonly history: HistorySlice;
  readonly tuning: TuningSlice;
  readonly steering: SteeringSlice;
  readonly status: StatusSlice;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Theme = 'light' | 'dark';
