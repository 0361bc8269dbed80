// The state of one zoomable drawing: its size, its view, what of it is worth drawing, and the gestures that move it.

import { batch, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { whole, type DagData } from './graph';
import {
  bound,
  centre,
  contains,
  fit,
  mapRoom,
  overlaps,
  reveal,
  visible,
  zoomAt,
  type Rect,
  type View
} from './viewport';

/** How much of a node is drawn: a bare block, its name in large letters, or name and shape. */
export type Detail = 'block' | 'name' | 'full';
export interface Drawn {
  readonly rect: Rect;
  readonly detail: Detail;
  readonly wanted: Detail;
}

/** Below these zooms a text of the node is a smudge. */
const NAME_FROM = 0.42;
const FULL_FROM = 0.8;
/** The first view never shrinks a graph below this zoom: a long graph starts readable, and `fit` shows it whole. */
const READABLE = 0.6;
const DRAG_FROM = 4;
/** Nodes that are drawn one by one at most; where there are more near the screen, all are blocks. */
const MOST = 300;

/** Where a graph begins; frames are the first in the list, wherever they stand. */
const top = (nodes: readonly Rect[]): Rect | undefined => nodes.reduce((a, b) => (b.y < a.y ? b : a), nodes[0]!);

export class DagView {
  readonly size: Signal<{ w: number; h: number }> = signal({ w: 0, h: 0 });
  readonly drawn: Signal<Drawn | null> = signal(null);
  readonly #current: Signal<View> = signal({ x: 0, y: 0, k: 1 });
  #graph: DagData | null = null;
  #started = false;
  readonly #stop: () => void;
  /** True from the moment a press became a drag until the click that ends it. */
  dragged = false;

  constructor() {
    this.#stop = effect(() => this.#updateDrawn());
  }

  get view(): ReadonlySignal<View> {
    return this.#current;
  }

  dispose(): void {
    this.#stop();
  }

  /**
   * Show another graph. When the graphs share nodes the view stays, with the node `held` where it was on the screen.
   */
  setGraph(graph: DagData, anchor: Rect | null, held: string): void {
    const before = this.#graph;
    if (before === graph) return;
    const was = new Map(before?.nodes.map(node => [node.id, node]));
    const shared = graph.nodes.filter(node => was.has(node.id));
    const now = shared.find(node => node.id === held) ?? shared[0];
    this.#graph = graph;
    batch(() => {
      if (!this.#started || !now) this.#start(anchor);
      else {
        const { k, x, y } = this.#current.peek();
        const old = was.get(now.id)!;
        this.#set({ k, x: x + (old.x - now.x) * k, y: y + (old.y - now.y) * k });
      }
    });
    this.#updateDrawn(true);
  }

  resize(w: number, h: number, anchor: Rect | null): void {
    const { w: oldW, h: oldH } = this.size.peek();
    if (w <= 0 || h <= 0 || (w === oldW && h === oldH)) return;
    batch(() => {
      this.size.value = { w, h };
      const view = this.#current.peek();
      if (!this.#started) this.#start(anchor);
      else if (this.#isWhole(view, oldW, oldH)) this.fit();
      else this.#set({ k: view.k, x: view.x + (w - oldW) / 2, y: view.y });
    });
  }

  /** Whether a view is that of the whole graph in a window of this size: such a view follows the window. */
  #isWhole({ k, x, y }: View, w: number, h: number): boolean {
    const whole = this.#graph && bound(fit(this.#graph, w, h), this.#graph, w, h);
    return !!whole && whole.k === k && whole.x === x && whole.y === y;
  }

  fit(): void {
    const { w, h } = this.size.peek();
    if (this.#graph && w > 0) this.#set(fit(this.#graph, w, h));
  }

  zoom(factor: number, px?: number, py?: number): void {
    const { w, h } = this.size.peek();
    this.#set(zoomAt(this.#current.peek(), px ?? w / 2, py ?? h / 2, factor));
  }

  /** Move by screen pixels; false when the drawing is already at that end. */
  pan(dx: number, dy: number): boolean {
    const view = this.#current.peek();
    this.#set({ k: view.k, x: view.x + dx, y: view.y + dy });
    const now = this.#current.peek();
    return Math.abs(now.x - view.x) > 0.5 || Math.abs(now.y - view.y) > 0.5;
  }

  reveal(box: Rect): void {
    const { w, h } = this.size.peek();
    if (w > 0) this.#set(reveal(this.#current.peek(), box, this.#room(w, h), h));
  }

  /** Bring a found node to the middle, at a zoom where it can be read. */
  jump(box: Rect): void {
    const { w, h } = this.size.peek();
    if (w > 0) this.#set(centre(box, Math.max(this.#current.peek().k, READABLE), this.#room(w, h), h));
  }

  centreOn(x: number, y: number): void {
    const { w, h } = this.size.peek();
    this.#set(centre({ x, y, w: 0, h: 0 }, this.#current.peek().k, w, h));
  }

  /** Wire wheel and drag to an element; returns the undoing. Wheel scrolls like a page, Ctrl or a pinch zooms. */
  attach(el: SVGSVGElement): () => void {
    const wheel = (event: WheelEvent): void => this.#onWheel(event, el);
    const down = (event: PointerEvent): void => this.#onPress(event, el);
    el.addEventListener('wheel', wheel, { passive: false });
    el.addEventListener('pointerdown', down);
    return () => {
      el.removeEventListener('wheel', wheel);
      el.removeEventListener('pointerdown', down);
    };
  }

  #onWheel(event: WheelEvent, el: Element): void {
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey) {
      const box = el.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * unit * 0.004), event.clientX - box.left, event.clientY - box.top);
      event.preventDefault();
      return;
    }
    const [dx, dy] = event.shiftKey ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
    if (this.pan(-dx * unit, -dy * unit)) event.preventDefault();
  }

  #onPress(start: PointerEvent, el: SVGSVGElement): void {
    if (start.button !== 0) return;
    let { clientX: x, clientY: y } = start;
    this.dragged = false;
    const move = (event: PointerEvent): void => {
      if (!this.dragged && Math.hypot(event.clientX - x, event.clientY - y) < DRAG_FROM) return;
      if (!this.dragged) el.setPointerCapture(start.pointerId);
      this.dragged = true;
      this.pan(event.clientX - x, event.clientY - y);
      ({ clientX: x, clientY: y } = event);
    };
    const end = (): void => {
      el.removeEventListener('pointermove', move);
      el.removeEventListener('pointerup', end);
      el.removeEventListener('pointercancel', end);
    };
    el.addEventListener('pointermove', move);
    el.addEventListener('pointerup', end);
    el.addEventListener('pointercancel', end);
  }

  #start(anchor: Rect | null): void {
    const { w, h } = this.size.peek();
    if (!this.#graph || w <= 0) return;
    this.#started = true;
    const all = fit(this.#graph, w, h);
    if (all.k >= READABLE) return this.#set(all);
    const first = anchor ?? top(this.#graph.nodes) ?? { x: 0, y: 0, w: 0, h: 0 };
    const room = this.#room(w, h);
    const k = Math.max(READABLE, Math.min(1, room / this.#graph.width));
    const narrow = this.#graph.width * k <= room; // what has room stands in the middle of it
    this.#set(centre(narrow ? { ...first, x: 0, w: this.#graph.width } : first, k, room, h));
  }

  /** What the small map leaves of the width: most of it, and all where the graph is whole. */
  #room(w: number, h: number): number {
    if (!this.#graph || this.#isWhole(this.#current.peek(), w, h)) return w;
    return w - mapRoom(this.#graph, w, h);
  }

  #set(view: View): void {
    const { w, h } = this.size.peek();
    this.#current.value = this.#graph ? bound(view, this.#graph, w, h) : view;
  }

  /** Draw again only when the screen leaves what is drawn: a pan within it moves one attribute. */
  #updateDrawn(always = false): void {
    const view = this.#current.value;
    const { w, h } = this.size.value;
    if (w <= 0) return;
    const before = this.drawn.peek();
    const wanted: Detail = view.k >= FULL_FROM ? 'full' : view.k >= NAME_FROM ? 'name' : 'block';
    const seen = visible(view, w, h);
    const same = before !== null && before.wanted === wanted && before.detail === wanted;
    if (!always && same && contains(before.rect, seen) && before.rect.w < 4 * seen.w) return;
    const wide = visible(view, w, h, 0.5);
    const rect = [wide, visible(view, w, h, 0.1)].find(one => wanted !== 'block' && this.#count(one) <= MOST);
    if (rect) this.drawn.value = { rect, detail: wanted, wanted };
    else if (always || before?.detail !== 'block') this.drawn.value = { rect: wide, detail: 'block', wanted };
  }

  #count(rect: Rect): number {
    return this.#graph?.nodes.filter(node => overlaps(whole(node), rect)).length ?? 0;
  }
}
