// Why the schedule takes as long as the estimate says, and which steps would make it faster: tried before they are
// shown.

import { useSignal } from '@preact/signals';
import type { ComponentChild } from 'preact';
import type { Cure } from '../../shared/types';
import { Button } from '../elements/controls';
import { useAnswer } from '../kernel/answers';
import { percent } from '../../shared/format';
import { OfferButton } from '../palette/witness';
import type { PanelProps } from '../panel';
import { besideNest, toProfile } from '../shell/keys';
import { useUi } from '../shell/ui';
import { Before } from './buffers';
import { noKernel } from '../kernel/link-words';

/** All steps to the fastest schedule that the estimate finds; each row takes those before it, too. */
function Plan({ store, take }: Pick<PanelProps, 'store'> & { take: (cure: Cure) => ComponentChild }) {
  const open = useSignal(false);
  const node = store.see('history')?.at;
  const wanted = open.value && node != null && !noKernel(store);
  const found = useAnswer(store, `plan ${store.see('head')?.task}`, 'plan', wanted ? { node } : null);
  const value = found.old ? null : found.value; // steps of the variant before are not to be taken here
  return (
    <details
      class="swb-plan"
      open={open.value}
      onToggle={event => {
        open.value = event.currentTarget.open;
      }}
    >
      <summary>A whole plan, to take at once or up to any row</summary>
      <p class="swb-mut">{found.error?.message ?? value?.text ?? 'Looking ahead …'}</p>
      <ol>
        {value?.rows.map(cure => (
          <li key={cure.id}>{take(cure)}</li>
        ))}
      </ol>
    </details>
  );
}

/** From a variant that is slower to the best that was measured, decision by decision. */
function Way({ store, take }: Pick<PanelProps, 'store'> & { take: (cure: Cure) => ComponentChild }) {
  const node = store.see('history')?.at;
  const head = store.see('head');
  const slower = head?.ms != null && head.best_ms != null && head.best_ms < head.ms;
  const wanted = node != null && slower && !noKernel(store); // asked again when either time has changed
  const about = `way ${head?.task} ${head?.ms} ${head?.best_ms}`;
  const found = useAnswer(store, about, 'way', wanted ? { node } : null);
  if (!wanted || found.old || !found.value?.rows.length) return null;
  return (
    <details class="swb-plan swb-way">
      <summary>{found.value.text}: the way there, one decision after the other</summary>
      <p class="swb-mut">The best has {found.value.differs}. Each row takes those before it, too.</p>
      <ol>
        {found.value.rows.map(cure => (
          <li key={cure.id}>{take(cure)}</li>
        ))}
      </ol>
    </details>
  );
}

/** Share of the task in the recorded run of the network, and the way there. */
function InNetwork({ store }: Pick<PanelProps, 'store'>) {
  const ui = useUi();
  const slice = store.see('timeline');
  const row = slice?.rows.find(one => one.id === store.see('head')?.task);
  if (!row) return null;
  return (
    <span class="swb-mut">
      {' '}
      In the network: {percent(row.share[row.share.length - 1])} of the time;{' '}
      <Button class="swb-link" onPress={() => toProfile(ui, store)}>
        Profile
      </Button>
    </span>
  );
}

export function Why({ store }: Pick<PanelProps, 'store'>) {
  const ui = useUi();
  const why = store.see('why');
  const node = store.see('history')?.at;
  const wanted = why && !why.off && node != null && !noKernel(store) ? { node } : null;
  const task = store.see('head')?.task;
  const found = useAnswer(store, `cures ${task}`, 'cures', wanted);
  const cures = found.old ? null : found.value; // steps of the variant before are not to be taken here
  const spills = useAnswer(store, `spills ${task}`, 'spills', wanted);
  if (!why) return null;
  const looking = wanted && !cures && !found.error;
  const firstOf = (
    <>
      ; <b>first: </b>
    </>
  );
  const take = (cure: Cure) => (
    <OfferButton key={cure.label} store={store} offer={{ ...cure, est: null }} onTake={() => besideNest(ui)} />
  );
  return (
    <section class="swb-reasons" aria-label="What takes the time">
      <p title="By a model of the machine; nothing was run">
        <b>What takes the time?</b>
        <Before store={store} /> <span class="swb-mut">{why.off || `Estimated: ${why.text}`}</span>
        {why.measured && <b> {why.measured}</b>}
        {looking && <span class="swb-mut"> Looking for faster steps …</span>}
        <InNetwork store={store} />
      </p>
      <ul>
        {why.rows.map(({ id, says }) => {
          const cure = cures?.rows.find(one => one.id === id);
          return (
            <li key={id} data-reason={id}>
              {says}
              {cure &&
                (cure.or ? '; or instead: ' : cures!.rows.length > 1 && cure === cures!.rows[0] ? firstOf : ': ')}
              {cure && take(cure)}
            </li>
          );
        })}
        {!spills.old && spills.value?.text && <li data-reason="spills">{spills.value.text}</li>}
        {cures?.note && (
          <li>
            {cures.note}
            {cures.rows.filter(one => !why.rows.some(row => row.id === one.id)).map(take)}
          </li>
        )}
      </ul>
      {!why.off && <Way store={store} take={take} />}
      {!why.off && <Plan store={store} take={take} />}
    </section>
  );
}
