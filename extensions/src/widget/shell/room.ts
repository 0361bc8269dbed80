// How the room is divided: widths of the columns and the height of the graph, as they were last dragged to. All views
// of a page share them, and the browser remembers them.

import { signal } from '@preact/signals';
import { keep, recall } from './kept';

/** What can be made larger and smaller. */
export type Part = 'left' | 'right' | 'drawing';

/** Pixels that each part has at least and at most; the style sheet sees to it that the nest keeps its place. */
export const LIMITS: Readonly<Record<Part, readonly [least: number, most: number]>> = {
  left: [220, 1200],
  right: [240, 800],
  drawing: [200, 1400]
};

export type Sizes = Readonly<Partial<Record<Part, number>>>;

export const within = (part: Part, size: number): number =>
  Math.round(Math.min(LIMITS[part][1], Math.max(LIMITS[part][0], size)));

/** Whatever stands in the browser's memory, only sizes that a splitter could have made come out. */
function remembered(): Sizes {
  try {
    const kept = JSON.parse(recall('room') ?? '{}') as Record<string, unknown> | null;
    const parts = (Object.keys(LIMITS) as Part[]).filter(part => Number.isFinite(kept?.[part]));
    return Object.fromEntries(parts.map(part => [part, within(part, kept![part] as number)]));
  } catch {
    return {};
  }
}

export const room = signal<Sizes>(remembered());

/** Give a part a size; with null it gets the usual one. */
export function resize(part: Part, size: number | null): void {
  const others: Sizes = Object.fromEntries(Object.entries(room.peek()).filter(([name]) => name !== part));
  room.value = size === null ? others : { ...others, [part]: within(part, size) };
  keep('room', JSON.stringify(room.peek()));
}

/** The sizes as the style sheet reads them. */
export const roomStyle = (): Record<string, string> =>
  Object.fromEntries(Object.entries(room.value).map(([part, size]) => [`--swb-${part}`, `${size}px`]));
