// Any column against any other: a cell for each place where there are records, coloured where chosen ones are.

import type { JSX } from 'preact';
import { endsOf, rangeOf } from './axis';
import { Canvas, drag, font, Head, useSize, type Colours, type Draw, type Point, type Size } from './canvas';
import { ColumnSelect, LogCheck } from './choose';
import type { Axis, Brush, Places, Points, Scatter as Cells, Tick } from './protocol';
import type { View } from './view';

export const LEFT = 58;
export const RIGHT = 12;
export const TOP = 8;
export const FOOT = 34;
const HEIGHT = 250;
/** Room beside the axes for rows that have no value on them. */
const GUTTER = 10;

export interface Frame {
  readonly x: (place: number) => number;
  readonly y: (place: number) => number;
  readonly placeX: (x: number) => number;
  readonly placeY: (y: number) => number;
}

const within = (place: number): number => Math.max(0, Math.min(1, place));

export function frameOf({ width, height }: Size, gutter = 0): Frame {
  const [left, right, low] = [LEFT + gutter, width - RIGHT, height - FOOT - gutter];
  return {
    x: place => left + place * (right - left),
    y: place => low - place * (low - TOP),
    placeX: x => within((x - left) / (right - left)),
    placeY: y => within((low - y) / (low - TOP))
  };
}

/** The axes of a plot: lines, texts, names. */
export function grid(
  context: CanvasRenderingContext2D,
  { width, height }: Size,
  f: Frame,
  x: { readonly ticks: readonly Tick[]; readonly title: string },
  y: { readonly ticks: readonly Tick[]; readonly title: string },
  c: Colours
): void {
  context.font = font;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  let last = Infinity;
  for (const [place, text] of y.ticks) {
    const at = f.y(place);
    if (last - at < 12) continue;
    last = at;
    context.fillStyle = c.line;
    context.fillRect(f.x(0), Math.round(at) - 0.5, f.x(1) - f.x(0), 1);
    context.fillStyle = c.faint;
    context.fillText(fitted(context, text, LEFT - 8), LEFT - 5, at);
  }
  context.textBaseline = 'alphabetic';
  context.textAlign = 'center';
  let end = -Infinity;
  for (const [place, text] of x.ticks) {
    const label = fitted(context, text, 90);
    const half = context.measureText(label).width / 2;
    const at = Math.min(width - half - 2, Math.max(half + 2, f.x(place)));
    if (at - half < end + 8) continue;
    end = at + half;
    context.fillText(label, at, height - FOOT + 14);
  }
  context.fillStyle = c.line;
  context.fillRect(f.x(0), Math.round(f.y(0)) - 0.5, f.x(1) - f.x(0), 1);
  context.fillStyle = c.faint;
  context.fillText(fitted(context, x.title, width - LEFT), (f.x(0) + f.x(1)) / 2, height - 5);
  context.textAlign = 'left';
}

export function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let n = text.length - 1;
  while (n > 1 && context.measureText(`${text.slice(0, n)}…`).width > room) n--;
  return `${text.slice(0, n)}…`;
}

function cells(context: CanvasRenderingContext2D, f: Frame, s: Cells, levels: Uint8Array, colour: string): void {
  const up = s.up + 1;
  const [wide, high] = [(f.x(1) - f.x(0)) / s.across, (f.y(0) - f.y(1)) / s.up];
  const [w, h] = [Math.max(2, Math.min(10, wide - 1)), Math.max(2, Math.min(10, high - 1))];
  context.fillStyle = colour;
  for (let at = 0; at < levels.length; at++) {
    const level = levels[at]!;
    if (level === 0) continue;
    const [i, j] = [Math.floor(at / up), at % up];
    const x = i < s.across ? f.x((i + 0.5) / s.across) : f.x(0) - GUTTER;
    const y = j < s.up ? f.y((j + 0.5) / s.up) : f.y(0) + GUTTER;
    context.globalAlpha = 0.3 + (0.7 * level) / 255;
    context.fillRect(x - w / 2, y - h / 2, w, h);
  }
  context.globalAlpha = 1;
}

