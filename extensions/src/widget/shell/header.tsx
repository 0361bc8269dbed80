// What is open, how fast it is, and what to do with it.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Button, Key } from '../elements/controls';
import { count, duration, flop, measured, milliseconds, percent, spreadOf } from '../../shared/format';
import { FLOPS, ownPeak, peakOf } from '../tuning/task-columns';
import type { HeadSlice, HistorySlice, MetaSlice, TasksSlice } from '../../shared/types';
import { Icon } from '../elements/icons';
import type { Store } from '../kernel/store';
import { Tabs } from '../elements/tabs';
import { focusOn, useUi, type Tab } from './ui';
import { noKernel } from '../kernel/link-words';
import { TargetButton } from './targets';
import { AllPanels } from './whole';
import { Default, MODEL, startOf } from './as-written';
import { BestLink, Caches, Remark } from './best-link';

function Crumb({ store, meta, head }: { store: Store; meta: MetaSlice | null; head: HeadSlice | null }) {
  const title = meta?.title ?? '';
  const name = head?.name ?? '';
  const facts = [
    head?.weight != null && head.weight > 1 && `called ${head.weight} times`,
    head?.flops != null && `${flop(head.flops)} per call`
  ];
  return (
    <nav class="swb-crumb" aria-label="What is open">
      {title && title !== name && (
        <>
          <span class="swb-mut swb-cut" title={title}>
            {title}
          </span>
          {name && (
            <span class="swb-faint" aria-hidden>
              ›
            </span>
          )}
        </>
      )}
      {(name || !title) && (
        <b class="swb-cut" title={name}>
          {name || 'Schedule Workbench'}
        </b>
      )}
      <span class="swb-faint swb-nowrap">{facts.filter(Boolean).join(' · ')}</span>
      <TargetButton store={store} />
    </nav>
  );
}

/** Why a measurement cannot be asked for. */
function noMeasure(store: Store, head: HeadSlice | null): string {
  if (!head) return 'no task is open';
  if (head.holes > 0) return 'numbers are left open: tune, or choose them';
  return noKernel(store);
}

/** Whether the variant on show is being measured, or will be. */
function isMeasured(store: Store): boolean {
  const history = store.see('history');
  const status = history?.rows.find(row => row.id === history.at)?.status;
  return status === 'measuring' || status === 'queued' || store.pending.value.includes('measure');
}

/** The button that measures, and how long that has been going on. */
function Measure({ store, head }: { store: Store; head: HeadSlice }) {
  const going = isMeasured(store);
  const seconds = useSignal(0);
  useEffect(() => {
    seconds.value = 0;
    if (!going) return;
    const timer = setInterval(() => {
      seconds.value++;
    }, 1000);
    return () => clearInterval(timer);
  }, [going]);
  return (
    <Button
      class="swb-button is-large"
      data-swb-do="measure"
      title="Run the schedule and time it"
      reason={noMeasure(store, head)}
      onPress={() => store.act('measure')}
    >
      {going ? (
        `Measuring… ${seconds.value ? duration(seconds.value) : ''}`
      ) : (
        <>
          Measure<Key>R</Key>
        </>
      )}
    </Button>
  );
}

/** Set where the host can show the view in a panel of its own. */
const HOST = Symbol.for('schedule-workbench:panel');

function InPanel() {
  const { root } = useUi();
  const open = (globalThis as { [HOST]?: (view: Element) => void })[HOST];
  return open ? (
    <Button
      class="swb-button is-ghost"
      data-swb-do="panel"
      title="Show it in a tab of its own, over the whole width"
      onPress={() => open(root.current!)}
    >
      Panel
    </Button>
  ) : null;
}

