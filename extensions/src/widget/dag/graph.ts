// What a drawn graph needs to know about itself: paths of its edges and nodes, neighbours, where an arrow key leads.

import type { GraphColumns, GraphEdge, GraphNode, StagesSlice } from '../../shared/types';
import type { Rect } from './viewport';

export type DagNode = GraphNode;
type DagEdge = GraphEdge;
export type DagData = StagesSlice;

export interface DagIndex {
  readonly byId: ReadonlyMap<string, DagNode>;
  readonly near: ReadonlyMap<string, readonly string[]>;
  readonly of: ReadonlyMap<string, readonly DagEdge[]>;
  /** Whether the edges run downwards rather than sideways. */
  readonly downwards: boolean;
  /** The node at a point of the drawing, or the nearest one that is not further away than `slack`. */
  readonly at: (x: number, y: number, slack: number) => DagNode | null;
}

/** Height of the title of a frame. */
const TITLE = 24;
const SIGNS = { removed: '− ', added: '+ ', changed: '~ ' };

/** Points of a line from its beginning and its steps. */
function absolute(steps: readonly number[]): number[] {
  const points = [...steps];
  for (let i = 2; i < points.length; i++) points[i]! += points[i - 2]!;
  return points;
}

/** A drawing from its columns: the frames first, so that they lie below their nodes. */
export function fromColumns(c: GraphColumns): DagData {
  const word = (k: number | undefined): string => c.words[k!] ?? '';
  const marks = new Map(c.marks.map(one => [one.node, one]));
  const f = c.folds;
  const frames = f.id.map((id, k): DagNode => ({
    id,
    label: word(f.title[k]),
    sub: f.times[k]! > 1 ? `×${f.times[k]}` : '',
    task: f.task[k]!,
    kind: 'frame',
    x: f.x[k]!,
    y: f.y[k]!,
    w: f.w[k]!,
    h: TITLE,
    body: f.h[k],
    times: f.times[k],
    count: f.nodes[k],
    open: !!f.open[k]
  }));
  const nodes = c.id.map((id, k): DagNode => {
    const { mark, reason } = marks.get(k) ?? {};
    return {
      id,
      label: (mark ? SIGNS[mark] : '') + word(c.label[k]),
      sub: word(c.sub[k]),
      kind: word(c.kind[k]),
      task: c.task[k]!,
      x: c.x[k]!,
      y: c.y[k]!,
      w: c.w[k]!,
      h: c.h[k]!,
      bytes: c.bytes[k],
      ops: c.ops[k],
      dtype: word(c.dtype[k]),
      frame: frames[c.fold[k] ?? -1]?.id,
      likes: c.likes[k],
      mark,
      reason
    };
  });
  const end = (k: number): string => (nodes[k] ?? frames[k - nodes.length]!).id;
  const edges = c.points.map((steps, k) => ({ a: end(c.a[k]!), b: end(c.b[k]!), points: absolute(steps) }));
  return { nodes: [...frames, ...nodes], edges, width: c.width, height: c.height };
}

const ROUND = 6;

/** One polyline with rounded corners. */
export function edgePath(p: readonly number[]): string {
  const n = p.length - 2;
  if (n < 2) return '';
  let d = `M${p[0]} ${p[1]}`;
  for (let i = 2; i < n; i += 2) {
    const x = p[i]!;
    const y = p[i + 1]!;
    const [ax, ay, bx, by] = [p[i - 2]! - x, p[i - 1]! - y, p[i + 2]! - x, p[i + 3]! - y];
    const before = Math.hypot(ax, ay) || 1;
    const after = Math.hypot(bx, by) || 1;
    const r = Math.min(ROUND, before / 2, after / 2);
    d += `L${x + (ax / before) * r} ${y + (ay / before) * r}Q${x} ${y} ${x + (bx / after) * r} ${y + (by / after) * r}`;
  }
  return `${d}L${p[n]} ${p[n + 1]}`;
}

export const boxPath = ({ x, y, w, h }: Rect, more = 0): string =>
  `M${x - more} ${y - more}h${w + 2 * more}v${h + 2 * more}h${-w - 2 * more}z`;

/** The box that a node takes, of a frame with all that is in it. */
export const whole = (node: DagNode): Rect => (node.body ? { ...node, h: node.body } : node);

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

export function indexDag(graph: DagData): DagIndex {
  const byId = new Map(graph.nodes.map(node => [node.id, node]));
  const near = new Map<string, string[]>();
  const of = new Map<string, DagEdge[]>();
  let down = 0;
  for (const edge of graph.edges) {
    push(near, edge.a, edge.b);
    push(near, edge.b, edge.a);
    push(of, edge.a, edge);
    push(of, edge.b, edge);
    const [a, b] = [byId.get(edge.a), byId.get(edge.b)];
    if (a && b) down += Number(b.y >= a.y + a.h) - Number(b.x >= a.x + a.w);
  }
  return { byId, near, of, downwards: down >= 0, at: finder(graph.nodes) };
}

/** Nodes by bands of their height, so that a pointer's move asks only a few of them. */
function finder(nodes: readonly DagNode[]): DagIndex['at'] {
  const BAND = 64;
  const band = (y: number): number => Math.floor(y / BAND);
  const bands = new Map<number, DagNode[]>();
  for (const node of nodes) {
    for (let at = band(node.y); at <= band(node.y + node.h); at++) {
      const list = bands.get(at);
      if (list) list.push(node);
      else bands.set(at, [node]);
    }
  }
  return (x, y, slack) => {
    let best: DagNode | null = null;
    let least = slack;
    for (let at = band(y - slack); at <= band(y + slack); at++) {
      for (const node of bands.get(at) ?? []) {
        const away = Math.max(0, node.x - x, x - node.x - node.w, node.y - y, y - node.y - node.h);
        if (away <= least) [best, least] = [node, away];
      }
    }
    return best;
  };
}

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0]
};
export const isArrow = (key: string): boolean => key in ARROWS;

function nearest(from: DagNode, nodes: Iterable<DagNode>, [dx, dy]: readonly [number, number]): DagNode | null {
  let best: DagNode | null = null;
  let cost = Infinity;
  for (const node of nodes) {
    const x = node.x + node.w / 2 - from.x - from.w / 2;
    const y = node.y + node.h / 2 - from.y - from.h / 2;
    const along = x * dx + y * dy;
    if (node === from || along <= 0.5) continue;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    if (along + 2 * aside < cost) {
      cost = along + 2 * aside;
      best = node;
    }
  }
  return best;
}

/** The node an arrow key leads to: with or against the flow along an edge, across the flow the nearest node. */
export function step(graph: DagData, index: DagIndex, id: string, key: string): DagNode | null {
  const from = index.byId.get(id);
  const way = ARROWS[key];
  if (!from || !way) return graph.nodes[0] ?? null;
  const across = index.downwards === (way[0] !== 0);
  const linked = across ? [] : (index.near.get(id) ?? []).flatMap(other => index.byId.get(other) ?? []);
  return nearest(from, linked, way) ?? nearest(from, graph.nodes, way);
}
