// The code of the schedule on show in four forms; its lines and the rows of the nest are linked both ways.

import { useMemo } from 'preact/hooks';
import { Blank } from '../../shared/blank';
import { count, plural } from '../../shared/format';
import type { CodeKind, ErrorInfo, NestRow } from '../../shared/types';
import type { PanelProps } from '../panel';
import { Tabs } from '../tabs';
import { useUi } from '../ui';
import { sentence } from '../words';
import { Lines, nameOf } from './lines';
import { usePages } from './pages';

const NONE: readonly NestRow[] = [];
const KINDS: readonly (readonly [CodeKind, string])[] = [['nest', 'Nest'], ['c', 'C'], ['llvm', 'LLVM'], ['asm', 'Assembly']];

/** Which form of the code is shown. */
export function Forms() {
  const { code } = useUi();
  return <Tabs label="Form of the code" tabs={KINDS} open={code.value} onPick={kind => { code.value = kind; }} />;
}

export const Problem = ({ of }: { of: ErrorInfo }) => <Blank title={of.message}>{sentence(of.hint)}</Blank>;

/** Rows inside a row, at any depth. */
function insideOf(rows: readonly NestRow[], row: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const one of rows) if (one.parent !== null && (one.parent === row || found.has(one.parent))) found.add(one.id);
  return found;
}

/** How much of the code is of the selected row, in words. */
function share(of: readonly string[], row: string, inside: ReadonlySet<string>): string {
  const all = plural(of.length, 'line');
  if (!row) return all;
  const own = of.filter(one => one === row).length;
  const below = of.filter(one => inside.has(one)).length;
  return `${nameOf(row)}${own + below ? `: ${count(own)} of ${all}${below ? `, ${count(below)} inside` : ''}` : ' has no code of its own'}`;
}

export function CodePanel({ store }: PanelProps) {
  const ui = useUi();
  const kind = ui.code.value;
  const nest = store.slice('nest').value;
  const { listing, problem } = usePages(store, kind);
  const selected = ui.lines.value || store.selected.value;
  const rows = nest?.rows ?? NONE;
  const row = rows.find(one => one.id === selected || one.id === `stmt:${selected}`)?.id ?? '';
  const inside = useMemo(() => insideOf(rows, row), [rows, row]);
  if (!nest) return <Blank title="No schedule is open">Open a task to see its code.</Blank>;
  return (
    <section class="swb-code-panel" aria-label="Code">
      <header class="swb-panel-head">
        <Forms />
        {listing && !problem && <span class="swb-faint swb-cut" role="status">{share(listing.of, row, inside)}</span>}
      </header>
      {problem ? <Problem of={problem} />
        : !listing ? <Blank title="Listing…">The kernel is asked for the code.</Blank>
        : <Lines listing={listing} row={row} inside={inside} onRow={id => store.select(id)} />}
      {listing?.cut && !problem && <p class="swb-more">{listing.cut}</p>}
    </section>
  );
}
