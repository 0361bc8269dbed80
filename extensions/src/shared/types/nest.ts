// The loop nest.

import type { Json } from './json';

/** How a loop is run; what is bound to a part of a device has the part's name (`threadIdx.x`, `vthread`). */
export type Mark = 'serial' | 'parallel' | 'vectorize' | 'unroll' | (string & {});
export type ChipKind = 'reduce' | 'run' | 'intrin' | 'note' | 'unit' | 'buffer';
export interface NestRow {
  readonly id: string;
  readonly parent: string | null;
  /** Loops around it; the store works it out. */
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
