// The steps of the schedule from left to right, each with what it was measured at. Undone steps stay, dimmed.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button, walk } from '../../shared/a11y';
import { Blank } from '../../shared/blank';
import { count, milliseconds, spread } from '../../shared/format';
import { outcome } from '../../shared/outcome';
import type { HistoryRow, HistorySlice } from '../../shared/types';
import type { PanelProps } from '../panel';
import { noKernel } from '../words';

const CALM = new Set(['', 'ok', 'queued', 'measuring']);
const failed = (row: HistoryRow): boolean => !CALM.has(row.status);

function shownAs(row: HistoryRow): string {
  if (failed(row)) return outcome(row.status);
  if (row.status === 'measuring') return 'measuring…';
  if (row.status === 'queued') return 'queued';
  if (row.ms !== null) return `${milliseconds(row.ms)} ms`;
  return row.holes > 0 ? `${row.holes} open` : 'not measured';
}

function words(row: HistoryRow): string {
  const who = row.by === 'tuner' ? 'by the tuner' : 'by hand';
  const open = row.holes > 0 ? `${row.holes} open numbers` : '';
  return [`v${row.id}`, row.text, shownAs(row), spread(row.spread, row.ms), who, open, row.undone ? 'undone' : ''].filter(Boolean).join(', ');
}

function Shape({ row, current }: { row: HistoryRow; current: boolean }) {
  const name = `swb-shape${current ? ' is-current' : ''}${row.holes > 0 ? ' is-open' : ''}${failed(row) ? ' is-failed' : ''}`;
  return (
    <svg class={name} width="22" height="22" viewBox="0 0 22 22" aria-hidden="true">
      {current && <circle class="swb-halo" cx="11" cy="11" r="9.5" />}
      {row.by === 'tuner' ? <rect x="6.5" y="6.5" width="9" height="9" transform="rotate(45 11 11)" /> : <circle cx="11" cy="11" r="5.5" />}
      {failed(row) && <path d="M8.5 8.5l5 5m0-5l-5 5" />}
    </svg>
  );
}

interface StepProps { row: HistoryRow; current: boolean; best: boolean; onGo: (id: number) => void; onWhy: (id: number) => void }

function StepItem({ row, current, best, onGo, onWhy }: StepProps) {
  const speed = row.gflops === null ? '' : `, ${count(row.gflops)} GFLOP/s`;
  return (
    <li class={`swb-step${row.undone ? ' is-undone' : ''}${current ? ' is-current' : ''}`}>
      <button type="button" data-step={row.id} aria-current={current ? 'step' : undefined} aria-label={words(row)} tabIndex={current ? 0 : -1}
        title={`${row.text}\n${shownAs(row)} ${spread(row.spread, row.ms)}${speed}${current ? '' : '\nClick to go there'}`} onClick={() => onGo(row.id)}>
        <span class="swb-step-id">v{row.id}{best && <em> best</em>}</span>
        <Shape row={row} current={current} />
        <span class={`swb-step-ms${failed(row) ? ' swb-careful' : row.ms === null ? ' swb-faint' : ''}`}>
          {shownAs(row)}{row.ms !== null && !failed(row) && row.spread !== null && <small> {spread(row.spread, row.ms)}</small>}
        </span>
        <span class="swb-step-text swb-cut">{row.text.replaceAll("'", '')}</span>
      </button>
      {failed(row) && row.error && <Button class="swb-link" tabIndex={current ? 0 : -1} aria-label={`Why v${row.id} failed`} onPress={() => onWhy(row.id)}>Why?</Button>}
    </li>
  );
}

function Legend() {
  const item = (name: string, diamond: boolean, text: string) => (
    <span><svg class={`swb-shape ${name}`} width="14" height="14" viewBox="4 4 14 14" aria-hidden="true">
      {diamond ? <rect x="7" y="7" width="8" height="8" transform="rotate(45 11 11)" /> : <circle cx="11" cy="11" r="5" />}
      {name === 'is-failed' && <path d="M8.5 8.5l5 5m0-5l-5 5" />}
    </svg>{text}</span>
  );
  return <span class="swb-history-legend">{item('', false, 'by hand')}{item('', true, 'by the tuner')}{item('is-open', false, 'open numbers')}{item('is-failed', false, 'failed')}</span>;
}

function Tools({ store, history }: PanelProps & { history: HistorySlice }) {
  const head = store.slice('head').value;
  const ready = store.slice('tuning').value?.best_ready && head?.task != null;
  const stop = noKernel(store);
  return (
    <span class="swb-history-tools">
      {ready && <Button data-swb-do="adopt" title="Make the best schedule that was measured for this task the current one. You can go back."
        reason={stop} onPress={() => store.act('adopt', { task: head!.task })}>Tuner's best: use it</Button>}
      {history.can_back && <Button data-swb-do="back" title="Return to the schedule before the tuner's" reason={stop} onPress={() => store.act('back')}>Back to my schedule</Button>}
      <label title="Measure after every step that is taken"><input type="checkbox" checked={history.auto} disabled={stop !== ''}
        onChange={event => store.act('auto_measure', { on: event.currentTarget.checked })} />Measure every step</label>
    </span>
  );
}

function Why({ row, onClose }: { row: HistoryRow; onClose: () => void }) {
  return (
    <div class="swb-why" role="region" aria-label={`Why v${row.id} failed`}>
      <p><b class="swb-careful">v{row.id} {shownAs(row)}</b> <span class="swb-mono">{row.text}</span><Button onPress={onClose}>Close</Button></p>
      <pre tabIndex={0}>{row.error}</pre>
    </div>
  );
}

export function VariantsPanel(props: PanelProps) {
  const { store } = props;
  const history = store.slice('history').value;
  const why = useSignal<number | null>(null);
  const list = useRef<HTMLOListElement>(null);
  const at = history?.at ?? -1;
  useEffect(() => {
    const box = list.current;
    const here = box?.querySelector<HTMLElement>('[aria-current]')?.parentElement;
    if (!box || !here) return;
    if (here.offsetLeft < box.scrollLeft || here.offsetLeft + here.offsetWidth > box.scrollLeft + box.clientWidth) {
      box.scrollLeft = here.offsetLeft - box.clientWidth / 2;
    }
  }, [at, history?.rows.length]);
  if (!history || history.rows.length === 0) {
    return <Blank title="No steps yet">Every step that you take on a schedule is kept here, with its time.</Blank>;
  }
  const go = (id: number): void => {
    if (id !== at && !noKernel(store)) store.act('goto', { step: id });
  };
  const best = fastest(history.rows);
  const reason = history.rows.find(row => row.id === why.value && failed(row));
  return (
    <section class="swb-history" aria-label="History">
      <header class="swb-panel-head"><h3 class="swb-h3">History</h3><Legend /><Tools {...props} history={history} /></header>
      <ol ref={list} class="swb-steps" onKeyDown={event => { if (list.current) walk(event, list.current, 'button[data-step]'); }}>
        {history.rows.map(row => (
          <StepItem key={row.id} row={row} current={row.id === at} best={row.id === best} onGo={go} onWhy={id => { why.value = why.value === id ? null : id; }} />
        ))}
      </ol>
      {reason && <Why row={reason} onClose={() => { why.value = null; }} />}
    </section>
  );
}

/** The fastest measured step, where there is more than one to compare. */
function fastest(rows: readonly HistoryRow[]): number | null {
  const timed = rows.filter(row => row.ms !== null && !failed(row));
  if (timed.length < 2) return null;
  return timed.reduce((a, b) => (b.ms! < a.ms! ? b : a)).id;
}
