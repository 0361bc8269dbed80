// Rows that pass others glide to their new places, so that the eye can follow a reorder. Rows that only make room for
// others do not: after a split that would be most of them, each drawn as a layer of its own for ten frames.

import { useLayoutEffect, useRef, type MutableRef } from 'preact/hooks';
import type { NestRow } from '../../shared/types';
import { rowElement } from './moving';

const GLIDE_MS = 150;
/** All rows are equally high: to ask the page where they are would make it lay out everything at once. */
const HEIGHT = 26;

/** Folding moves rows at once: only another nest makes them glide. */
export function useGlide(
  grid: MutableRef<HTMLDivElement | null>,
  rows: readonly NestRow[],
  shown: readonly NestRow[]
): void {
  const places = useRef<ReadonlyMap<string, number>>(new Map());
  const drawn = useRef(rows);
  useLayoutEffect(() => {
    const before = places.current;
    const still = drawn.current === rows || matchMedia('(prefers-reduced-motion: reduce)').matches;
    drawn.current = rows;
    places.current = new Map(shown.map((row, at) => [row.id, HEIGHT * at]));
    const kept = still ? [] : shown.map(row => row.id).filter(id => before.has(id));
    const first = [...kept].sort((a, b) => before.get(a)! - before.get(b)!);
    for (const [k, id] of kept.entries()) {
      if (first[k] === id) continue;
      const by = before.get(id)! - places.current.get(id)!;
      rowElement(grid.current, id)?.animate([{ transform: `translateY(${by}px)` }, { transform: 'none' }], {
        duration: GLIDE_MS,
        easing: 'ease-out'
      });
    }
  }, [shown]);
}
