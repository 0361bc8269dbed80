// Variants on simulated caches: what `workbench.analysis.cache.films` writes.

import type { FilmInfo } from '../../cache/pictures';

/** Answer to "cache"; pictures are packed, in base 64. With a place in each run, of single accesses from there on. */
export interface CacheAnswer {
  readonly films: readonly FilmInfo[];
  readonly counts: readonly number[];
  readonly pictures: string;
}
