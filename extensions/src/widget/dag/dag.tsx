// A graph to look at and to walk through: zoom, pan, search, arrow keys along the edges. Coordinates come with the
// data.

import { useComputed, useSignal, type Signal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { blocksOf, Canvas, LinkedEdges, Minimap, More, type Blocks, type Fonts } from './canvas';
import { indexDag, isArrow, step, type DagData, type DagIndex, type DagNode } from './graph';
import { DagView } from './view';

interface DagProps {
  graph: DagData;
  title: string;
  label: string;
  legend?: ComponentChildren;
  /** What lies over the lower corner of the drawing. */
  corner?: ComponentChildren;
  /** Between the title and the drawing. */
  children?: ComponentChildren;
  /** Labels are names of the program. */
  mono?: boolean;
  /** Nodes outlined as the open ones. */
  current: ReadonlySet<string>;
  /** Step 0 to 6 of the colour scale for each node. */
  tones: ReadonlyMap<string, number>;
  /** The node in one sentence, for a screen reader. */
  words: (node: DagNode) => string;
  /** What the search looks into. */
  text: (node: DagNode) => string;
  readout: (node: DagNode) => ComponentChildren;
  openable: (node: DagNode) => boolean;
  /** Enter or a click; with Shift `deep`. */
  onOpen: (node: DagNode, deep: boolean) => void;
  /** What Enter in the search goes to. */
  onFind?: (node: DagNode) => void;
  /** Escape on a node: the frame to go to when it has been closed, "" where there is none. */
  onClose?: (node: DagNode) => string;
}

interface State {
  view: DagView;
  index: DagIndex;
  blocks: Blocks;
  /** What was found; null when nothing is looked for. */
  found: ReadonlySet<string> | null;
  /** What is found by now, drawn or not: Enter may come before the letters before it are drawn. */
  find: () => ReadonlySet<string> | null;
  tabStop: Signal<string>;
  hover: Signal<string>;
  focus: Signal<string>;
  query: Signal<string>;
  svg: RefObject<SVGSVGElement>;
  search: RefObject<HTMLInputElement>;
}

/** Pixels of the screen by which a pointer may miss a block. */
const SLACK = 2;

const nodeId = (event: Event): string =>
  (event.target as Element).closest('[data-node]')?.getAttribute('data-node') ?? '';

/** The node under the pointer, drawn by itself or not. */
function pointed({ view, index, svg }: State, event: MouseEvent): string {
  const id = nodeId(event);
  const box = svg.current?.getBoundingClientRect();
  if (!box || (id && view.drawn.peek()?.detail !== 'block'))
    return inTitle(id, index, view, event.clientY - (box?.top ?? 0));
  const { x, y, k } = view.view.peek();
  return index.at((event.clientX - box.left - x) / k, (event.clientY - box.top - y) / k, SLACK / k)?.id ?? '';
}

/** A frame is pointed at by its title only: what is below is the ground that its nodes stand on. */
function inTitle(id: string, index: DagIndex, view: DagView, top: number): string {
  const node = index.byId.get(id);
  const { y, k } = view.view.peek();
  return node?.body && (top - y) / k > node.y + node.h ? '' : id;
}

/** What stands for a node that is not in the graph: a kernel that became a frame, or the other way round. */
const heir = (id: string, index: DagIndex): string =>
  [id, id.replace(/^kernel:/, ''), `kernel:${id}`].find(one => index.byId.has(one)) ?? '';

/** The node that Tab leads to: the one before as long as it or its heir is there, else the open one, else the first. */
function useTabStop({ nodes }: DagData, index: DagIndex, open: string): Signal<string> {
  const stop = useSignal('');
  const held = stop.peek();
  if (!index.byId.has(held))
    stop.value = heir(held, index) || open || (nodes.find(node => node.kind !== 'frame')?.id ?? '');
  return stop;
}

/** The view follows the size of its place, and the gestures on it. */
function useSize(svg: RefObject<SVGSVGElement>, view: DagView, anchor: DagNode | null): void {
  const now = useRef(anchor);
  now.current = anchor;
  useEffect(() => {
    const el = svg.current;
    if (!el) return;
    const measure = (): void => view.resize(el.clientWidth, el.clientHeight, now.current);
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    measure();
    const detach = view.attach(el);
    return () => {
      observer.disconnect();
      detach();
      view.dispose();
    };
  }, []);
}

function useDag({ graph, current, tones, text }: DagProps): State {
  const svg = useRef<SVGSVGElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const view = useMemo(() => new DagView(), []);
  const index = useMemo(() => indexDag(graph), [graph]);
  const hover = useSignal('');
  const focus = useSignal('');
  const query = useSignal('');
  const wanted = query.value;
  const found = useMemo(() => matchesOf(graph, wanted, text), [graph, wanted, text]);
  const find = (): ReadonlySet<string> | null => matchesOf(graph, query.peek(), text);
  const blocks = useMemo(() => blocksOf(graph, { tones, matches: found }), [graph, tones, found]);
  const anchorId = [...current][0] ?? '';
  const anchor = index.byId.get(anchorId) ?? null;
  const tabStop = useTabStop(graph, index, anchorId);
  const state: State = { view, index, blocks, found, find, tabStop, hover, focus, query, svg, search };

  useEffect(() => {
    view.setGraph(graph, anchor, tabStop.peek());
    const node = index.byId.get(tabStop.peek());
    if (node && focus.peek()) focusNode(state, node);
  }, [graph]);
  useEffect(() => {
    if (!anchor || current.has(tabStop.peek())) return;
    tabStop.value = anchor.id;
    view.reveal(anchor);
  }, [anchorId]);
  useSize(svg, view, anchor);
  return state;
}

function focusNode({ tabStop, view, svg }: State, node: DagNode): void {
  tabStop.value = node.id;
  view.reveal(node);
  // The node may have to be drawn first; keys that come before that belong to it already.
  svg.current?.focus({ preventScroll: true });
  requestAnimationFrame(() => {
    if (tabStop.peek() !== node.id) return;
    svg.current?.querySelector<SVGGElement>(`[data-node="${CSS.escape(node.id)}"]`)?.focus({ preventScroll: true });
  });
}

/** What a key does inside the drawing; false for a key that is not ours. */
function onKey(event: KeyboardEvent, props: DagProps, state: State): boolean {
  const { view, index } = state;
  const node = index.byId.get(nodeId(event) || state.tabStop.peek());
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (isArrow(event.key)) {
    const next = step(props.graph, index, node?.id ?? '', event.key);
    if (next) focusNode(state, next);
  } else if (event.key === 'Enter') {
    if (node && props.openable(node)) props.onOpen(node, event.shiftKey);
  } else if (event.key === 'Escape') {
    const frame = node && index.byId.get(props.onClose?.(node) ?? '');
    if (!frame) return false;
    focusNode(state, frame);
  } else if ('0fF '.includes(event.key)) view.fit();
  else if (event.key === '+' || event.key === '=') view.zoom(1.25);
  else if (event.key === '-') view.zoom(0.8);
  else if (event.key === '/') state.search.current?.focus();
  else return false;
  return true;
}

const handled = (event: Event): void => {
  event.preventDefault();
  event.stopPropagation();
};

function matchesOf(graph: DagData, query: string, textOf: (node: DagNode) => string): ReadonlySet<string> | null {
  const parts = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (parts.length === 0) return null;
  const found = graph.nodes.filter(node => {
    const text = textOf(node).toLowerCase();
    return parts.every(part => text.includes(part));
  });
  return new Set(found.map(node => node.id));
}

function Search({ state, onFind }: { state: State } & Pick<DagProps, 'onFind'>) {
  const { found } = state;
  const at = useRef(-1);
  const jump = (by: number): void => {
    const found = state.find();
    if (!found?.size) return;
    at.current = (at.current + by + found.size) % found.size;
    const node = state.index.byId.get([...found][at.current]!);
    if (!node) return;
    state.tabStop.value = node.id;
    state.hover.value = node.id;
    state.view.jump(node);
    onFind?.(node);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') jump(event.shiftKey ? -1 : 1);
    else if (event.key === 'ArrowDown') {
      const node = state.index.byId.get(state.tabStop.peek());
      if (node) focusNode(state, node);
    } else if (event.key === 'Escape') {
      state.query.value = '';
      state.svg.current?.querySelector<SVGGElement>('[tabindex="0"]')?.focus({ preventScroll: true });
    } else {
      event.stopPropagation();
      return;
    }
    handled(event);
  };
  const input = (event: InputEvent): void => {
    at.current = -1;
    state.query.value = (event.currentTarget as HTMLInputElement).value;
  };
  return (
    <div class="swb-search">
      <input
        ref={state.search}
        type="search"
        placeholder="Find  /"
        aria-label="Find a node; Enter goes to the next one"
        title="Find a node ( / ); Enter: next, Shift+Enter: previous"
        value={state.query.value}
        onInput={input}
        onKeyDown={key}
      />
      <span class="swb-faint" role="status">
        {found && (found.size ? `${found.size} found` : 'none')}
      </span>
    </div>
  );
}

function Tools({ view }: { view: DagView }) {
  return (
    <div class="swb-dag-tools" role="group" aria-label="Zoom">
      <button title="Show the whole graph (F or 0)" onClick={() => view.fit()}>
        Fit
      </button>
      <button title="Zoom out (-)" aria-label="Zoom out" onClick={() => view.zoom(0.8)}>
        −
      </button>
      <button title="Zoom in (+). Ctrl+wheel zooms as well." aria-label="Zoom in" onClick={() => view.zoom(1.25)}>
        +
      </button>
    </div>
  );
}

function Readout({ props, state }: { props: DagProps; state: State }) {
  const id = state.hover.value || state.tabStop.value;
  const node = state.index.byId.get(id);
  return <div class="swb-readout">{node && props.readout(node)}</div>;
}

/** In which letters the texts are written, to know how wide they are. */
function fontsOf(svg: SVGSVGElement, mono: boolean | undefined): Fonts {
  const style = getComputedStyle(svg);
  const ui = style.fontFamily;
  return { ui, label: (mono && style.getPropertyValue('--swb-mono')) || ui };
}

function Drawing({ props, state }: { props: DagProps; state: State }) {
  const { view, index, found } = state;
  const transform = useComputed(() => {
    const { x, y, k } = view.view.value;
    return `translate(${x} ${y}) scale(${k})`;
  });
  const linked = useComputed(() => state.hover.value || state.focus.value);
  const look = useComputed(() => `swb-dag-svg${state.hover.value ? ' is-over' : ''}`);
  const click = (event: MouseEvent): void => {
    const node = index.byId.get(pointed(state, event));
    if (!node || view.dragged) return;
    state.tabStop.value = node.id;
    if (props.openable(node)) props.onOpen(node, event.shiftKey);
  };
  const focus = (event: FocusEvent): void => {
    const id = nodeId(event);
    if (!id) return;
    state.focus.value = id;
    state.tabStop.value = id;
  };
  const drawn = view.drawn.value;
  const fonts = useMemo(() => drawn && fontsOf(state.svg.current!, props.mono), [!drawn]);
  return (
    <svg
      ref={state.svg}
      class={look}
      role="group"
      aria-label={props.label}
      tabindex={-1}
      onClick={click}
      onKeyDown={event => onKey(event, props, state) && handled(event)}
      onFocusIn={focus}
      onFocusOut={() => {
        state.focus.value = '';
      }}
      onPointerMove={event => {
        state.hover.value = pointed(state, event);
      }}
      onPointerLeave={() => {
        state.hover.value = '';
      }}
    >
      <g transform={transform}>
        {drawn && fonts && (
          <Canvas
            graph={props.graph}
            drawn={drawn}
            fonts={fonts}
            blocks={state.blocks}
            tones={props.tones}
            current={props.current}
            matches={found}
            tabStop={state.tabStop.value}
            words={props.words}
            openable={props.openable}
          >
            <LinkedEdges index={index} id={linked} />
          </Canvas>
        )}
      </g>
    </svg>
  );
}

export function Dag(props: DagProps) {
  const state = useDag(props);
  return (
    <section class={`swb-dag${props.mono ? ' is-mono' : ''}`} aria-label={props.title}>
      <header class="swb-dag-head">
        <h3 class="swb-h3">{props.title}</h3>
        {props.legend}
      </header>
      <div class="swb-dag-bar">
        <Search state={state} onFind={props.onFind} />
        <Tools view={state.view} />
      </div>
      {props.children}
      <div class="swb-dag-stage">
        <Drawing props={props} state={state} />
        <Minimap graph={props.graph} blocks={state.blocks} view={state.view} />
        <More graph={props.graph} view={state.view} />
        <div class="swb-dag-corner">{props.corner}</div>
      </div>
      <Readout props={props} state={state} />
    </section>
  );
}