function Actions({ store }: { store: Store }) {
  const ui = useUi();
  const meta = store.see('meta');
  const head = store.see('head');
  const history = store.see('history');
  const stop = noKernel(store);
  const has = (panel: string): boolean => meta?.panels.includes(panel) ?? false;
  const holes = head?.holes ?? 0;
  return (
    <div class="swb-actions">
      {has('variants') && (
        <>
          <Button
            class="swb-button is-ghost"
            aria-label="Undo"
            title="Undo (Ctrl+Z)"
            data-swb-do="undo"
            reason={stop || (history?.can_undo ? '' : 'no step to undo')}
            onPress={() => store.act('undo', { n: 1 })}
          >
            <Icon name="undo" />
          </Button>
          <Button
            class="swb-button is-ghost"
            aria-label="Redo"
            title="Redo (Ctrl+Shift+Z)"
            data-swb-do="redo"
            reason={stop || (history?.can_redo ? '' : 'no step to redo')}
            onPress={() => store.act('redo', { n: 1 })}
          >
            <Icon name="redo" />
          </Button>
        </>
      )}
      <Button
        class="swb-button is-ghost"
        data-swb-do="export"
        title="Save a script, the steps, tables, drawings or a page"
        onPress={() => {
          ui.exporting.value = true;
        }}
      >
        Export<Key>E</Key>
      </Button>
      <InPanel />
      {head && has('nest') && <Measure store={store} head={head} />}
      {has('tuning') && ui.tab.value !== 'tuning' && (
        <Button
          class="swb-button is-large is-primary"
          data-swb-do="tune"
          title="Choose what to tune and for how long"
          reason={stop || store.see('tuning')?.off}
          onPress={() => {
            ui.tab.value = 'tuning';
            requestAnimationFrame(() => focusOn(ui, '[data-action=start], [data-action=pause], [data-action=resume]'));
          }}
        >
          {holes ? `Tune ${holes} open` : 'Tune'}
          <Key>T</Key>
        </Button>
      )}
    </div>
  );
}

function Screens({ store }: { store: Store }) {
  const { tab } = useUi();
  const profile = store.see('meta')?.panels.includes('timeline');
  const running = store.see('tuning')?.state === 'running';
  const dot = running && <span class="swb-dot" role="img" aria-label="running" title="running" />;
  return (
    <Tabs<Tab>
      name="screens"
      label="Screens"
      tabs={[
        ['schedule', 'Schedule'],
        ['tuning', <>Tuning{dot}</>],
        ...(profile ? ([['profile', 'Profile']] as const) : [])
      ]}
      open={tab.value === 'profile' && !profile ? 'schedule' : tab.value}
      onPick={one => {
        tab.value = one;
      }}
    />
  );
}

/** How fast the schedule on show computes: measured, else what follows from its estimate. */
function rateOf(head: HeadSlice, est: number | null | undefined, peak: number | null) {
  if (head.gflops != null || !est || !head.flops) return { about: '', gflops: head.gflops, share: head.peak_share };
  const gflops = Number((head.flops / (est * 1e6)).toPrecision(3));
  return { about: '≈ ', gflops, share: peak ? gflops / peak : null, title: MODEL };
}

const TIMED = 'Median of the undisturbed runs of one call; ± half the distance of the quartiles';

