// The code of a variant, and what differs between two.

/** What the question "code" can list. */
export type CodeKind = 'nest' | 'c' | 'llvm' | 'cuda' | 'opencl' | 'asm' | 'kernels';
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
  /**
   * Where lines of another row begin, in the whole listing: the first line, and the place in `rows`, or -1 for none.
   */
  readonly runs: readonly (readonly [number, number])[];
  /** Why the listing is not complete; empty when it is. */
  readonly cut: string;
}

/**
 * Two variants that were measured against each other: the time of `b` over that of `a`, and how sure the faster one
 * is.
 */
export interface ContestInfo {
  readonly a: number;
  readonly b: number;
  readonly ratio: number | null;
  readonly confidence: number | null;
  readonly resolution: number | null;
  /** Milliseconds of both in turns. */
  readonly ms?: readonly number[] | null;
  readonly state: '' | 'running' | 'failed';
  readonly error: string;
  /** What came of it, in a few words. */
  readonly text: string;
}
/**
 * A line of each side with its number; `mark` says whether it is the same, gone, new or changed. Or `skip` lines that
 * are the same and left out.
 */
export interface DiffRow {
  readonly mark: ' ' | '-' | '+' | '~';
  readonly left: readonly [number, string] | null;
  readonly right: readonly [number, string] | null;
  readonly row?: string;
  readonly skip?: number;
}
/** Answer to the question "diff". */
export interface DiffAnswer {
  readonly a: number;
  readonly b: number;
  readonly kind: CodeKind;
  readonly rows: readonly DiffRow[];
  /** Lines that are the same and left out. */
  readonly folded: number;
  readonly changed: number;
  /** What was not compared; empty when everything was. */
  readonly cut: string;
  readonly est: readonly [number | null, number | null];
  readonly bytes: Readonly<Record<string, readonly [number, number]>>;
  readonly ms: readonly [number | null, number | null];
  readonly contest: ContestInfo | null;
  /** How fast `b` is beside `a`, and how that is known; empty where one has no time. */
  readonly versus?: string;
}
