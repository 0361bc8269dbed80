// "Show me": the rows of the nest that a reason is about.

import type { NestRow } from '../../shared/types';
import type { Store } from '../kernel/store';
import type { Ui } from '../shell/ui';

/** Whether a reason that names loops, blocks or rows is about this row. */
const isNamed = (row: NestRow, names: ReadonlySet<string>): boolean =>
  names.has(row.id) ||
  (row.kind === 'loop' ? names.has(row.name) : row.kind === 'stmt' && row.block !== null && names.has(row.block));

/** Mark the rows, bring the first into sight, and return what to say aloud. */
export function markRows(store: Store, ui: Ui, where: readonly string[]): string {
  const names = new Set(where);
  const rows =
    store
      .slice('nest')
      .peek()
      ?.rows.filter(row => isNamed(row, names)) ?? [];
  store.marked.value = new Set(rows.map(row => row.id));
  const first = rows[0];
  if (!first) return where.length ? `It is about ${where.join(', ')}.` : '';
  const el = ui.root.current?.querySelector(`[data-row="${CSS.escape(first.id)}"]`);
  el?.scrollIntoView({ block: 'nearest' });
  return `Marked in the loop nest: ${rows.map(row => row.name).join(', ')}.`;
}
