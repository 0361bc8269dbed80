// The code of the schedule on show in four forms; its lines and the rows of the nest are linked both ways.

import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { Button } from '../elements/controls';
import { Blank } from '../elements/blank';
import { count, plural } from '../../shared/format';
import type { NestRow } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import { panelOf } from '../elements/tabs';
import { useUi } from '../shell/ui';
import { Lines, nameOf } from '../code/lines';
import { usePages, type Listing } from '../code/pages';
import { Forms, Problem } from '../code/forms';

const NONE: readonly NestRow[] = [];
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
  return `${nameOf(row, new Set(of))}${own + below ? `: ${count(own)} of ${all}${below ? `, ${count(below)} inside` : ''}` : ' has no code of its own'}`;
}

/** Put text where it can be pasted from; pages that are not served securely have the old way only. */
async function toClipboard(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

function Copy({ listing }: { listing: Listing }) {
  const done = useSignal<Listing['lines'] | null>(null);
  const copy = async (): Promise<void> => {
    await toClipboard(`${(await listing.whole()).join('\n')}\n`);
    done.value = listing.lines;
  };
  return (
    <Button
      class="swb-mini is-wide"
      data-swb-do="copy"
      title="Copy the whole text"
      reason={listing.stale ? 'another listing is on its way' : ''}
      onPress={() => {
        copy().catch(() => undefined);
      }}
    >
      {done.value === listing.lines ? 'Copied' : 'Copy'}
    </Button>
  );
}

function View({ store }: PanelProps) {
  const ui = useUi();
  const kind = ui.code.value;
  const nest = store.see('nest');
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
        {listing && !problem && (
          <span class="swb-faint swb-cut" role="status">
            {share(listing.of, row, inside)}
          </span>
        )}
        {listing && !problem && <Copy listing={listing} />}
      </header>
      <div {...panelOf(ui, 'code', kind)}>
        {problem ? (
          <Problem of={problem} />
        ) : !listing ? (
          <Blank title="Listing…">The kernel is asked for the code.</Blank>
        ) : (
          <Lines listing={listing} row={row} inside={inside} onRow={id => store.select(id)} />
        )}
        {listing?.cut && !problem && <p class="swb-more">{listing.cut}</p>}
      </div>
    </section>
  );
}

export default { name: 'code', title: 'Code', at: ['middle'], View } satisfies Panel;
