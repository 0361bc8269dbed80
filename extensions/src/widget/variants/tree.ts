// The tree as it is drawn: columns and rows come from the kernel, here they become pixels, and arrows find their way.

import type { VariantRow } from '../../shared/types';

export const WIDTH = 124;
export const HEIGHT = 78;
/** Where the middle of a shape stands in its cell. */
const TOP = 27;
const BEND = 8;

export interface Tree {
  readonly rows: ReadonlyMap<number, VariantRow>;
  /** Every branch after what it came of, as a screen reader reads it. */
  readonly order: readonly VariantRow[];
  /** Which of how many branches a variant is that came of the same one, from 1 on. */
  readonly among: ReadonlyMap<number, readonly [place: number, all: number]>;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export function treeOf(list: readonly VariantRow[]): Tree {
  const rows = new Map(list.map(row => [row.id, row]));
  const below = new Map<number | null, VariantRow[]>();
  for (const row of list) below.set(row.parent, [...(below.get(row.parent) ?? []), row]);
  const order: VariantRow[] = [];
  const todo = [...(below.get(null) ?? [])];
  for (let row = todo.pop(); row; row = todo.pop()) {
    order.push(row);
    todo.push(...[...(below.get(row.id) ?? [])].reverse());
  }
  const among = new Map(
    [...below.values()].flatMap(branches => branches.map((row, k) => [row.id, [k + 1, branches.length]] as const))
  );
  const ys = list.map(row => row.y);
  const top = Math.min(...ys);
  return {
    rows,
    order,
    among,
    top,
    width: (Math.max(...list.map(row => row.x)) + 1) * WIDTH,
    height: (Math.max(...ys) - top + 1) * HEIGHT
  };
}

/** Left and top edge of a node's cell. */
export const cell = (tree: Tree, row: VariantRow): readonly [number, number] => [
  row.x * WIDTH,
  (row.y - tree.top) * HEIGHT
];

/** The line from a node to what came of it: along the row, down or up between two columns, along the other row. */
export function edge(tree: Tree, row: VariantRow): string {
  const from = tree.rows.get(row.parent!)!;
  const [x1, y1] = cell(tree, from).map((at, k) => at + (k ? TOP : WIDTH / 2)) as [number, number];
  const [x2, y2] = cell(tree, row).map((at, k) => at + (k ? TOP : WIDTH / 2)) as [number, number];
  if (y1 === y2) return `M${x1} ${y1}H${x2}`;
  const middle = (x1 + x2) / 2;
  const by = y2 > y1 ? BEND : -BEND;
  return `M${x1} ${y1}H${middle - BEND}q${BEND} 0 ${BEND} ${by}V${y2 - by}q0 ${by} ${BEND} ${by}H${x2}`;
}

/** Where an arrow leads: to the parent, to the child that redo would go to, to the branch above or below. */
export function next(tree: Tree, row: VariantRow, at: number, key: string): VariantRow | undefined {
  const rows = tree.order;
  const nearest = (way: number): VariantRow | undefined =>
    rows
      .filter(one => (one.y - row.y) * way > 0)
      .sort(
        (a, b) => Math.abs(a.y - row.y) - Math.abs(b.y - row.y) || Math.abs(a.x - row.x) - Math.abs(b.x - row.x)
      )[0];
  switch (key) {
    case 'Home':
      return rows[0];
    case 'End':
      return tree.rows.get(at);
    case 'ArrowLeft':
      return tree.rows.get(row.parent ?? -1);
    case 'ArrowRight': {
      const below = rows.filter(one => one.parent === row.id);
      return below.find(one => one.undone) ?? below[0];
    }
    case 'ArrowUp':
      return nearest(-1);
    case 'ArrowDown':
      return nearest(1);
    default:
      return undefined;
  }
}
