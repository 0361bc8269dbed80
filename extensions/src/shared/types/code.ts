// The code of a variant, and what differs between two.

/** What the question "code" can list. */
export type CodeKind = 'nest' | 'c' | 'llvm' | 'asm';
/** Answer to the question "code": a page of a listing. */
export interface CodeAnswer {
  /** The variant that it is of. */
  readonly node: number;
  readonly kind: CodeKind;
  /** Lines of the whole listing, the first line of this page, and its lines: at most 400. */
  readonly total: number;
  readonly from: number;
  readonly lines: readonly string[];
  /** Rows of the nest that have lines. */
  readonly rows: readonly string[];
  /** Where lines of another row begin, in the whole listing: the first line, and the place in `rows`, or -1 for none. */
  readonly runs: readonly (readonly [number, number])[];
  /** Why the listing is not complete; empty when it is. */
  readonly cut: string;
}

/** Two variants that were measured against each other. */
export interface ContestInfo {
  readonly a: number;
  readonly b: number;
  readonly ratio: number;
  readonly confidence: number;
  readonly resolution: number;
  readonly state: '' | 'running' | 'failed';
  readonly error: string;
}
/** A line of each side with its number; `mark` says whether it is the same, gone, new or changed. */
export interface DiffRow {
  readonly mark: ' ' | '-' | '+' | '~';
  readonly left: readonly [number, string] | null;
  readonly right: readonly [number, string] | null;
  readonly row?: string;
}
/** Answer to the question "diff". */
export interface DiffAnswer {
  readonly a: number;
  readonly b: number;
  readonly kind: CodeKind;
  readonly rows: readonly DiffRow[];
  /** Lines that are the same and left out. */
  readonly folded: number;
  readonly est: readonly [number | null, number | null];
  readonly bytes: Readonly<Record<string, readonly [number, number]>>;
  readonly ms: readonly [number | null, number | null];
  readonly contest: ContestInfo | null;
}
