// The drawn graph: one path for all edges, then the nodes near the screen, or all as a few paths. Events are the owner's.

import type { ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { boxPath, edgePath, whole, type DagData, type DagIndex, type DagNode } from './daggraph';
import { overlaps, type Rect } from './viewport';
import type { DagView, Detail, Drawn } from './dagview';

/** Size of a label at full detail, and when it alone is drawn; the average width of a character, over its size. */
const SIZE = 11;
const LARGE = 15;
const CHAR = 0.58;

/** Nodes of one look as one path: its classes, and what to draw. */
export type Blocks = readonly (readonly [look: string, path: string])[];

export interface CanvasProps {
  graph: DagData;
  drawn: Drawn;
  blocks: Blocks;
  tones: ReadonlyMap<string, number>;
  current: ReadonlySet<string>;
  matches: ReadonlySet<string> | null;
  tabStop: string;
  words: (node: DagNode) => string;
  openable: (node: DagNode) => boolean;
  /** Drawn over the edges and under the nodes. */
  children?: ComponentChildren;
}

type Looks = Pick<CanvasProps, 'tones' | 'matches'>;

function lookOf({ id, kind, mark }: DagNode, { tones, matches }: Looks): string {
  const dim = matches !== null && !matches.has(id) ? ' is-dim' : '';
  return `is-${kind} swb-tone${tones.get(id) ?? 0}${mark ? ` is-${mark}` : ''}${dim}`;
}

/** Lines across the boxes that nothing can be done about, so that it is not told by colour alone. */
function hatch({ x, y, w, h }: Rect): string {
  let d = '';
  for (let t = 10; t < w + h; t += 10) d += `M${x + Math.max(0, t - h)} ${y + Math.min(t, h)}L${x + Math.min(t, w)} ${y + Math.max(0, t - w)}`;
  return d;
}

/** The whole graph in a few paths. */
export function blocksOf(graph: DagData, looks: Looks): Blocks {
  const paths = new Map<string, string>();
  const add = (look: string, d: string): void => { paths.set(look, (paths.get(look) ?? '') + d); };
  for (const node of graph.nodes) {
    add(lookOf(node, looks), boxPath(whole(node)));
    if (node.kind === 'host') add('swb-hatch', hatch(node));
  }
  return [...paths];
}

function cut(text: string, room: number, size: number): string {
  const most = Math.max(2, Math.floor(room / (CHAR * size)));
  return text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;
}

function Words({ node, detail }: { node: DagNode; detail: Detail }) {
  if (detail === 'block') return null;
  const middle = node.w / 2;
  const room = node.w - 12;
  if (detail === 'name') {
    return <text class="swb-node-large" x={middle} y={node.h / 2 + 5.5}>{cut(node.label, room, LARGE)}</text>;
  }
  const two = node.sub !== '' && node.h >= 32;
  return (
    <>
      <text x={middle} y={two ? node.h / 2 - 3 : node.h / 2 + 4}>{cut(node.label, room, SIZE)}</text>
      {two && <text class="swb-node-sub" x={middle} y={node.h / 2 + 11}>{cut(node.sub, room, SIZE - 1)}</text>}
    </>
  );
}

/** What stands in the title of a frame: what is repeated, and how often. */
function Title({ node, detail }: { node: DagNode; detail: Detail }) {
  if (detail === 'block') return null;
  const size = detail === 'name' ? LARGE : SIZE;
  return (
    <>
      <text class={size === LARGE ? 'swb-node-large' : ''} x={10} y={17}>{cut(node.label, node.w - 50, size)}</text>
      <text class={`swb-times${size === LARGE ? ' swb-node-large' : ''}`} x={node.w - 10} y={17}>{node.sub || (node.open ? '−' : '')}</text>
    </>
  );
}

function Node({ node, props }: { node: DagNode; props: CanvasProps }) {
  const current = props.current.has(node.id);
  const stop = props.tabStop === node.id;
  const frame = node.kind === 'frame';
  const round = node.kind === 'input' || node.kind === 'output' ? node.h / 2 : frame ? 6 : 4;
  const tall = whole(node).h;
  const { detail } = props.drawn;
  return (
    <g
      class={`swb-node ${lookOf(node, props)}${props.openable(node) ? '' : ' is-fixed'}`} transform={`translate(${node.x} ${node.y})`}
      data-node={node.id} role="button" tabindex={stop ? 0 : -1} aria-label={props.words(node)}
      aria-expanded={frame ? (node.open ? 'true' : 'false') : undefined}
      aria-current={current ? 'true' : undefined} aria-disabled={props.openable(node) ? undefined : 'true'}
    >
      {frame && !node.open && <path class="swb-stack" d={`M6 -3H${node.w + 3}V${tall - 6}`} />}
      {(current || stop) && (
        <rect class={`swb-ring${current ? ' is-current' : ''}`} x={-3} y={-3} width={node.w + 6} height={tall + 6} rx={round + 3} />
      )}
      <rect class="swb-node-box" width={node.w} height={tall} rx={round} />
      {node.kind === 'host' && <path class="swb-hatch" d={hatch({ x: 0, y: 0, w: node.w, h: tall })} />}
      {frame ? <Title node={node} detail={detail} /> : <Words node={node} detail={detail} />}
    </g>
  );
}

/** All nodes as blocks; those that are open have a ring. */
function Small({ blocks, graph, current }: Pick<CanvasProps, 'blocks' | 'graph' | 'current'>) {
  const rings = useMemo(() => graph.nodes.filter(node => current.has(node.id)).map(node => boxPath(whole(node), 3)).join(''), [graph, current]);
  return (
    <>
      {blocks.map(([look, d]) => <path key={look} class={`swb-block ${look}`} d={d} />)}
      <path class="swb-ring is-current" d={rings} />
      {graph.nodes.map(node => node.times! > 1 && (
        <text key={node.id} class="swb-many" x={node.x + node.w + 12} y={node.y + node.body! / 2}>×{node.times}</text>
      ))}
    </>
  );
}

export function Canvas(props: CanvasProps) {
  const { graph, drawn, tabStop } = props;
  const edges = useMemo(() => graph.edges.map(edge => edgePath(edge.points)).join(''), [graph]);
  const small = drawn.detail === 'block';
  // The tab stop stays in the document even off screen: the keyboard must not fall out of the graph.
  const shown = graph.nodes.filter(node => node.id === tabStop || (!small && overlaps(whole(node), drawn.rect)));
  const elements = (frames: boolean): ComponentChildren =>
    shown.filter(node => (node.kind === 'frame') === frames).map(node => <Node key={node.id} node={node} props={props} />);
  return (
    <>
      {elements(true)}
      {small && <Small {...props} />}
      <path class="swb-edges" d={edges} />
      {props.children}
      {elements(false)}
    </>
  );
}

/** The edges of the node under the pointer or the focus, drawn once more in full colour. */
export function LinkedEdges({ index, id }: { index: DagIndex; id: ReadonlySignal<string> }) {
  const edges = index.of.get(id.value) ?? [];
  if (edges.length === 0) return null;
  return <path class="swb-edges is-linked" d={edges.map(edge => edgePath(edge.points)).join('')} />;
}

const MAP_W = 64;
const MAP_H = 112;

/** The whole graph in small with a frame around what is on the screen. For the pointer; the keyboard has the arrows. */
export function Minimap({ graph, blocks, view }: { graph: DagData; blocks: Blocks; view: DagView }) {
  const k = Math.min(MAP_W / graph.width, MAP_H / graph.height);
  const size = view.size.value;
  const at = view.view.value;
  const left = Math.max(0, -at.x / at.k);
  const top = Math.max(0, -at.y / at.k);
  const right = Math.min(graph.width, (size.w - at.x) / at.k);
  const bottom = Math.min(graph.height, (size.h - at.y) / at.k);
  if (right - left >= graph.width - 1 && bottom - top >= graph.height - 1) return null;
  const go = (event: PointerEvent): void => {
    if (event.type === 'pointermove' && event.buttons !== 1) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    view.centreOn((event.clientX - box.left) / k, (event.clientY - box.top) / k);
  };
  return (
    <svg class="swb-minimap" width={graph.width * k} height={graph.height * k} viewBox={`0 0 ${graph.width} ${graph.height}`}
      aria-hidden="true" onPointerDown={go} onPointerMove={go}>
      {blocks.map(([look, d]) => <path key={look} class={`swb-block ${look}`} d={d} />)}
      <rect class="swb-minimap-frame" x={left} y={top} width={Math.max(0, right - left)} height={Math.max(0, bottom - top)} />
    </svg>
  );
}
