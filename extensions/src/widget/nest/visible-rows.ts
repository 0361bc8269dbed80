// Which rows of the nest are on show, and what they would be after a step.

import type { NestRow, NestSlice, PreviewAnswer } from '../../shared/types';

/** Rows that no folded loop hides, in order. */
export function visible(rows: readonly NestRow[], folded: ReadonlySet<string>): readonly NestRow[] {
  if (folded.size === 0) return rows;
  const hidden = new Set<string>();
  return rows.filter(row => {
    const inside = row.parent !== null && (folded.has(row.parent) || hidden.has(row.parent));
    if (inside) hidden.add(row.id);
    return !inside;
  });
}

/** Rows that only describe what an instruction around them does: no code is made of them. */
export function insideIntrinsics(rows: readonly NestRow[]): ReadonlySet<string> {
  const inside = new Set<string>();
  const instructions = new Set<string>();
  for (const row of rows) {
    if (row.parent !== null && (instructions.has(row.parent) || inside.has(row.parent))) inside.add(row.id);
    if (row.kinds?.includes('intrin')) instructions.add(row.id);
  }
  return inside;
}

/** The row that a selection stands for: its own, or the statement of a selected block. */
export function rowOf(rows: readonly NestRow[], id: string): NestRow | undefined {
  if (!id) return undefined;
  return rows.find(row => row.id === id) ?? rows.find(row => row.kind === 'stmt' && row.block === id);
}

/** The first row whose name begins with what was typed, else one that has it somewhere. */
export function found(rows: readonly NestRow[], typed: string): NestRow | undefined {
  const at = (row: NestRow): number => row.name.toLowerCase().indexOf(typed.toLowerCase());
  return rows.find(row => at(row) === 0) ?? rows.find(row => at(row) > 0);
}

interface Ghosts {
  readonly rows: readonly NestRow[];
  /** What the step would do to a row, in a word: "preview" for one that it would make. */
  readonly signs: ReadonlyMap<string, string>;
}

type Rows = readonly NestRow[];

/** Rows without the most that stay in order among themselves: where two change places, one of them. */
function outOfOrder(rows: Rows, before: Rows): ReadonlySet<NestRow> {
  const places = rows.map(row => before.findIndex(one => one.id === row.id));
  const runs: NestRow[][] = [];
  rows.forEach((row, k) => {
    let longest: NestRow[] = [];
    for (let j = 0; places[k]! >= 0 && j < k; j++)
      if (places[j]! >= 0 && places[j]! < places[k]! && runs[j]!.length > longest.length) longest = runs[j]!;
    runs.push(places[k]! < 0 ? [] : [...longest, row]);
  });
  const still = runs.reduce((most, run) => (run.length > most.length ? run : most), []);
  return new Set(rows.filter(row => !still.includes(row)));
}

/**
 * Rows that a step brings into another loop that is there already; of those that only change places with one, the
 * one.
 */
function movedRows(rows: Rows, before: Rows): Rows {
  const parents = new Map(before.map(row => [row.id, row.parent]));
  const moved = rows.filter(
    ({ id, kind, parent }) =>
      kind !== 'init' && parents.has(id) && parents.get(id) !== parent && (parent === null || parents.has(parent))
  );
  if (moved.length < 2) return moved;
  const loose = outOfOrder(rows, before);
  const some = moved.filter(row => loose.has(row));
  return some.length > 0 ? some : moved;
}

/**
 * The rows after a step that somebody is putting together; null when the answer is about another nest than this one.
 */
export function ghosts(nest: NestSlice, answer: PreviewAnswer): Ghosts | null {
  const before = new Map(nest.rows.map(row => [row.id, row]));
  const changed = new Map(answer.rows.map(row => [row.id, row]));
  const rows = answer.order.map(id => changed.get(id) ?? before.get(id));
  if (rows.some(row => row === undefined)) return null;
  const found = rows as NestRow[];
  const signs = new Map<string, string>();
  for (const { id, mark } of found) {
    const old = before.get(id);
    if (!old) signs.set(id, 'preview');
    else if (old.mark !== mark) signs.set(id, 'changed');
  }
  for (const { id } of movedRows(found, nest.rows)) signs.set(id, 'moved');
  return { rows: found, signs };
}

/** Operations of the statements that stand right in a loop: what its loops leave over. */
export function ownFlops(rows: readonly NestRow[]): ReadonlyMap<string, number> {
  const left = new Map<string, number>();
  for (const { id, kind, parent, flops } of rows) {
    if (kind !== 'loop' || flops === null) continue;
    left.set(id, flops);
    if (parent !== null && left.has(parent)) left.set(parent, left.get(parent)! - flops);
  }
  return left;
}

const STEP = 12;
const ROOM = 96;

/** Pixels by which a row is set in: less in a deep nest, so that its innermost names keep their room. */
export function stepOf(rows: readonly NestRow[]): number {
  const deepest = Math.max(1, ...rows.map(row => row.depth));
  return Math.max(4, Math.min(STEP, Math.floor(ROOM / deepest)));
}
