// How the values of a column are distributed: bars, or the share of records up to each value.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Switch } from '../widget/elements/switch';
import { count } from '../shared/format';
import { byKey, rangeOf, valueRange } from './axis';
import { Canvas, drag, Head, useSize, type Colours, type Draw } from './canvas';
import { ColumnSelect, LogCheck } from './choose';
import type { Bars, Histogram as Counts, Tick } from './protocol';
import { box, frameOf, grid, type Frame } from './scatter';
import type { View } from './view';

const HEIGHT = 250;

/** Bars of some bins each; the last bin, of rows without a value, is left out. */
function merged(counts: Uint32Array, by: number): number[] {
  const n = counts.length - 1;
  const found: number[] = [];
  for (let at = 0; at < n; at += by) {
    let sum = 0;
    for (let k = at; k < Math.min(n, at + by); k++) sum += counts[k]!;
    found.push(sum);
  }
  return found;
}

/** Whole numbers from 0 to the largest, a few of them. */
function steps(most: number): Tick[] {
  const raw = most / 4;
  const size = 10 ** Math.floor(Math.log10(Math.max(1, raw)));
  const step = [1, 2, 5, 10].find(k => k * size >= raw)! * size;
  const found: Tick[] = [];
  for (let at = 0; at <= most; at += Math.max(1, step)) found.push([at / (most || 1), count(at)]);
  return found;
}

function bars(context: CanvasRenderingContext2D, f: Frame, values: readonly number[], most: number): void {
  const wide = (f.x(1) - f.x(0)) / values.length;
  const gap = wide > 4 ? 1 : 0;
  values.forEach((value, i) => {
    if (!value) return;
    const top = Math.min(f.y(value / most), f.y(0) - 1);
    context.fillRect(f.x(i / values.length) + gap / 2, top, Math.max(1, wide - gap), f.y(0) - top);
  });
}

function shares(context: CanvasRenderingContext2D, f: Frame, counts: Uint32Array, colour: string): void {
  const n = counts.length - 1;
  let sum = 0;
  for (let k = 0; k < n; k++) sum += counts[k]!;
  if (!sum) return;
  context.strokeStyle = colour;
  context.lineWidth = 1.75;
  context.beginPath();
  context.moveTo(f.x(0), f.y(0));
  let below = 0;
  for (let k = 0; k < n; k++) {
    below += counts[k]!;
    context.lineTo(f.x((k + 1) / n), f.y(below / sum));
  }
  context.stroke();
}

const SHARES: readonly Tick[] = [0, 0.25, 0.5, 0.75, 1].map(at => [at, `${100 * at} %`]);

const picture =
  (s: Counts, now: Bars | null, curve: boolean): Draw =>
  (context, size, c: Colours) => {
    const f = frameOf(size);
    const all = merged(s.all, s.merge);
    const chosen = now?.chosen.length === s.all.length ? merged(now.chosen, s.merge) : [];
    const top = Math.max(1, ...all);
    const own = Math.max(0, ...chosen);
    const most = own > 0 && own * 40 < top ? own : top; // few of many would not be seen
    const x = { ticks: s.axis.ticks, title: s.axis.title };
    grid(context, size, f, x, { ticks: curve ? SHARES : steps(most), title: '' }, c);
    if (curve) {
      shares(context, f, s.all, c.rest);
      if (now) shares(context, f, now.chosen, c.accent);
      return;
    }
    context.save();
    context.beginPath();
    context.rect(f.x(0), f.y(1), f.x(1) - f.x(0), f.y(0) - f.y(1));
    context.clip();
    context.fillStyle = c.rest;
    context.globalAlpha = 0.6;
    bars(context, f, all, most);
    context.globalAlpha = 1;
    context.fillStyle = c.accent;
    bars(context, f, chosen, most);
    context.restore();
  };

/** What stands beside the name: how many records have no value here. */
function without(s: Counts, now: Bars | null): string {
  const all = s.all.at(-1) ?? 0;
  const here = now?.chosen.at(-1) ?? 0;
  return all ? `${count(here)} chosen without a value` : '';
}

export function Histogram({ view }: { view: View }) {
  const { store } = view;
  const s = store.see('histogram');
  const now = store.see('bars');
  const [curve, setCurve] = useState(false);
  const [place, size] = useSize<HTMLDivElement>();
  if (!s) return null;
  const { axis } = s;
  const f = frameOf(size);
  const down = (event: JSX.TargetedPointerEvent<HTMLDivElement>): void =>
    drag(
      event,
      (at, from) => {
        if (Math.abs(at.x - from.x) > 3) store.brush({ [axis.name]: rangeOf(axis, f.placeX(from.x), f.placeX(at.x)) });
      },
      (at, from) => {
        const old = store.brushes.peek()[axis.name];
        if (Math.abs(at.x - from.x) > 3) store.brush({ [axis.name]: rangeOf(axis, f.placeX(from.x), f.placeX(at.x)) });
        else store.brush({ [axis.name]: !old && axis.discrete ? valueRange(axis, f.placeX(at.x)) : null });
      }
    );
  const keys = (event: KeyboardEvent): void => {
    const next = byKey(axis, store.brushes.peek()[axis.name], event.key, event.shiftKey);
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    store.brush({ [axis.name]: next });
  };
  const range = box(f, axis, null, store.brushes.value);
  return (
    <section class="swx-chart" aria-label="Distribution">
      <Head title="Distribution">
        <span class="swb-faint swx-aside">{without(s, now)}</span>
        <ColumnSelect view={view} label="of" value={axis.name} onPick={histogram => store.set({ histogram })} />
        <LogCheck view={view} axis={axis} />
        <Switch
          label="How it is drawn"
          values={[
            [false, 'Bars'],
            [true, 'Shares', 'The share of records up to each value']
          ]}
          value={curve}
          onPick={setCurve}
        />
      </Head>
      <div
        ref={place}
        class="swx-plot"
        style={{ height: HEIGHT }}
        onPointerDown={down}
        onKeyDown={keys}
        tabIndex={0}
        role="img"
        aria-label={`Distribution of ${axis.title}; arrows choose a range`}
        data-swx="histogram"
      >
        <Canvas size={size} draw={picture(s, now, curve)} on={[s, now, curve, store.theme.value]} />
        {range && <i class="swx-box" style={range} />}
      </div>
    </section>
  );
}
