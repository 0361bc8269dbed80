// How a run and its memory are drawn: tracks over one axis of time.

import { font, type Colours, type Draw } from '../../explorer/canvas';
import type { TimelineAnswer } from '../../shared/types';
import { bytes, micro, milliseconds } from '../../shared/format';

export interface Range {
  readonly from: number;
  readonly to: number;
}
export const LEFT = 74;
const ROW = 20;
const AXIS = 18;
const MAP = 150;

export const heightOf = (run: TimelineAnswer): number => AXIS + ROW * (1 + run.threads) + 4;
export const MAP_HEIGHT = MAP + 6;

/** A colour for each task: neighbours in the list are far apart on the circle. */
export const colourOf = (task: number): string =>
  task < 0 ? 'hsl(0 0% 62%)' : `hsl(${(211 + task * 137.5) % 360} 58% ${task % 2 ? 72 : 64}%)`;

const scale = (range: Range, width: number) => {
  const k = (width - LEFT) / Math.max(1, range.to - range.from);
  return (ns: number): number => LEFT + (ns - range.from) * k;
};

export const timeAt = (x: number, range: Range, width: number): number =>
  range.from + ((x - LEFT) / Math.max(1, width - LEFT)) * (range.to - range.from);

/** The call at a time; -1 outside of the run. */
export function callAt(stamps: readonly number[], ns: number): number {
  let [low, high] = [0, stamps.length - 1];
  if (ns < stamps[0]! || ns >= stamps[high]!) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (stamps[middle]! <= ns) low = middle;
    else high = middle;
  }
  return low;
}

function ticks(context: CanvasRenderingContext2D, range: Range, width: number, height: number, colours: Colours): void {
  const x = scale(range, width);
  const rough = ((range.to - range.from) * 90) / Math.max(1, width - LEFT);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find(n => n * power >= rough) ?? 10);
  context.textAlign = 'left';
  for (let at = Math.ceil(range.from / step) * step; at <= range.to; at += step) {
    context.fillStyle = colours.line;
    context.fillRect(Math.round(x(at)), AXIS - 4, 1, height);
    context.fillStyle = colours.faint;
    const text = step >= 1e5 ? `${milliseconds(at / 1e6)} ms` : `${micro(at / 1e6)} µs`;
    if (x(at) + 40 < width) context.fillText(at === 0 ? '0' : text, x(at) + 3, 11);
  }
}

/** Rectangles that are narrower than a pixel are drawn a pixel wide, and those on one pixel once. */
function boxes(width: number, range: Range, draw: (i: number, x: number, w: number) => void) {
  const x = scale(range, width);
  let last = -1;
  return (i: number, from: number, to: number): void => {
    if (to < range.from || from > range.to) return;
    const [a, b] = [Math.max(LEFT, x(from)), Math.min(width, x(to))];
    if (b - a < 1 && Math.floor(b) === last) return;
    last = Math.floor(b);
    draw(i, a, Math.max(1, b - a - (b - a > 3 ? 0.5 : 0)));
  };
}

/** Calls above, then a track for each thread; where a track is empty, the thread waits. Of a task that is lit, the
 * calls stand out.
 */
export function tracks(run: TimelineAnswer, range: Range, picked: number, lit: number | null): Draw {
  return (context, { width, height }, colours) => {
    context.font = font;
    ticks(context, range, width, height, colours);
    const rows = ['calls', ...Array.from({ length: run.threads }, (_, t) => `thread ${t}`)];
    const top = (row: number): number => AXIS + row * ROW;
    const box = (row: number, call: number, x: number, w: number): void => {
      const plain = picked < 0 || picked === call ? 1 : 0.55;
      context.globalAlpha = lit === null ? plain : run.task[call] === lit ? 1 : 0.2;
      context.fillStyle = colourOf(run.task[call]!);
      context.fillRect(x, top(row) + 2, w, ROW - 4);
      context.globalAlpha = 1;
    };
    const calls = boxes(width, range, (i, x, w) => {
      box(0, i, x, w);
      const text = run.names[i]!.slice(run.names[i]!.indexOf(': ') + 1).trim();
      if (w > 40) {
        context.save();
        context.beginPath();
        context.rect(x, top(0), w - 3, ROW);
        context.clip();
        context.fillStyle = '#000';
        context.fillText(text, x + 4, top(0) + 14);
        context.restore();
      }
    });
    run.names.forEach((_, i) => calls(i, run.stamps[i]!, run.stamps[i + 1]!));
    for (let t = 0; t < run.threads; t++) {
      const parts = boxes(width, range, (i, x, w) => box(1 + t, run.work.call[i]!, x, w));
      run.work.thread.forEach((thread, i) => thread === t && parts(i, run.work.begin[i]!, run.work.end[i]!));
    }
    context.fillStyle = colours.under;
    context.fillRect(0, 0, LEFT, height);
    context.fillStyle = colours.ink;
    rows.forEach((name, row) => context.fillText(name, 6, top(row) + 14));
    if (picked >= 0) frame(context, run, range, picked, width, height, colours);
  };
}

function frame(
  context: CanvasRenderingContext2D,
  run: TimelineAnswer,
  range: Range,
  call: number,
  width: number,
  height: number,
  colours: Colours
): void {
  const x = scale(range, width);
  const [a, b] = [Math.max(LEFT, x(run.stamps[call]!)), Math.min(width, x(run.stamps[call + 1]!))];
  if (b < LEFT || a > width) return;
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.5;
  context.strokeRect(a, AXIS, Math.max(2, b - a), height - AXIS - 2);
}

/** The arena over time: each tensor from the beginning of its first call to the end of its last one, where it lies. */
export function arena(run: TimelineAnswer, range: Range, picked: number): Draw {
  const { memory: m, stamps } = run;
  return (context, { width }, colours) => {
    const x = scale(range, width);
    const y = (at: number): number => 2 + MAP * (1 - at / Math.max(1, m.arena));
    context.font = font;
    m.names.forEach((_, i) => {
      const [a, b] = [Math.max(LEFT, x(stamps[m.first[i]!]!)), Math.min(width, x(stamps[m.last[i]! + 1]!))];
      if (b < LEFT || a > width) return;
      const [upper, lower] = [y(m.start[i]! + m.bytes[i]!), y(m.start[i]!)];
      const used = picked >= 0 && m.first[i]! <= picked && picked <= m.last[i]!;
      context.fillStyle = colourOf(run.task[m.first[i]!]!);
      context.globalAlpha = picked < 0 ? 0.75 : used ? 1 : 0.3;
      context.fillRect(a, upper, Math.max(1, b - a - 0.5), Math.max(1, lower - upper - 0.5));
      context.globalAlpha = 1;
    });
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.2;
    context.beginPath();
    m.live.forEach((live, k) => {
      context.lineTo(Math.max(LEFT, x(stamps[k]!)), y(live));
      context.lineTo(Math.min(width, Math.max(LEFT, x(stamps[k + 1]!))), y(live));
    });
    context.stroke();
    context.fillStyle = colours.under;
    context.fillRect(0, 0, LEFT, MAP + 6);
    context.fillStyle = colours.ink;
    context.fillText('arena', 6, 14);
    context.fillStyle = colours.faint;
    context.fillText(bytes(m.arena), 6, 30);
    context.fillText('0', 6, MAP);
  };
}