function ring(context: CanvasRenderingContext2D, f: Frame, places: Places | null, colour: string): void {
  if (!places) return;
  const [x, y] = places as [number | null, number | null];
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x === null ? f.x(0) - GUTTER : f.x(x), y === null ? f.y(0) + GUTTER : f.y(y), 6, 0, 7);
  context.stroke();
}

const ground =
  (s: Cells): Draw =>
  (context, size, c) => {
    const f = frameOf(size, GUTTER);
    grid(context, size, f, s.x, s.y, c);
    cells(context, f, s, s.all, c.rest);
    if (!s.all.some((level, at) => level > 0 && at % (s.up + 1) === s.up)) return;
    context.fillStyle = c.faint;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillText('no value', LEFT - 5, f.y(0) + GUTTER);
    context.textAlign = 'left';
  };

const picture =
  (s: Cells, points: Points | null, record: Places | null): Draw =>
  (context, size, c) => {
    const f = frameOf(size, GUTTER);
    if (points?.chosen.length === s.all.length) cells(context, f, s, points.chosen, c.accent);
    ring(context, f, points?.best ?? null, c.best);
    ring(context, f, record, c.ink);
  };

/** The rectangle of two ranges, where one of them is there. */
export function box(
  f: Frame,
  x: Axis | null,
  y: Axis | null,
  brushes: Readonly<Record<string, Brush>>
): JSX.CSSProperties | null {
  const across = x && endsOf(x, brushes[x.name]);
  const up = y && endsOf(y, brushes[y.name]);
  if (!across && !up) return null;
  const [left, right] = across ?? [0, 1];
  const [low, high] = up ?? [0, 1];
  return { left: f.x(left), width: f.x(right) - f.x(left), top: f.y(high), height: f.y(low) - f.y(high) };
}

export function Scatter({ view }: { view: View }) {
  const { store } = view;
  const s = store.see('scatter');
  const points = store.see('points');
  const [place, size] = useSize<HTMLDivElement>();
  if (!s) return null;
  const f = frameOf(size, GUTTER);
  const record = view.detail.value?.point ?? null;
  const down = (event: JSX.TargetedPointerEvent<HTMLDivElement>): void => {
    const choose = (at: Point, from: Point): void =>
      store.brush({
        [s.x.name]: rangeOf(s.x, f.placeX(from.x), f.placeX(at.x)),
        [s.y.name]: rangeOf(s.y, f.placeY(from.y), f.placeY(at.y))
      });
    const far = (at: Point, from: Point): boolean => Math.abs(at.x - from.x) + Math.abs(at.y - from.y) > 4;
    drag(
      event,
      (at, from) => {
        if (far(at, from)) choose(at, from);
      },
      (at, from) => {
        if (far(at, from)) choose(at, from);
        else store.brush({ [s.x.name]: null, [s.y.name]: null });
      }
    );
  };
  const range = box(f, s.x, s.y, store.brushes.value);
  return (
    <section class="swx-chart" aria-label="Scatter plot">
      <Head title="Scatter">
        <ColumnSelect view={view} label="Across" value={s.x.name} onPick={x => store.set({ x })} />
        <LogCheck view={view} axis={s.x} />
        <ColumnSelect view={view} label="Up" value={s.y.name} onPick={y => store.set({ y })} />
        <LogCheck view={view} axis={s.y} />
      </Head>
      <div ref={place} class="swx-plot" style={{ height: HEIGHT }} onPointerDown={down} data-swx="scatter">
        <Canvas size={size} draw={ground(s)} on={[s, store.theme.value]} />
        <Canvas size={size} draw={picture(s, points, record)} on={[s, points, record, store.theme.value]} />
        {range && <i class="swx-box" style={range} />}
      </div>
    </section>
  );
}
