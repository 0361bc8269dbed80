// What is open, how fast it is, and what to do with it.

import { Button, Key } from '../shared/a11y';
import { count, flop, milliseconds, percent, spread } from '../shared/format';
import type { HeadSlice, MetaSlice } from '../shared/types';
import { Icon } from './icons';
import type { Store } from './store';
import { Tabs } from './tabs';
import { focusOn, useUi, type Tab } from './ui';
import { noKernel } from './words';

function Crumb({ meta, head }: { meta: MetaSlice | null; head: HeadSlice | null }) {
  const title = meta?.title ?? '';
  const name = head?.name ?? '';
  const facts = [head?.weight != null && head.weight > 1 && `called ${head.weight} times`, head?.flops != null && `${flop(head.flops)} per call`];
  return (
    <nav class="swb-crumb" aria-label="What is open">
      {title && title !== name && <><span class="swb-mut swb-cut" title={title}>{title}</span>{name && <span class="swb-faint" aria-hidden="true">›</span>}</>}
      {(name || !title) && <b class="swb-cut" title={name}>{name || 'Schedule Workbench'}</b>}
      <span class="swb-faint swb-nowrap">{facts.filter(Boolean).join(' · ')}</span>
    </nav>
  );
}

/** Why a measurement cannot be asked for. */
function noMeasure(store: Store, head: HeadSlice | null): string {
  if (!head) return 'no task is open';
  if (head.holes > 0) return 'numbers are left open: tune, or choose them';
  return noKernel(store);
}

function Actions({ store }: { store: Store }) {
  const ui = useUi();
  const meta = store.slice('meta').value;
  const head = store.slice('head').value;
  const history = store.slice('history').value;
  const stop = noKernel(store);
  const has = (panel: string): boolean => meta?.panels.includes(panel) ?? false;
  const holes = head?.holes ?? 0;
  return (
    <div class="swb-actions">
      {has('variants') && (
        <>
          <Button class="swb-button is-ghost" aria-label="Undo" title="Undo (Ctrl+Z)" data-swb-do="undo"
            reason={stop || (history?.can_undo ? '' : 'no step to undo')} onPress={() => store.act('undo', { n: 1 })}><Icon name="undo" /></Button>
          <Button class="swb-button is-ghost" aria-label="Redo" title="Redo (Ctrl+Shift+Z)" data-swb-do="redo"
            reason={stop || (history?.can_redo ? '' : 'no step to redo')} onPress={() => store.act('redo', { n: 1 })}><Icon name="redo" /></Button>
        </>
      )}
      {head && has('nest') && (
        <Button class="swb-button is-large" data-swb-do="measure" title="Run the schedule and time it" reason={noMeasure(store, head)}
          onPress={() => store.act('measure')}>Measure<Key>R</Key></Button>
      )}
      {has('tuning') && ui.tab.value === 'schedule' && (
        <Button class="swb-button is-large is-primary" data-swb-do="tune" title="Choose what to tune and for how long"
          onPress={() => {
            ui.tab.value = 'tuning';
            requestAnimationFrame(() => focusOn(ui, '[data-action=start], [data-action=pause], [data-action=resume]'));
          }}>{holes ? `Tune ${holes} open` : 'Tune'}<Key>T</Key></Button>
      )}
    </div>
  );
}

function Screens({ store }: { store: Store }) {
  const { tab } = useUi();
  const running = store.slice('tuning').value?.state === 'running';
  const dot = running && <span class="swb-dot" role="img" aria-label="running" title="running" />;
  return <Tabs<Tab> label="Screens" tabs={[['schedule', 'Schedule'], ['tuning', <>Tuning{dot}</>]]} open={tab.value} onPick={one => { tab.value = one; }} />;
}

/** What the schedule on show was measured at; of a log only the best is known. */
function Figures({ head, peak }: { head: HeadSlice; peak: number | null }) {
  const tuner = head.best_by === 'tuner' ? ' by the tuner' : '';
  const now = head.step !== '';
  return (
    <div class="swb-figures">
      {now && (
        <div class="swb-figure is-main" title="Fastest of the repeated runs of one call; ± half the distance of the quartiles">
          <span class="swb-mono">{head.step}</span><b data-swb-value="ms">{milliseconds(head.ms)}</b>
          <span>ms {spread(head.spread, head.ms)}</span>
        </div>
      )}
      <div class={`swb-figure${now ? ' is-optional' : ' is-main'}`} title={`Best measured time of this task${tuner}, in milliseconds`}>
        <span>best{tuner}</span><b>{milliseconds(head.best_ms)}</b>{!now && <span>ms</span>}
      </div>
      {now && (
        <>
          <div class="swb-figure"><b>{count(head.gflops)}</b><span>GFLOP/s</span></div>
          <div class="swb-figure" title="Share of the peak that was measured on this machine">
            <b>{percent(head.peak_share)}</b><span>{peak == null ? 'of peak' : `of ${count(Math.round(peak))} peak`}</span>
            {head.peak_share != null && <span class="swb-peak" aria-hidden="true"><i style={{ width: `${Math.min(100, 100 * head.peak_share)}%` }} /></span>}
          </div>
        </>
      )}
    </div>
  );
}

export function Header({ store }: { store: Store }) {
  const meta = store.slice('meta').value;
  const head = store.slice('head').value;
  const tuning = meta?.panels.includes('tuning');
  return (
    <header class="swb-header">
      <div class="swb-top"><Crumb meta={meta} head={head} /><Actions store={store} /></div>
      {(tuning || head) && (
        <div class="swb-bar">
          {tuning ? <Screens store={store} /> : <span class="swb-tabs" />}
          {head && <Figures head={head} peak={meta?.peak_gflops ?? null} />}
        </div>
      )}
    </header>
  );
}

