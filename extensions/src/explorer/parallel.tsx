// Parallel coordinates: an axis for each column, a line between two axes for each pair of bins that some record has.
// All records are grey; they and the axes have canvases of their own, which a range leaves as they are. What is chosen
// is coloured by how many there are, the best of it and the record on show stand out. A range is drawn along an axis;
// names are dragged to another place.

import { useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { endsOf, rangeOf, valueRange } from './axis';
import { AxisName } from './axis-name';
import { Canvas, drag, font, useSize, type Colours, type Draw, type Point } from './canvas';
import type { Axes, Axis, Brush, Lines, Places } from './protocol';
import { fitted } from './scatter';
import type { ExplorerStore } from './store';
import type { View } from './view';

const HEIGHT = 236;
const TOP = 10;
const FOOT = 26;
const SIDE = 34;
/** More room for the labels of the last axis. */
const END = 42;
/** Pixels of a letter of a name, about; names that have no room side by side take turns in two lines. */
const LETTER = 7.2;
/** Axes are never closer than this; what has no room is scrolled to. */
const NARROWEST = 48;
const LEVELS = 8;
const GRIP = 6;

const bottom = HEIGHT - FOOT;
const upTo = (place: number): number => bottom - place * (bottom - TOP);
const placeAt = (y: number): number => Math.max(0, Math.min(1, (bottom - y) / (bottom - TOP)));
const MISSING = HEIGHT - 9;

const gapOf = (n: number, width: number): number => (n > 1 ? (width - 2 * SIDE - END) / (n - 1) : width);

/** Where the axes stand. */
function across(n: number, width: number): (i: number) => number {
  const gap = gapOf(n, width);
  return i => (n > 1 ? SIDE + i * gap : width / 2);
}

const yOf = (axis: Axis, bin: number): number => (bin >= axis.bins ? MISSING : upTo((bin + 0.5) / axis.bins));

/** Draw the lines of one gap, those of few records first and faint. */
function gap(
  context: CanvasRenderingContext2D,
  [left, right]: readonly [Axis, Axis],
  [x0, x1]: readonly [number, number],
  cells: Uint8Array,
  colour: string,
  [faint, strong]: readonly [number, number]
): void {
  const n = right.bins + 1;
  const from = Array.from({ length: left.bins + 1 }, (_, bin) => yOf(left, bin));
  const to = Array.from({ length: n }, (_, bin) => yOf(right, bin));
  const paths = Array.from({ length: LEVELS }, () => new Path2D());
  const used = new Uint8Array(LEVELS);
  for (let at = 0; at < cells.length; at++) {
    const level = cells[at]!;
    if (level === 0) continue;
    const which = Math.min(LEVELS - 1, (level * LEVELS) >> 8);
    const path = paths[which]!;
    used[which] = 1;
    path.moveTo(x0, from[Math.floor(at / n)]!);
    path.lineTo(x1, to[at % n]!);
  }
  context.strokeStyle = colour;
  for (let k = 0; k < LEVELS; k++) {
    if (!used[k]) continue;
    context.globalAlpha = faint + ((strong - faint) * k) / (LEVELS - 1);
    context.stroke(paths[k]!);
  }
  context.globalAlpha = 1;
}

function trail(context: CanvasRenderingContext2D, places: Places, x: (i: number) => number): void {
  context.beginPath();
  places.forEach((place, i) => {
    const y = place === null ? MISSING : upTo(place);
    if (i === 0) context.moveTo(x(i), y);
    else context.lineTo(x(i), y);
  });
  context.stroke();
}

function ticks(context: CanvasRenderingContext2D, axis: Axis, x: number, room: number, c: Colours): void {
  context.fillStyle = c.line;
  context.fillRect(x - 0.5, TOP, 1, bottom - TOP);
  let last = Infinity;
  for (const [place, whole] of axis.ticks) {
    const y = upTo(place);
    if (last - y < 11) continue;
    last = y;
    context.fillStyle = c.faint;
    context.fillRect(x - 2, y - 0.5, 4, 1);
    label(context, whole, x, y, room, c);
  }
}

/** A text beside an axis, to be read on any lines. */
function label(context: CanvasRenderingContext2D, whole: string, x: number, y: number, room: number, c: Colours): void {
  const text = fitted(context, whole, room);
  context.lineWidth = 4;
  context.lineJoin = 'round';
  context.strokeStyle = c.under;
  context.strokeText(text, x + 5, y);
  context.fillStyle = c.ink;
  context.fillText(text, x + 5, y);
}

interface Shown {
  readonly axes: Axes;
  readonly lines: Lines | null;
  readonly record: Places | null;
}

const gaps = (
  context: CanvasRenderingContext2D,
  axes: readonly Axis[],
  cells: readonly Uint8Array[],
  x: (i: number) => number,
  colour: string,
  strength: readonly [number, number]
): void => {
  context.lineWidth = 1;
  cells.forEach((one, i) => gap(context, [axes[i]!, axes[i + 1]!], [x(i), x(i + 1)], one, colour, strength));
};

const ground =
  ({ axes, all }: Axes): Draw =>
  (context, { width }, c) =>
    gaps(context, axes, all, across(axes.length, width), c.rest, [0.12, 0.35]);

const roomOf = (i: number, n: number, width: number): number =>
  i + 1 < n ? Math.max(gapOf(n, width) - 12, 32) : SIDE + END - 6;

function texts(context: CanvasRenderingContext2D): void {
  context.font = font;
  context.textBaseline = 'middle';
}

/** The axes with their ticks; above everything, so that they can be read. */
const marks =
  ({ axes }: Axes): Draw =>
  (context, { width }, c) => {
    const x = across(axes.length, width);
    texts(context);
    axes.forEach((axis, i) => ticks(context, axis, x(i), roomOf(i, axes.length, width), c));
  };

const picture =
  ({ axes: { axes, all }, lines, record }: Shown): Draw =>
  (context, { width }, c) => {
    const x = across(axes.length, width);
    if (lines?.chosen.length === all.length) gaps(context, axes, lines.chosen, x, c.accent, [0.12, 0.85]);
    if (lines) counts(context, axes, lines, x, c);
    context.lineWidth = 2.5;
    context.strokeStyle = c.best;
    if (lines?.best?.length === axes.length) trail(context, lines.best, x);
    context.strokeStyle = c.ink;
    context.lineWidth = 1.5;
    if (record?.length === axes.length) trail(context, record, x);
    texts(context);
    axes.forEach((axis, i) => {
      const room = roomOf(i, axes.length, width);
      if (lines?.counts[i]?.[axis.bins]) label(context, 'no value', x(i), MISSING, room, c);
    });
  };

/** How many of the chosen records are in each bin, as bars at the axis. */
function counts(
  context: CanvasRenderingContext2D,
  axes: readonly Axis[],
  lines: Lines,
  x: (i: number) => number,
  c: Colours
): void {
  context.fillStyle = c.accent;
  context.globalAlpha = 0.45;
  axes.forEach((axis, i) => {
    const found = lines.counts[i];
    if (found?.length !== axis.bins + 1) return;
    let most = 1;
    for (const count of found) most = Math.max(most, count);
    const step = (bottom - TOP) / axis.bins;
    const thick = Math.max(1, Math.min(7, step - 1));
    found.forEach((count, bin) => {
      const long = count ? Math.max(1, (14 * count) / most) : 0;
      context.fillRect(x(i) - long, yOf(axis, bin) - thick / 2, long, bin < axis.bins ? thick : 5);
    });
  });
  context.globalAlpha = 1;
}

/** The range after a pointer went from one height to another. */
function chosenBy(axis: Axis, from: Point, at: Point, old: [number, number] | null): Brush | null {
  const [start, end] = [placeAt(from.y), placeAt(at.y)];
  if (!old) return rangeOf(axis, start, end);
  const [low, high] = [upTo(old[0]), upTo(old[1])];
  if (Math.abs(from.y - low) <= GRIP) return rangeOf(axis, end, old[1]);
  if (Math.abs(from.y - high) <= GRIP) return rangeOf(axis, old[0], end);
  if (from.y > low || from.y < high) return rangeOf(axis, start, end);
  const by = Math.max(-old[0], Math.min(1 - old[1], end - start));
  return rangeOf(axis, old[0] + by, old[1] + by);
}

/** A press without a move: one value where there are few, rows without a value below the axis, else everything. */
function pressed(axis: Axis, at: Point, old: Brush | undefined): Brush | null {
  if (at.y > bottom + 6) return old?.missing ? null : { low: null, high: null, missing: true };
  if (old || !axis.discrete || axis.bins > 48) return null;
  return valueRange(axis, placeAt(at.y));
}

function AxisRange({ axis, x, width, store }: { axis: Axis; x: number; width: number; store: ExplorerStore }) {
  const brush = store.brushes.value[axis.name];
  const ends = endsOf(axis, brush);
  const down = (event: JSX.TargetedPointerEvent<HTMLDivElement>): void => {
    const old = endsOf(axis, store.brushes.peek()[axis.name]);
    drag(
      event,
      (at, from) => {
        if (Math.abs(at.y - from.y) > 2) store.brush({ [axis.name]: chosenBy(axis, from, at, old) });
      },
      (at, from) => {
        const moved = Math.abs(at.y - from.y) > 2;
        const now = store.brushes.peek()[axis.name];
        store.brush({ [axis.name]: moved ? chosenBy(axis, from, at, old) : pressed(axis, at, now) });
      }
    );
  };
  return (
    <div class="swx-rail" data-swx-rail={axis.name} style={{ left: x - width / 2, width }} onPointerDown={down}>
      {ends && (
        <i class="swx-range" style={{ top: upTo(ends[1]), height: Math.max(2, upTo(ends[0]) - upTo(ends[1])) }} />
      )}
      {brush?.missing && <i class="swx-range" style={{ top: MISSING - 8, height: 16 }} />}
    </div>
  );
}

export function Parallel({ view }: { view: View }) {
  const { store } = view;
  const axes = store.see('axes');
  const lines = store.see('lines');
  const meta = store.see('meta');
  const [box, size] = useSize<HTMLDivElement>();
  const [, redraw] = useState(0);
  if (!axes || !meta) return null;
  const names = axes.axes.map(one => one.name);
  const x = across(names.length, size.width);
  const gap = gapOf(names.length, size.width);
  const close = axes.axes.some(one => one.title.length * LETTER > gap - 6);
  const rail = Math.max(12, Math.min(40, names.length > 1 ? (size.width - 2 * SIDE) / (names.length - 1) : 40));
  const onMove = (next: readonly string[]): void => {
    store.set({ axes: next });
    redraw(n => n + 1);
  };
  const rest = meta.columns.filter(one => !names.includes(one.name) && one.varies);
  const record = view.detail.value?.places ?? null;
  return (
    <section class="swx-parallel" aria-label="Parallel coordinates">
      <div class="swx-head">
        <h3 class="swb-h3">
          Parallel coordinates <span class="swb-faint">drag along an axis to choose a range</span>
        </h3>
        <span class="swx-legend">
          <i class="swx-mark is-chosen" /> chosen <i class="swx-mark is-all" /> all <i class="swx-mark is-best" /> best
        </span>
        {rest.length > 0 && (
          <select
            aria-label="Add an axis"
            value=""
            onChange={event => {
              const name = event.currentTarget.value;
              event.currentTarget.value = '';
              if (name) onMove([...names, name]);
            }}
          >
            <option value="">Add an axis…</option>
            {rest.map(one => (
              <option key={one.name} value={one.name}>
                {one.title}
              </option>
            ))}
          </select>
        )}
      </div>
      <div class="swx-wide">
        <div class={`swx-names${close ? ' is-close' : ''}`} role="toolbar" aria-label="Axes">
          {size.width > 0 &&
            axes.axes.map((axis, at) => (
              <AxisName
                key={axis.name}
                axis={axis}
                at={at}
                x={x}
                gap={gap}
                close={close}
                view={view}
                names={names}
                onMove={onMove}
              />
            ))}
        </div>
        <div
          ref={box}
          class="swx-plot"
          style={{ height: HEIGHT, minWidth: 2 * SIDE + END + NARROWEST * (names.length - 1) }}
        >
          {size.width > 0 && (
            <>
              <Canvas size={size} draw={ground(axes)} on={[axes, store.theme.value]} />
              <Canvas
                size={size}
                draw={picture({ axes, lines, record })}
                on={[axes, lines, record, store.theme.value]}
              />
              <Canvas size={size} draw={marks(axes)} on={[axes, store.theme.value]} />
              {axes.axes.map((axis, at) => (
                <AxisRange key={axis.name} axis={axis} x={x(at)} width={rail} store={store} />
              ))}
            </>
          )}
        </div>
      </div>
    </section>
  );
}
