// Rows that change their place glide there, so that the eye can follow a reorder.

import { useLayoutEffect, useRef, type MutableRef } from 'preact/hooks';
import type { NestRow } from '../../shared/types';

const GLIDE_MS = 150;
/** All rows are equally high: to ask the page where they are would make it lay out everything at once. */
const HEIGHT = 26;

/** Folding moves rows at once: only another nest makes them glide. */
export function useGlide(grid: MutableRef<HTMLDivElement | null>, rows: readonly NestRow[], shown: readonly NestRow[]): void {
  const places = useRef<ReadonlyMap<string, number>>(new Map());
  const drawn = useRef(rows);
  useLayoutEffect(() => {
    const before = places.current;
    const still = drawn.current === rows || matchMedia('(prefers-reduced-motion: reduce)').matches;
    drawn.current = rows;
    places.current = new Map(shown.map((row, at) => [row.id, HEIGHT * at]));
    for (const el of still ? [] : grid.current?.querySelectorAll<HTMLElement>('[data-row]') ?? []) {
      const at = places.current.get(el.dataset.row!)!;
      const by = (before.get(el.dataset.row!) ?? at) - at;
      if (by) el.animate([{ transform: `translateY(${by}px)` }, { transform: 'none' }], { duration: GLIDE_MS, easing: 'ease-out' });
    }
  }, [shown]);
}