/** What the schedule on show was measured at, else what it should take; of a log only the best is known. */
function Figures({
  store,
  head,
  history,
  tasks,
  meta,
  going
}: {
  store: Store;
  head: HeadSlice;
  history: HistorySlice | null;
  tasks: TasksSlice | null;
  meta: MetaSlice | null;
  going: boolean;
}) {
  const peak = peakOf(meta, head.product);
  const own = ownPeak(meta, head.product);
  const rough = meta?.peak_measured === false && !own;
  const tuner = { hand: ' by hand', tuner: ' by the tuner', template: ': default schedule', none: '' }[
    head.best_by ?? 'none'
  ];
  const now = head.step !== '';
  const start = startOf(history);
  const task = start && tasks?.rows.find(row => row.id === head.task);
  const usual = task && task.ms === null ? (task.est ?? null) : null;
  const est = head.ms === null ? head.est : null;
  const rate = rateOf(head, est?.ms, peak);
  const about = rate.title ? `${rate.title}. ` : '';
  const wide = est?.low != null && est.high != null && est.low < est.high;
  return (
    <div class="swb-figures">
      {now && est?.ms != null && (
        <div class="swb-figure is-main" title={MODEL}>
          <span class="swb-mono">{head.step}</span>
          {start && <span>{start}</span>}
          <b data-swb-value="est">
            ≈ {wide ? `${milliseconds(est.low)} – ${milliseconds(est.high)}` : milliseconds(est.ms)}
          </b>
          <span>ms est.</span>
          <Remark of={head} />
          <Default usual={usual} />
        </div>
      )}
      {now && est?.ms == null && (
        <div
          class={`swb-figure is-main${going ? ' is-old' : ''}`}
          title={`${head.doubt ? `Disturbed: ${head.doubt.text}; ${milliseconds(head.ms)} ms seen` : TIMED}${head.remark ? `; ${head.remark}` : ''}${head.est?.ms == null ? '' : `. Estimated: ≈ ${milliseconds(head.est.ms)} ms`}`}
        >
          <span class="swb-mono">{head.step}</span>
          {start && <span>{start}</span>}
          <b data-swb-value="ms">{measured(head)}</b>
          <span>ms</span>
          <span class="swb-spread">{spreadOf(head)}</span>
          {head.doubt && (
            <span class="swb-cut swb-doubt" data-swb-value="doubt">
              {head.doubt.text}
            </span>
          )}
          <Remark of={head} />
          {!head.doubt && !head.same && history?.change && (
            <span class="swb-cut" title={history.change.title}>
              {history.change.text}
            </span>
          )}
          <Caches of={head} />
          <Default usual={usual} />
          {head.logged && (
            <span class="swb-cut" data-swb-value="logged" title="Compiling a network takes the schedules of its log">
              {head.logged}
            </span>
          )}
        </div>
      )}
      <div
        class={`swb-figure${now ? '' : ' is-main'}`}
        title={`Best measured time of this task${tuner}, in milliseconds. ${head.best_why ?? ''}`}
      >
        {head.best_ms == null ? (
          head.ms == null && <span>not measured yet</span>
        ) : (
          <>
            <BestLink store={store} head={head}>
              <span>
                best<span class="swb-who">{tuner}</span>
              </span>{' '}
              <b>
                {head.best_sure === 'disturbed' && '≤ '}
                {milliseconds(head.best_ms)}
              </b>{' '}
              <span>ms{head.best_sure === 'once' && ', timed once'}</span>
            </BestLink>
          </>
        )}
      </div>
      {now &&
        !head.doubt &&
        (head.ms === null || head.gflops != null) && ( // what comes last goes first where there is no room for all
          <>
            <div
              class="swb-figure"
              title={`${about}Share of the peak of this machine${rough ? ", one core's times the threads until it is measured" : ''}. ${FLOPS}`}
            >
              <b>
                {rate.about}
                {percent(rate.share)}
                {head.above && '*'}
              </b>
              <span>
                {'of '}
                {peak != null && (
                  <>
                    {rough && '≈ '}
                    {count(Math.round(peak))} <span class="swb-who">GFLOP/s </span>
                  </>
                )}
                {own && `${head.product} `}peak
              </span>
              {head.peak_share != null && (
                <span class="swb-peak" aria-hidden>
                  <i style={{ width: `${Math.min(100, 100 * head.peak_share)}%` }} />
                </span>
              )}
            </div>
            <div class="swb-figure" title={about + FLOPS}>
              <b>
                {rate.about}
                {count(rate.gflops)}
              </b>
              <span>GFLOP/s</span>
            </div>
          </>
        )}
      {head.best_why && <div class="swb-figure">{head.best_why}</div>}
    </div>
  );
}

/** So often in ms the kernel hears that somebody looks; else it does not watch the machine. */
const HERE_EVERY = 10_000;

function useHere(store: Store): void {
  useEffect(() => {
    store.here();
    const timer = setInterval(() => store.here(), HERE_EVERY);
    return () => clearInterval(timer);
  }, []);
}

export function Header({ store }: { store: Store }) {
  useHere(store);
  const load = store.see('status')?.load;
  const meta = store.see('meta');
  const head = store.see('head');
  const tuning = meta?.panels.includes('tuning');
  return (
    <header class="swb-header">
      <div class="swb-top">
        <Crumb store={store} meta={meta} head={head} />
        <Actions store={store} />
      </div>
      {(tuning || head) && (
        <div class="swb-bar">
          {tuning ? <Screens store={store} /> : <span class="swb-tabs" />}
          <AllPanels />
          {load?.text && (
            <span class="swb-load swb-cut" data-swb-value="load" title={load.about}>
              {load.text}
              <span class="swb-who">{load.whose}</span>
            </span>
          )}
          {head && (
            <Figures
              store={store}
              head={head}
              history={store.see('history')}
              tasks={store.see('tasks')}
              meta={meta}
              going={isMeasured(store)}
            />
          )}
        </div>
      )}
      {head?.above && head.step && (
        <p class="swb-single-foot" data-swb-value="above">
          * {head.above}.
        </p>
      )}
    </header>
  );
}
