// The arithmetic of zoom and pan, apart from any drawing: a view maps graph coordinates to the screen by k·p + (x, y).

export interface View {
  readonly x: number;
  readonly y: number;
  readonly k: number;
}
export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const MIN_ZOOM = 0.004;
const MAX_ZOOM = 3;
const PAD = 8;
/** Most that the small map takes of the width, in pixels and as a share; least it is wide; its margin. */
const MAP = { most: 64, share: 0.16, least: 14, margin: 4 };

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/** The whole drawing, centred, never larger than life. */
export function fit(graph: { width: number; height: number }, w: number, h: number): View {
  const k = clamp(Math.min((w - 2 * PAD) / graph.width, (h - 2 * PAD) / graph.height, 1), MIN_ZOOM, MAX_ZOOM);
  return { k, x: (w - k * graph.width) / 2, y: (h - k * graph.height) / 2 };
}

/** The small map: as high as its place where the graph is tall; where it would be a thread, its width is drawn out. */
export function mapSize(graph: { width: number; height: number }, w: number, h: number): { w: number; h: number } {
  const k = Math.min(Math.min(MAP.most, MAP.share * w) / graph.width, Math.max(0, h - 2 * MAP.margin) / graph.height);
  return { w: Math.max(MAP.least, graph.width * k), h: Math.max(MAP.least, graph.height * k) };
}

/** Room at the right that the small map covers: the drawing can be moved out from under it. */
export const mapRoom = (graph: { width: number; height: number }, w: number, h: number): number =>
  mapSize(graph, w, h).w + 2 * MAP.margin;

/** Zoom by `factor` so that the point (px, py) of the screen stays where it is. */
export function zoomAt(view: View, px: number, py: number, factor: number): View {
  const k = clamp(view.k * factor, MIN_ZOOM, MAX_ZOOM);
  const f = k / view.k;
  return { k, x: px - (px - view.x) * f, y: py - (py - view.y) * f };
}

/** Move no more than needed to bring `box` on the screen; a box larger than the screen is centred. */
export function reveal(view: View, box: Rect, w: number, h: number): View {
  const shift = (offset: number, start: number, size: number, room: number): number => {
    const low = start * view.k + offset;
    const high = low + size * view.k;
    if (high - low > room - 2 * PAD) return room / 2 - (start + size / 2) * view.k;
    if (low < PAD) return offset + PAD - low;
    return high > room - PAD ? offset + room - PAD - high : offset;
  };
  return { k: view.k, x: shift(view.x, box.x, box.w, w), y: shift(view.y, box.y, box.h, h) };
}

/** The view at zoom `k` with the middle of `box` in the middle of the screen. */
export function centre(box: Rect, k: number, w: number, h: number): View {
  return { k, x: w / 2 - (box.x + box.w / 2) * k, y: h / 2 - (box.y + box.h / 2) * k };
}

/** Keep some of the drawing on the screen, and keep a drawing that has room centred along that direction. */
export function bound(view: View, graph: { width: number; height: number }, w: number, h: number): View {
  const axis = (offset: number, size: number, room: number, covered: number): number => {
    const length = size * view.k;
    if (length <= room) return clamp(offset, Math.min(0, PAD), Math.max(room - length, 0));
    return clamp(offset, room - length - PAD - covered, PAD);
  };
  return { k: view.k, x: axis(view.x, graph.width, w, mapRoom(graph, w, h)), y: axis(view.y, graph.height, h, 0) };
}

/** The part of the drawing on the screen, in graph coordinates, with a margin of `extra` screens on every side. */
export function visible(view: View, w: number, h: number, extra = 0): Rect {
  return {
    x: (-view.x - extra * w) / view.k,
    y: (-view.y - extra * h) / view.k,
    w: (w * (1 + 2 * extra)) / view.k,
    h: (h * (1 + 2 * extra)) / view.k
  };
}

export const overlaps = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

export const contains = (a: Rect, b: Rect): boolean =>
  a.x <= b.x && a.y <= b.y && a.x + a.w >= b.x + b.w && a.y + a.h >= b.y + b.h;
