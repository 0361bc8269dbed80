// How a patch changes a slice, and what a slice says that does not travel. What did not change stays the same object.

import type { NestRow, NestSlice, PaletteItem, PaletteSlice, Slices } from '../../shared/types';

interface RowsOp {
  readonly order?: readonly Id[];
  readonly set?: readonly Change[];
  readonly rest?: object;
}
export type Op = { readonly '=': unknown } | { readonly '~': RowsOp };
type Id = string | number;
type Row = { readonly id: Id };
/** What has changed of a row; a new one may be like one that was there. */
type Change = Row & { readonly like?: Id };

/** The patch does not fit the value that is here: only the whole state helps. */
export class Misfit extends Error {}

export function applyOp(old: unknown, op: Op): unknown {
  if ('=' in op) return op['='];
  if (typeof old !== 'object' || old === null) throw new Misfit('changes of a slice that is not there');
  const { order, set = [], rest = {} } = op['~'];
  if (!order && set.length === 0) return { ...old, ...rest };
  const before = (old as { rows?: readonly Row[] }).rows;
  if (!before) throw new Misfit('rows for a slice that has none');
  const known = new Map<Id, Row>(before.map(row => [row.id, row]));
  const rows = new Map(known);
  for (const { like, ...row } of set) rows.set(row.id, { ...known.get(like ?? row.id), ...row });
  const ids = order ?? [...rows.keys()];
  return { ...old, ...rest, rows: ids.map(id => pick(rows, id)) };
}

function pick(rows: ReadonlyMap<Id, Row>, id: Id): Row {
  const row = rows.get(id);
  if (!row) throw new Misfit(`no row ${id}`);
  return row;
}

// ------------------------------------------------------------------------------------------------ what does not travel

/** Slices that are read in another form than they travel in. */
export const FORMS: { readonly [K in keyof Slices]?: (slice: Slices[K]) => Slices[K] } = { nest: deep, palette: named };

/** What was made of a row, as long as it is made with the same value. */
function kept<R extends object, V>(make: (row: R, value: V) => R): (row: R, value: V) => R {
  const made = new WeakMap<R, readonly [V, R]>();
  return (row, value) => {
    const found = made.get(row);
    if (found && found[0] === value) return found[1];
    const next = make(row, value);
    made.set(row, [value, next]);
    return next;
  };
}

const withDepth = kept((row: NestRow, depth: number): NestRow => ({ ...row, depth }));

/** Rows know how deep they lie: a parent always comes first. */
function deep(nest: NestSlice): NestSlice {
  const depths = new Map<string, number>();
  const rows = nest.rows.map(row => {
    const depth = row.parent === null ? 0 : (depths.get(row.parent) ?? -1) + 1;
    depths.set(row.id, depth);
    return withDepth(row, depth);
  });
  return { ...nest, rows };
}

const renamed = <T>(value: T, name: string): T => {
  if (typeof value === 'string') return value.replaceAll('$', () => name) as T;
  if (Array.isArray(value)) return value.map((one: unknown) => renamed(one, name)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, renamed(one, name)])) as T;
};
const withName = kept((row: PaletteItem, name: string): PaletteItem => renamed(row, name));

/** The selected name travels as "$", so that most rows are the same for the next loop. */
function named(palette: PaletteSlice): PaletteSlice {
  const { name } = palette;
  return name ? { ...palette, rows: palette.rows.map(row => withName(row, name)) } : palette;
}
