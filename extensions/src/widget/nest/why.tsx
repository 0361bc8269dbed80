// Why the schedule takes as long as the estimate says, and which steps would make it faster: tried before they are shown.

import { Button } from '../../shared/a11y';
import type { Cure, CuresAnswer } from '../../shared/types';
import { useAnswer } from '../answers';
import { OfferButton } from '../palette/witness';
import { nameOf } from '../palette/args';
import type { PanelProps } from '../panel';
import type { Store } from '../store';
import { Before } from './around';
import { useUi } from '../ui';
import { noKernel } from '../words';

/** One step opens its form with these very values; several are previewed and taken together. */
function Link({ store, cure }: { store: Store; cure: Cure }) {
  const ui = useUi();
  const { step, label, row } = cure;
  if (cure.then.length > 0) return <OfferButton store={store} offer={{ ...cure, est: null }} />;
  const open = (): void => {
    store.select(row);
    ui.wanted.value = { row, step };
  };
  return <Button class="swb-link" title={`Select ${nameOf(row)} and open ${step.primitive} with these values; times as fast by the estimate`} onPress={open}>{label}</Button>;
}

export function Why({ store }: Pick<PanelProps, 'store'>) {
  const why = store.see('why');
  const node = store.see('history')?.at;
  const { value: cures } = useAnswer<CuresAnswer>(store, `cures ${store.see('head')?.task}`, 'cures', why && node != null && !noKernel(store) ? { node } : null);
  if (!why) return null;
  return (
    <section class="swb-reasons" aria-label="What takes the time">
      <p title="By a model of the machine; nothing was run"><b>What takes the time?</b><Before store={store} /> <span class="swb-mut">Estimated: {why.text}</span>{why.measured && <b> {why.measured}</b>}</p>
      <ul>
        {why.rows.map(({ id, says }) => {
          const cure = cures?.rows.find(one => one.id === id);
          return <li key={id} data-reason={id}>{says}{' '}{cure && cures!.rows.length > 1 && cure === cures!.rows[0] && <b>first: </b>}{cure && <Link key={cure.label} store={store} cure={cure} />}</li>;
        })}
      </ul>
    </section>
  );
}
