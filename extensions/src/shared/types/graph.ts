// The model, and the stages of a task, as drawings.

export interface GraphNode {
  readonly id: string;
  readonly label: string;
  readonly sub: string;
  readonly task: number | null;
  /** "task", "host", "op", "view", "input", "output", or "frame": then its box is the title of the frame. */
  readonly kind: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
  /** Bytes that one run moves at least, operators, the frame around it. */
  readonly bytes?: number;
  readonly ops?: number;
  /** The element type that it computes in. */
  readonly dtype?: string;
  readonly frame?: string;
  /** Names of those in the other instances of its block, which are not drawn. */
  readonly likes?: string;
  /** What a pass did to it, and why. */
  readonly mark?: PassMark;
  readonly reason?: string;
  /**
   * Of a frame: its whole height, how often what is inside is repeated, nodes of one instance, whether all are shown.
   */
  readonly body?: number;
  readonly times?: number;
  readonly count?: number;
  readonly open?: boolean;
}
type PassMark = 'removed' | 'added' | 'changed';
/** A line from one node to another: x and y of each corner. */
export interface GraphEdge {
  readonly a: string;
  readonly b: string;
  readonly points: readonly number[];
}
/** A drawing that travels as it is: the stages of a task. */
export interface StagesSlice {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly width: number;
  readonly height: number;
}
/** That there is a model; its drawing is asked for. */
export interface GraphSlice {
  readonly key: string;
  readonly nodes: number;
  readonly kernels: number;
  readonly source: boolean;
}

export type Side = 'before' | 'after';
/** The frames column by column; `title` is a number of a word, `open` 0 or 1. */
type FoldColumns = Readonly<Record<'title' | 'times' | 'nodes' | 'open' | 'x' | 'y' | 'w' | 'h', readonly number[]>> & {
  readonly id: readonly string[];
  readonly task: readonly (number | null)[];
};
/** Answer to "graph": a drawing column by column; ends of edges from `id.length` on are frames. */
export interface GraphColumns {
  readonly key: string;
  readonly words: readonly string[];
  readonly id: readonly string[];
  readonly label: readonly number[];
  readonly sub: readonly number[];
  readonly kind: readonly number[];
  readonly task: readonly (number | null)[];
  readonly bytes: readonly number[];
  readonly ops: readonly number[];
  readonly dtype: readonly number[];
  readonly fold: readonly (number | null)[];
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly w: readonly number[];
  readonly h: readonly number[];
  readonly folds: FoldColumns;
  readonly a: readonly number[];
  readonly b: readonly number[];
  /** The first point of each line, then steps. */
  readonly points: readonly (readonly number[])[];
  readonly width: number;
  readonly height: number;
  readonly likes: Readonly<Record<number, string>>;
  readonly marks: readonly { readonly node: number; readonly mark: PassMark; readonly reason: string }[];
}

export interface PassInfo {
  readonly name: string;
  readonly doc: string;
  readonly before: number;
  readonly after: number;
  readonly removed: number;
  readonly added: number;
  readonly changed: number;
  readonly kernels: number;
  readonly ms: number;
}
/** Answer to "passes"; `why` says why there are none. */
export interface PassesAnswer {
  readonly passes: readonly PassInfo[];
  readonly why: string;
}
