// What a drawn graph needs to know about itself: paths of its edges, its neighbours, and where an arrow key leads.

import type { GraphEdge, GraphNode, GraphSlice } from './types';

export type DagNode = GraphNode;
export type DagEdge = GraphEdge;
export type DagData = GraphSlice;

export interface DagIndex {
  readonly byId: ReadonlyMap<string, DagNode>;
  readonly near: ReadonlyMap<string, readonly string[]>;
  readonly of: ReadonlyMap<string, readonly DagEdge[]>;
  /** Whether the edges run downwards rather than sideways. */
  readonly downwards: boolean;
}

const ROUND = 6;

/** One polyline with rounded corners. */
export function edgePath(points: readonly (readonly number[])[]): string {
  if (points.length < 2) return '';
  const at = (i: number): [number, number] => [points[i]?.[0] ?? 0, points[i]?.[1] ?? 0];
  const [x0, y0] = at(0);
  let d = `M${x0} ${y0}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [px, py] = at(i - 1);
    const [x, y] = at(i);
    const [nx, ny] = at(i + 1);
    const before = Math.hypot(x - px, y - py) || 1;
    const after = Math.hypot(nx - x, ny - y) || 1;
    const r = Math.min(ROUND, before / 2, after / 2);
    const from = `${x - ((x - px) / before) * r} ${y - ((y - py) / before) * r}`;
    d += `L${from}Q${x} ${y} ${x + ((nx - x) / after) * r} ${y + ((ny - y) / after) * r}`;
  }
  const [x, y] = at(points.length - 1);
  return `${d}L${x} ${y}`;
}

export function indexDag(graph: DagData): DagIndex {
  const byId = new Map(graph.nodes.map(node => [node.id, node]));
  const near = new Map<string, string[]>();
  const of = new Map<string, DagEdge[]>();
  let down = 0;
  const push = <T>(map: Map<string, T[]>, key: string, value: T): void => {
    const list = map.get(key);
    if (list) list.push(value);
    else map.set(key, [value]);
  };
  for (const edge of graph.edges) {
    push(near, edge.a, edge.b);
    push(near, edge.b, edge.a);
    push(of, edge.a, edge);
    push(of, edge.b, edge);
    const [a, b] = [byId.get(edge.a), byId.get(edge.b)];
    if (a && b) down += Number(b.y >= a.y + a.h) - Number(b.x >= a.x + a.w);
  }
  return { byId, near, of, downwards: down >= 0 };
}

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]
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
