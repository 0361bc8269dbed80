// Why the schedule takes as long as the estimate says, and what would change that: each reason leads to its primitive.

import { effect } from '@preact/signals';
import { Button } from '../../shared/a11y';
import { nameOf } from '../palette/args';
import type { PanelProps } from '../panel';
import type { Store } from '../store';
import { useUi, type Ui } from '../ui';

let waiting: (() => void) | undefined;

/** Select a row and open a primitive there, as soon as the palette is about that row. */
function openAt(store: Store, ui: Ui, row: string, primitive: string): void {
  waiting?.();
  store.select(row);
  const stop = effect(() => {
    if (store.slice('palette').value?.at !== row) return;
    queueMicrotask(() => stop());
    requestAnimationFrame(() => {
      const item = ui.root.current?.querySelector<HTMLElement>(`.swb-pal [data-swb-item="${primitive}"]`);
      item?.focus();
      if (item?.getAttribute('aria-expanded') === 'false') item.click();
    });
  });
  waiting = stop;
}

export function Why({ store }: Pick<PanelProps, 'store'>) {
  const ui = useUi();
  const why = store.slice('why').value;
  if (!why) return null;
  return (
    <section class="swb-reasons" aria-label="What takes the time">
      <p title="By a model of the machine; nothing was run"><b>What takes the time?</b> <span class="swb-mut">Estimated: {why.text}</span></p>
      <ul>
        {why.rows.map(({ id, says, do: what }) => {
          const [primitive, row] = what.split(' ') as [string, string];
          return (
            <li key={id} data-reason={id}>{says}{' '}
              {what && <Button class="swb-link" title={`Select ${nameOf(row)} and open ${primitive}`} onPress={() => openAt(store, ui, row, primitive)}>{primitive} {nameOf(row)}</Button>}</li>
          );
        })}
      </ul>
    </section>
  );
}
