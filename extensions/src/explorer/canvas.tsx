// A canvas that fills its place and is drawn again when its size, the theme or what it shows changes.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ComponentChildren, JSX } from 'preact';

export interface Colours {
  readonly ink: string;
  readonly faint: string;
  readonly line: string;
  readonly under: string;
  readonly accent: string;
  readonly rest: string;
  readonly best: string;
  readonly bad: string;
  readonly hues: readonly string[];
}
const NAMES = {
  ink: '--swb-tx',
  faint: '--swb-tx3',
  line: '--swb-line',
  under: '--swb-bg',
  accent: '--swb-ac',
  rest: '--swb-bar',
  best: '--swb-s4',
  bad: '--swb-dng'
} as const;
/** Colours of several curves; they can be told apart on light and on dark pages, as those of the figures are. */
const HUES = ['#3f7fe8', '#d0453a', '#2e9e5b', '#b8860b', '#8e5bd0', '#0fa3b1', '#d0629a', '#7a828e'];

const kept = new WeakMap<Element, Map<string, Colours>>();

/** The colours of the theme, as a canvas takes them. */
export function coloursOf(element: Element): Colours {
  const root = element.closest('.swb') ?? element;
  const themes = kept.get(root) ?? new Map<string, Colours>();
  kept.set(root, themes);
  const key = `${root.getAttribute('data-swb-theme')}${getComputedStyle(root).backgroundColor}`;
  const known = themes.get(key);
  if (known) return known;
  const probe = document.createElement('i');
  root.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const entries = Object.entries(NAMES).map(([part, name]) => [part, read(name)]);
  probe.remove();
  const made = { ...Object.fromEntries(entries), hues: HUES } as unknown as Colours;
  themes.set(key, made);
  return made;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size of an element, as it is laid out. */
export function useSize<E extends HTMLElement>(): [{ current: E | null }, Size] {
  const box = useRef<E>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
    const element = box.current!;
    const look = (): void => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize(old => (old.width === width && old.height === height ? old : { width, height }));
    };
    const seen = new ResizeObserver(look);
    seen.observe(element);
    look();
    return () => seen.disconnect();
  }, []);
  return [box, size];
}

export type Draw = (context: CanvasRenderingContext2D, size: Size, colours: Colours) => void;

/** A canvas of this size; `draw` is called whenever one of `on` is another. */
export function Canvas({ size, draw, on }: { size: Size; draw: Draw; on: readonly unknown[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  // With the page, not after it: the numbers beside it and the drawing come in one frame.
  useLayoutEffect(() => paint(canvas.current!, size, draw), [size.width, size.height, ...on]);
  return <canvas ref={canvas} class="swx-canvas" aria-hidden />;
}

function paint(element: HTMLCanvasElement, size: Size, draw: Draw): void {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(size.width * scale), Math.round(size.height * scale)];
  if (element.width !== width || element.height !== height) {
    element.width = width;
    element.height = height;
  }
  const context = element.getContext('2d');
  if (!context || !width || !height) return;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  draw(context, size, coloursOf(element));
}

/** A head of a view: its name, what it is drawn with, what it says. */
export const Head = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="swx-head">
    <h3 class="swb-h3">{title}</h3>
    {children}
  </div>
);

export interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * Follow a pointer from where it is pressed: `move` gets each place and the first one, relative to the element, `end`
 * the last. At most one `move` in a frame.
 */
export function drag(
  event: JSX.TargetedPointerEvent<Element>,
  move: (at: Point, from: Point) => void,
  end: (at: Point, from: Point) => void
): void {
  if (event.button !== 0) return;
  const element = event.currentTarget;
  const box = element.getBoundingClientRect();
  const place = (e: PointerEvent): Point => ({ x: e.clientX - box.left, y: e.clientY - box.top });
  const from = place(event);
  let last = from;
  let frame = 0;
  element.setPointerCapture(event.pointerId);
  const follow = (e: PointerEvent): void => {
    last = place(e);
    if (frame) return;
    const now = last;
    move(now, from);
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (last !== now) move(last, from);
    });
  };
  const stop = (e: PointerEvent): void => {
    cancelAnimationFrame(frame);
    element.removeEventListener('pointermove', follow as EventListener);
    element.removeEventListener('pointerup', stop as EventListener);
    element.removeEventListener('pointercancel', stop as EventListener);
    end(e.type === 'pointerup' ? place(e) : last, from);
  };
  element.addEventListener('pointermove', follow as EventListener);
  element.addEventListener('pointerup', stop as EventListener);
  element.addEventListener('pointercancel', stop as EventListener);
}

export const font = '11px Inter, "Segoe UI", "Helvetica Neue", "Liberation Sans", Arial, sans-serif';
