// How a patch changes a slice: replaced as a whole, or by what changed of its rows; the other rows stay the same objects.

export interface RowsOp { readonly order?: readonly Id[]; readonly set?: readonly Row[]; readonly rest?: object }
export type Op = { readonly '=': unknown } | { readonly '~': RowsOp };
type Id = string | number;
type Row = { readonly id: Id };

/** The patch does not fit the value that is here: only the whole state helps. */
export class Misfit extends Error {}

export function applyOp(old: unknown, op: Op): unknown {
  if ('=' in op) return op['='];
  const before = (old as { rows?: readonly Row[] } | null)?.rows;
  if (!before) throw new Misfit('rows for a slice that has none');
  const { order, set = [], rest = {} } = op['~'];
  if (!order && set.length === 0) return { ...(old as object), ...rest };
  const rows = new Map<Id, Row>(before.map(row => [row.id, row]));
  for (const row of set) rows.set(row.id, { ...rows.get(row.id), ...row });
  const ids = order ?? [...rows.keys()];
  return { ...(old as object), ...rest, rows: ids.map(id => pick(rows, id)) };
}

function pick(rows: ReadonlyMap<Id, Row>, id: Id): Row {
  const row = rows.get(id);
  if (!row) throw new Misfit(`no row ${id}`);
  return row;
}
