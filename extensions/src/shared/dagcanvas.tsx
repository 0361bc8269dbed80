// The drawn graph: one path for all edges, then the nodes near the screen. Events are handled by the owner.

import type { ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { edgePath, type DagData, type DagIndex, type DagNode } from './daggraph';
import { overlaps } from './viewport';
import type { DagView, Detail, Drawn } from './dagview';

/** Size of a label at full detail, and when it alone is drawn; the average width of a character, over its size. */
const SIZE = 11;
const LARGE = 15;
const CHAR = 0.58;

export interface CanvasProps {
  graph: DagData;
  drawn: Drawn;
  tones: ReadonlyMap<string, number>;
  current: ReadonlySet<string>;
  matches: ReadonlySet<string> | null;
  tabStop: string;
  words: (node: DagNode) => string;
  openable: (node: DagNode) => boolean;
  /** Drawn over the edges and under the nodes. */
  children?: ComponentChildren;
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

function classOf(node: DagNode, props: CanvasProps): string {
  const tone = props.tones.get(node.id) ?? 0;
  const dim = props.matches !== null && !props.matches.has(node.id);
  return `swb-node is-${node.kind} swb-tone${tone}${dim ? ' is-dim' : ''}${props.openable(node) ? '' : ' is-fixed'}`;
}

function Node({ node, props }: { node: DagNode; props: CanvasProps }) {
  const current = props.current.has(node.id);
  const stop = props.tabStop === node.id;
  const round = node.kind === 'input' || node.kind === 'output' ? node.h / 2 : 4;
  return (
    <g
      class={classOf(node, props)} transform={`translate(${node.x} ${node.y})`} data-node={node.id}
      role="button" tabindex={stop ? 0 : -1} aria-label={props.words(node)}
      aria-current={current ? 'true' : undefined} aria-disabled={props.openable(node) ? undefined : 'true'}
    >
      {(current || stop) && (
        <rect class={`swb-ring${current ? ' is-current' : ''}`} x={-3} y={-3} width={node.w + 6} height={node.h + 6} rx={round + 3} />
      )}
      <rect class="swb-node-box" width={node.w} height={node.h} rx={round} />
      <Words node={node} detail={props.drawn.detail} />
    </g>
  );
}

export function Canvas(props: CanvasProps) {
  const { graph, drawn, current, tabStop } = props;
  const edges = useMemo(() => graph.edges.map(edge => edgePath(edge.points)).join(''), [graph]);
  // The tab stop and the open task stay in the document even off screen: the keyboard must not fall out of the graph.
  const nodes = graph.nodes.filter(
    node => overlaps(node, drawn.rect) || node.id === tabStop || current.has(node.id)
  );
  return (
    <>
      <path class="swb-edges" d={edges} />
      {props.children}
      {nodes.map(node => <Node key={node.id} node={node} props={props} />)}
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
export function Minimap({ graph, tones, view }: { graph: DagData; tones: ReadonlyMap<string, number>; view: DagView }) {
  const k = Math.min(MAP_W / graph.width, MAP_H / graph.height);
  const blocks = useMemo(() => {
    const paths = new Map<number, string>();
    for (const { id, x, y, w, h } of graph.nodes) {
      const tone = tones.get(id) ?? 0;
      paths.set(tone, `${paths.get(tone) ?? ''}M${x} ${y}h${w}v${h}h${-w}z`);
    }
    return [...paths];
  }, [graph, tones]);
  const { w, h } = view.size.value;
  const at = view.view.value;
  const left = Math.max(0, -at.x / at.k);
  const top = Math.max(0, -at.y / at.k);
  const right = Math.min(graph.width, (w - at.x) / at.k);
  const bottom = Math.min(graph.height, (h - at.y) / at.k);
  if (right - left >= graph.width - 1 && bottom - top >= graph.height - 1) return null;
  const go = (event: PointerEvent): void => {
    if (event.type === 'pointermove' && event.buttons !== 1) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    view.centreOn((event.clientX - box.left) / k, (event.clientY - box.top) / k);
  };
  return (
    <svg class="swb-minimap" width={graph.width * k} height={graph.height * k} viewBox={`0 0 ${graph.width} ${graph.height}`}
      aria-hidden="true" onPointerDown={go} onPointerMove={go}>
      {blocks.map(([tone, d]) => <path key={tone} class={`swb-block swb-tone${tone}`} d={d} />)}
      <rect class="swb-minimap-frame" x={left} y={top} width={Math.max(0, right - left)} height={Math.max(0, bottom - top)} />
    </svg>
  );
}
