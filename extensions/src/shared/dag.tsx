// A graph to look at and to walk through: zoom, pan, search, arrow keys along the edges. Coordinates come with the data.

import { useComputed, useSignal, type Signal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Canvas, LinkedEdges, Minimap } from './dagcanvas';
import { indexDag, isArrow, step, type DagData, type DagIndex, type DagNode } from './daggraph';
import { DagView } from './dagview';

export interface DagProps {
  graph: DagData;
  title: string;
  label: string;
  legend?: ComponentChildren;
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
  onOpen: (node: DagNode) => void;
}

interface State {
  view: DagView;
  index: DagIndex;
  tabStop: Signal<string>;
  hover: Signal<string>;
  focus: Signal<string>;
  query: Signal<string>;
  svg: RefObject<SVGSVGElement>;
  search: RefObject<HTMLInputElement>;
}

const nodeId = (event: Event): string =>
  (event.target as Element).closest('[data-node]')?.getAttribute('data-node') ?? '';

function useDag(props: DagProps): State {
  const { graph, current } = props;
  const svg = useRef<SVGSVGElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const view = useMemo(() => new DagView(), []);
  const index = useMemo(() => indexDag(graph), [graph]);
  const tabStop = useSignal('');
  const hover = useSignal('');
  const focus = useSignal('');
  const query = useSignal('');
  const anchorId = [...current][0] ?? '';
  const anchor = index.byId.get(anchorId) ?? null;
  if (!index.byId.has(tabStop.peek())) tabStop.value = anchorId || (graph.nodes[0]?.id ?? '');

  useEffect(() => view.setGraph(graph, anchor), [graph]);
  useEffect(() => {
    if (!anchor || current.has(tabStop.peek())) return;
    tabStop.value = anchor.id;
    view.reveal(anchor);
  }, [anchorId]);
  useEffect(() => {
    const el = svg.current;
    if (!el) return;
    const measure = (): void => view.resize(el.clientWidth, el.clientHeight, anchor);
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
  return { view, index, tabStop, hover, focus, query, svg, search };
}

function focusNode(state: State, node: DagNode): void {
  state.tabStop.value = node.id;
  state.view.reveal(node);
  // The node may have to be drawn first.
  requestAnimationFrame(() => {
    state.svg.current?.querySelector<SVGGElement>(`[data-node="${CSS.escape(node.id)}"]`)?.focus({ preventScroll: true });
  });
}

/** What a key does inside the drawing; false for a key that is not ours. */
function onKey(event: KeyboardEvent, props: DagProps, state: State): boolean {
  const { view } = state;
  const id = nodeId(event) || state.tabStop.peek();
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (isArrow(event.key)) {
    const next = step(props.graph, state.index, id, event.key);
    if (next) focusNode(state, next);
  } else if (event.key === 'Enter') {
    const node = state.index.byId.get(id);
    if (node && props.openable(node)) props.onOpen(node);
  } else if (event.key === '0' || event.key === ' ') view.fit();
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

function matchesOf(graph: DagData, query: string, textOf: (node: DagNode) => string): DagNode[] | null {
  const parts = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (parts.length === 0) return null;
  return graph.nodes.filter(node => {
    const text = textOf(node).toLowerCase();
    return parts.every(part => text.includes(part));
  });
}

function Search({ state, found }: { state: State; found: DagNode[] | null }) {
  const at = useRef(-1);
  const jump = (by: number): void => {
    if (!found?.length) return;
    at.current = (at.current + by + found.length) % found.length;
    const node = found[at.current];
    if (!node) return;
    state.tabStop.value = node.id;
    state.hover.value = node.id;
    state.view.jump(node);
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
      <input ref={state.search} type="search" placeholder="Find  /" aria-label="Find a node; Enter goes to the next one"
        title="Find a node ( / ). Enter goes to the next one, Shift+Enter to the one before." value={state.query.value}
        onInput={input} onKeyDown={key} />
      <span class="swb-faint" role="status">{found && (found.length ? `${found.length} found` : 'none')}</span>
    </div>
  );
}

function Tools({ view }: { view: DagView }) {
  return (
    <div class="swb-dag-tools" role="group" aria-label="Zoom">
      <button type="button" title="Show the whole graph (0 or Space)" onClick={() => view.fit()}>Fit</button>
      <button type="button" title="Zoom out (-)" aria-label="Zoom out" onClick={() => view.zoom(0.8)}>−</button>
      <button type="button" title="Zoom in (+). Ctrl+wheel zooms as well." aria-label="Zoom in" onClick={() => view.zoom(1.25)}>+</button>
    </div>
  );
}

function Readout({ props, state }: { props: DagProps; state: State }) {
  const id = state.hover.value || state.tabStop.value;
  const node = state.index.byId.get(id);
  return <div class="swb-readout">{node && props.readout(node)}</div>;
}

function Drawing({ props, state, found }: { props: DagProps; state: State; found: DagNode[] | null }) {
  const { view, index } = state;
  const transform = useComputed(() => {
    const { x, y, k } = view.view.value;
    return `translate(${x} ${y}) scale(${k})`;
  });
  const linked = useComputed(() => state.hover.value || state.focus.value);
  const matches = useMemo(() => found && new Set(found.map(node => node.id)), [found]);
  const click = (event: MouseEvent): void => {
    const node = index.byId.get(nodeId(event));
    if (!node || view.dragged) return;
    state.tabStop.value = node.id;
    if (props.openable(node)) props.onOpen(node);
  };
  const focus = (event: FocusEvent): void => {
    const id = nodeId(event);
    if (!id) return;
    state.focus.value = id;
    state.tabStop.value = id;
  };
  const drawn = view.drawn.value;
  return (
    <svg ref={state.svg} class="swb-dag-svg" role="group" aria-label={props.label} onClick={click}
      onKeyDown={event => onKey(event, props, state) && handled(event)} onFocusIn={focus} onFocusOut={() => { state.focus.value = ''; }}
      onPointerOver={event => { state.hover.value = nodeId(event); }} onPointerLeave={() => { state.hover.value = ''; }}>
      <g transform={transform}>
        {drawn && (
          <Canvas graph={props.graph} drawn={drawn} tones={props.tones} current={props.current} matches={matches}
            tabStop={state.tabStop.value} words={props.words} openable={props.openable}>
            <LinkedEdges index={index} id={linked} />
          </Canvas>
        )}
      </g>
    </svg>
  );
}

export function Dag(props: DagProps) {
  const state = useDag(props);
  const { graph, text } = props;
  const query = state.query.value;
  const found = useMemo(() => matchesOf(graph, query, text), [graph, query, text]);
  return (
    <section class={`swb-dag${props.mono ? ' is-mono' : ''}`} aria-label={props.title}>
      <header class="swb-dag-head">
        <h3 class="swb-h3">{props.title}</h3>
        {props.legend}
      </header>
      <div class="swb-dag-bar">
        <Search state={state} found={found} />
        <Tools view={state.view} />
      </div>
      <div class="swb-dag-stage">
        <Drawing props={props} state={state} found={found} />
        <Minimap graph={graph} tones={props.tones} view={state.view} />
      </div>
      <Readout props={props} state={state} />
    </section>
  );
}
