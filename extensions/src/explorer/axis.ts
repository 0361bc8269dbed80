// Places on an axis, and ranges that a pointer or a key chooses on it.

import type { Axis, Brush, Ends } from './protocol';

/** The value at a place from 0 to 1. */
export function valueAt(axis: Ends, place: number): number {
  const { low, high, log } = axis;
  return log ? low * (high / low) ** place : low + (high - low) * place;
}

/** The place of a value; outside of the axis below 0 or above 1. */
export function placeOf(axis: Ends, value: number): number {
  const { low, high, log } = axis;
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low || 1);
}

/** The range between two places; a place at an end of the axis leaves it open. */
export function rangeOf(axis: Ends, a: number, b: number): Brush {
  const [low, high] = a < b ? [a, b] : [b, a];
  return { low: low <= 0 ? null : valueAt(axis, low), high: high >= 1 ? null : valueAt(axis, high) };
}

/** The places of a range's ends; null for one of rows without a value. */
export function endsOf(axis: Ends, brush: Brush | undefined): [number, number] | null {
  if (!brush || brush.missing) return null;
  const low = brush.low === null ? 0 : placeOf(axis, brush.low);
  const high = brush.high === null ? 1 : placeOf(axis, brush.high);
  return [Math.max(0, Math.min(1, low)), Math.max(0, Math.min(1, high))];
}

/** The range of the one value at a place, on an axis of words or of few numbers. */
export function valueRange(axis: Axis, place: number): Brush {
  const at = Math.round(valueAt(axis, place));
  return { low: at - 0.5, high: at + 0.5 };
}

/**
 * The range after a key: arrows move it by one bin, with Shift they move its upper end, Delete clears it. Undefined for
 * other keys.
 */
export function byKey(axis: Axis, brush: Brush | undefined, key: string, shift: boolean): Brush | null | undefined {
  if (key === 'Delete' || key === 'Backspace') return null;
  const step = key === 'ArrowUp' || key === 'ArrowRight' ? 1 : key === 'ArrowDown' || key === 'ArrowLeft' ? -1 : 0;
  if (!step) return undefined;
  const n = axis.bins;
  const ends = endsOf(axis, brush);
  let [from, to] = ends ? [Math.round(ends[0] * n), Math.round(ends[1] * n)] : step > 0 ? [-1, 0] : [n, n + 1];
  if (!ends && shift) [from, to] = step > 0 ? [0, 0] : [0, n];
  if (!shift) {
    const by = Math.max(-from, Math.min(n - to, step));
    from += by;
    to += by;
  } else to = Math.max(from + 1, Math.min(n, to + step));
  const low = valueAt(axis, from / n);
  const high = valueAt(axis, to / n);
  return { low: from <= 0 ? null : low, high: to >= n ? null : high };
}
