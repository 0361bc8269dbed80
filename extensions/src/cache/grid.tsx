// An array as cells, shaded by the level that holds their lines, with the access that is about to happen.

import { Canvas, type Draw } from '../explorer/canvas';
import type { ArrayInfo, Picture } from './pictures';

/** Pixels of an array along each side at least and at most, of a cell, and around an array for a frame of a cell. */
const SIDES = [56, 176] as const;
const CELL = [1, 44] as const;
const EDGE = 4;
const GAP = 14;

const between = ([least, most]: readonly [number, number], value: number): number =>
  Math.max(least, Math.min(most, Math.floor(value)));

/** Pixels of the sides of so many arrays in a row of this width. */
export const sideOf = (width: number, arrays: number): number =>
  between(SIDES, (width - GAP * (arrays - 1)) / arrays - 2 * EDGE);

export function Grid({
  array,
  number,
  from,
  levels,
  picture,
  side,
  theme
}: {
  array: ArrayInfo;
  number: number;
  /** Cells of the arrays before it. */
  from: number;
  levels: number;
  picture: Picture;
  /** Pixels of a side, about. */
  side: number;
  theme: string;
}) {
  const wide = between(CELL, side / array.columns);
  const tall = Math.min(wide, Math.max(2, between(CELL, side / array.rows)));
  const size = { width: wide * array.columns + 2 * EDGE, height: tall * array.rows + 2 * EDGE };
  const draw: Draw = (context, _, colours) => {
    const gap = tall > 3 ? 1 : 0;
    const box = (cell: number): [number, number, number, number] => [
      EDGE + (cell % array.columns) * wide,
      EDGE + Math.floor(cell / array.columns) * tall,
      wide - (wide > 3 ? 1 : 0),
      tall - gap
    ];
    for (let cell = 0; cell < array.rows * array.columns; cell++) {
      const near = picture.cells[(from + cell) * levels]! / 255;
      const far = levels > 1 ? picture.cells[(from + cell) * levels + 1]! / 255 : near;
      context.globalAlpha = 0.35;
      context.fillStyle = colours.line;
      context.fillRect(...box(cell));
      context.globalAlpha = 0.3 * far + 0.7 * near;
      context.fillStyle = colours.accent;
      if (far) context.fillRect(...box(cell));
    }
    context.globalAlpha = 1;
    if (picture.array !== number) return;
    const [x, y, w, h] = box(picture.cell);
    const miss = picture.found > 0;
    context.lineWidth = 2;
    context.strokeStyle = miss ? colours.bad : colours.ink;
    context.strokeRect(x - 1.5, y - 1.5, w + 3, h + 3);
    if (miss) {
      context.fillStyle = colours.bad;
      context.fillRect(x, y, w, h);
    }
  };
  return (
    <figure class="swc-array">
      <figcaption>
        <b>{array.name}</b> {array.shape}
      </figcaption>
      <div style={{ width: `${size.width}px`, height: `${size.height}px` }}>
        <Canvas size={size} draw={draw} on={[picture, side, theme]} />
      </div>
    </figure>
  );
}
