// The drawn graph: one path for all edges, then the nodes near the screen, or all as a few paths. Events are the
// owner's.

import { useComputed, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { boxPath, edgePath, whole, type DagData, type DagIndex, type DagNode } from './graph';
import type { DagView, Detail, Drawn } from './view';
import { fitted } from './text-fit';
import { mapSize, overlaps, type Rect } from './viewport';

/** Least and largest size of a label beside a line of its own, of that line, and of a label that is drawn alone. */
const LABEL = [10, 13] as const;
const SUB = [9, 11] as const;
const ALONE = [11, 15] as const;
type Sizes = readonly [least: number, most: number];

/** Nodes of one look as one path: its classes, and what to draw. */
export type Blocks = readonly (readonly [look: string, path: string])[];

interface CanvasProps {
  graph: DagData;
  drawn: Drawn;
  blocks: Blocks;
  tones: ReadonlyMap<string, number>;
  current: ReadonlySet<string>;
  matches: ReadonlySet<string> | null;
  tabStop: string;
  fonts: Fonts;
  words: (node: DagNode) => string;
  openable: (node: DagNode) => boolean;
  /** Drawn over the edges and under the nodes. */
  children?: ComponentChildren;
}

/** Families of the letters of labels, and of all else. */
export interface Fonts {
  readonly label: string;
  readonly ui: string;
}

type Looks = Pick<CanvasProps, 'tones' | 'matches'>;

function lookOf({ id, kind, mark }: DagNode, { tones, matches }: Looks): string {
  const dim = matches !== null && !matches.has(id) ? ' is-dim' : '';
  return `is-${kind} swb-tone${tones.get(id) ?? 0}${mark ? ` is-${mark}` : ''}${dim}`;
}

/** Lines across the boxes that nothing can be done about, so that it is not told by colour alone. */
function hatch({ x, y, w, h }: Rect): string {
  let d = '';
  for (let t = 10; t < w + h; t += 10)
    d += `M${x + Math.max(0, t - h)} ${y + Math.min(t, h)}L${x + Math.min(t, w)} ${y + Math.max(0, t - w)}`;
  return d;
}

/** The whole graph in a few paths. */
export function blocksOf(graph: DagData, looks: Looks): Blocks {
  const paths = new Map<string, string>();
  const add = (look: string, d: string): void => {
    paths.set(look, (paths.get(look) ?? '') + d);
  };
  for (const node of graph.nodes) {
    add(lookOf(node, looks), boxPath(whole(node)));
    if (node.kind === 'host') add('swb-hatch', hatch(node));
  }
  return [...paths];
}

interface TextProps {
  text: string;
  room: number;
  sizes: Sizes;
  font: string;
  x: number;
  y: number;
  look?: string;
}

function Text({ text, room, sizes: [least, most], font, x, y, look }: TextProps) {
  const [shown, size] = fitted(text, room, least, most, font);
  return (
    <text class={look} x={x} y={y} style={`font-size:${size}px`}>
      {shown}
    </text>
  );
}

interface WordsProps {
  node: DagNode;
  detail: Detail;
  fonts: Fonts;
}

function Words({ node, detail, fonts: { label, ui } }: WordsProps) {
  if (detail === 'block') return null;
  const all = { room: node.w - 10, x: node.w / 2 };
  if (detail === 'name') return <Text {...all} text={node.label} sizes={ALONE} font={label} y={node.h / 2 + 5.5} />;
  const two = node.sub !== '' && node.h >= 32;
  return (
    <>
      <Text {...all} text={node.label} sizes={LABEL} font={label} y={two ? node.h / 2 - 2.5 : node.h / 2 + 4.5} />
      {two && <Text {...all} text={node.sub} sizes={SUB} font={ui} y={node.h / 2 + 12} look="swb-node-sub" />}
    </>
  );
}

/** What stands in the title of a frame: what is repeated, and how often. */
function Title({ node, detail, fonts: { label, ui } }: WordsProps) {
  if (detail === 'block') return null;
  const sizes = detail === 'name' ? ALONE : LABEL;
  return (
    <>
      <Text text={node.label} room={node.w - 54} sizes={sizes} font={label} x={10} y={17} />
      <Text
        text={node.sub || (node.open ? '−' : '')}
        room={34}
        sizes={sizes}
        font={ui}
        x={node.w - 10}
        y={17}
        look="swb-times"
      />
    </>
  );
}

function Node({ node, props }: { node: DagNode; props: CanvasProps }) {
  const current = props.current.has(node.id);
  const stop = props.tabStop === node.id;
  const frame = node.kind === 'frame';
  const round = node.kind === 'input' || node.kind === 'output' ? node.h / 2 : frame ? 6 : 4;
  const tall = whole(node).h;
  const {
    fonts,
    drawn: { detail }
  } = props;
  return (
    <g
      class={`swb-node ${lookOf(node, props)}${props.openable(node) ? '' : ' is-fixed'}`}
      transform={`translate(${node.x} ${node.y})`}
      data-node={node.id}
      role="button"
      tabindex={stop ? 0 : -1}
      aria-label={props.words(node)}
      aria-expanded={frame ? node.open : undefined}
      aria-current={current || undefined}
      aria-disabled={props.openable(node) ? undefined : 'true'}
    >
      {frame && !node.open && <path class="swb-stack" d={`M6 -3H${node.w + 3}V${tall - 6}`} />}
      {(current || stop) && (
        <rect
          class={`swb-ring${current ? ' is-current' : ''}`}
          x={-3}
          y={-3}
          width={node.w + 6}
          height={tall + 6}
          rx={round + 3}
        />
      )}
      <rect class="swb-node-box" width={node.w} height={tall} rx={round} />
      {node.kind === 'host' && <path class="swb-hatch" d={hatch({ x: 0, y: 0, w: node.w, h: tall })} />}
      {frame ? (
        <Title node={node} detail={detail} fonts={fonts} />
      ) : (
        <Words node={node} detail={detail} fonts={fonts} />
      )}
    </g>
  );
}

/** All nodes as blocks; those that are open have a ring. */
function Small({ blocks, graph, current }: Pick<CanvasProps, 'blocks' | 'graph' | 'current'>) {
  const rings = useMemo(
    () =>
      graph.nodes
        .filter(node => current.has(node.id))
        .map(node => boxPath(whole(node), 3))
        .join(''),
    [graph, current]
  );
  return (
    <>
      {blocks.map(([look, d]) => (
        <path key={look} class={`swb-block ${look}`} d={d} />
      ))}
      <path class="swb-ring is-current" d={rings} />
      {graph.nodes.map(
        node =>
          node.times! > 1 && (
            <text key={node.id} class="swb-many" x={node.x + node.w + 12} y={node.y + node.body! / 2}>
              ×{node.times}
            </text>
          )
      )}
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
    shown
      .filter(node => (node.kind === 'frame') === frames)
      .map(node => <Node key={node.id} node={node} props={props} />);
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

/** The whole graph in small with a frame around what is on the screen. For the pointer; the keyboard has the arrows. */
export function Minimap({ graph, blocks, view }: { graph: DagData; blocks: Blocks; view: DagView }) {
  const size = view.size.value;
  const at = view.view.value;
  const left = Math.max(0, -at.x / at.k);
  const top = Math.max(0, -at.y / at.k);
  const right = Math.min(graph.width, (size.w - at.x) / at.k);
  const bottom = Math.min(graph.height, (size.h - at.y) / at.k);
  if (right - left >= graph.width - 1 && bottom - top >= graph.height - 1) return null;
  const { w, h } = mapSize(graph, size.w, size.h);
  const go = (event: PointerEvent): void => {
    if (event.type === 'pointermove' && event.buttons !== 1) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    view.centreOn(((event.clientX - box.left) / w) * graph.width, ((event.clientY - box.top) / h) * graph.height);
  };
  return (
    <svg
      class="swb-minimap"
      width={w}
      height={h}
      viewBox={`0 0 ${graph.width} ${graph.height}`}
      preserveAspectRatio="none"
      aria-hidden
      onPointerDown={go}
      onPointerMove={go}
    >
      {blocks.map(([look, d]) => (
        <path key={look} class={`swb-block ${look}`} d={d} />
      ))}
      <rect
        class="swb-minimap-frame"
        x={left}
        y={top}
        width={Math.max(0, right - left)}
        height={Math.max((3 / h) * graph.height, bottom - top)}
      />
    </svg>
  );
}

const ALONG = {
  up: ['y', -1, '↑', 'above'],
  down: ['y', 1, '↓', 'below'],
  left: ['x', -1, '←', 'to the left'],
  right: ['x', 1, '→', 'to the right']
} as const;

/** Middles of the nodes along both directions, in order. */
const middlesOf = ({ nodes }: DagData): Readonly<Record<'x' | 'y', readonly number[]>> => {
  const all = nodes.filter(node => node.kind !== 'frame');
  const sorted = (values: number[]): number[] => values.sort((a, b) => a - b);
  return { x: sorted(all.map(node => node.x + node.w / 2)), y: sorted(all.map(node => node.y + node.h / 2)) };
};

/** How many of the sorted values are less than a limit. */
function less(values: readonly number[], limit: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * How many nodes lie beyond an edge of the screen; a press goes there. For the pointer; the keyboard has the arrows.
 */
function MoreOn({
  side,
  view,
  middles
}: {
  side: keyof typeof ALONG;
  view: DagView;
  middles: ReturnType<typeof middlesOf>;
}) {
  const [axis, sign, arrow, where] = ALONG[side];
  const beyond = useComputed(() => {
    const { k, [axis]: offset } = view.view.value;
    const { w, h } = view.size.value;
    const values = middles[axis];
    if (w <= 0) return 0;
    return sign < 0 ? less(values, -offset / k) : values.length - less(values, ((axis === 'x' ? w : h) - offset) / k);
  }).value;
  if (!beyond) return null;
  const go = (): void => {
    const { w, h } = view.size.peek();
    view.pan(axis === 'x' ? -sign * 0.7 * w : 0, axis === 'y' ? -sign * 0.7 * h : 0);
  };
  return (
    <button
      class={`swb-dag-more is-${side}`}
      tabIndex={-1}
      aria-hidden
      onClick={go}
      title={`${beyond} more ${where}. The wheel and a drag move the drawing, Fit shows it whole.`}
    >
      {arrow} {beyond}
      {axis === 'y' && ' more'}
    </button>
  );
}

/** That there is more than is seen. */
export function More({ graph, view }: { graph: DagData; view: DagView }) {
  const middles = useMemo(() => middlesOf(graph), [graph]);
  return (
    <>
      {(['up', 'left', 'right', 'down'] as const).map(side => (
        <MoreOn key={`${side}`} side={side} view={view} middles={middles} />
      ))}
    </>
  );
}
