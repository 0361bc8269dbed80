// The tasks of a model in one table that is updated in place: a row keeps its element, a changed cell lights up briefly.

import type { ComponentChildren, RefObject } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { walk } from '../../shared/a11y';
import { Blank } from '../../shared/blank';
import { count, micro, milliseconds, percent, plural, signedPercent, spread, times } from '../../shared/format';
import { memo } from '../../shared/memo';
import { ShareBar } from '../../shared/sharebar';
import { Spark } from '../../shared/spark';
import { COLUMNS, failureWords, firstDown, OUTLOOK, shareOf, sortRows, TERMS, type Column, type Sort } from '../../shared/taskorder';
import type { TaskRow, TasksSlice } from '../../shared/types';
import { toNest } from '../keys';
import type { PanelProps } from '../panel';
import { useUi } from '../ui';

const FLASH_MS = 150;
const STATES: Record<string, string> = { tuning: 'measuring', exhausted: 'all tried', paused: 'on hold' };
const ESTIMATED = 'Estimated by a model of the machine, for the schedule that the task has without tuning; nothing was run';
const REASONS: Record<string, string> = {
  waiting: 'The tuner has not come to this task yet', tuning: 'The tuner measures this task now', paused: 'The run is paused in a round of this task',
  exhausted: 'Every candidate of this task was tried', resting: 'Its last rounds have gained nothing, so other tasks go first', skipped: 'Not part of this run', 'no result': 'No candidate ran correctly'
};

/** A cell that lights up when its text changes, never when it first appears. */
function Cell({ text, name, title, children }: {
  text: string; name: string; title?: string; children?: ComponentChildren;
}) {
  const cell = useRef<HTMLTableCellElement>(null);
  const before = useRef(text);
  useEffect(() => {
    if (before.current === text) return;
    before.current = text;
    const el = cell.current;
    if (!el || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const color = getComputedStyle(el).getPropertyValue('--swb-flash').trim();
    if (color) el.animate([{ backgroundColor: color }, { backgroundColor: 'transparent' }], FLASH_MS);
  }, [text]);
  return <td ref={cell} class={name} title={title}>{children || text}</td>;
}

/** Pieces of a name that do not tell tasks apart: the usual kind, an equal channel count, the second side of a square. */
const REPEATS = /^conv2d |(?<=\b(\d+))→\1(?= )|(?<=@(\d+))x\2$/g;

/**
 * `conv2d 3x3 64→64 @56x56 + bias + relu`: what is fused into the kernel is drawn fainter. A narrow table leaves out what
 * repeats, so that `3x3 64 @56` stays readable; the title has it all.
 */
function Name({ name }: { name: string }) {
  const at = name.indexOf(' + ');
  const whole = at < 0 ? name : name.slice(0, at);
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const { 0: piece, index } of whole.matchAll(REPEATS)) {
    parts.push(whole.slice(from, index), <span key={index} class="swb-from-l">{piece}</span>);
    from = index + piece.length;
  }
  return <>{parts}{whole.slice(from)}{at >= 0 && <span class="swb-from-m swb-faint">{name.slice(at)}</span>}</>;
}

const known = (value: unknown, text: string): string => (value == null ? '–' : text);

/** What is known of the best time of a task beside the time itself. */
function bestTitle({ ms, untuned_ms: untuned, spread: relative, confidence, compared, sure }: TaskRow): string | undefined {
  if (ms == null) return undefined;
  return [
    sure === 'disturbed' ? sure : relative != null && spread(relative, ms), confidence != null && `${percent(confidence)} sure after ${count(compared)} comparisons`,
    untuned != null && `${milliseconds(untuned)} ms untuned`
  ].filter(Boolean).join(' · ') || undefined;
}

/** What was found so far. */
function Results({ row, top, state, peak }: Pick<RowProps, 'row' | 'top' | 'state' | 'peak'>) {
  const guess = row.share == null;
  const share = known(shareOf(row), `${guess ? '≈ ' : ''}${percent(shareOf(row))}`);
  const est = row.ms == null && row.est != null;
  return (
    <>
      <Cell text={row.sure === 'disturbed' ? `≤ ${milliseconds(row.ms)}` : known(row.ms, milliseconds(row.ms))} name={est ? 'swb-mut' : 'swb-strong'} title={est ? ESTIMATED : bestTitle(row)}>
        {est && `≈ ${milliseconds(row.est)}`}
      </Cell>
      <Cell text={known(row.gflops, count(row.gflops))} name="swb-from-l" />
      <Cell text={row.gflops == null || !peak ? '–' : percent(row.gflops / peak) + (row.above ? '*' : '')} name="swb-from-m" title={row.above} />
      <Cell text={count(row.trials)} name={`swb-from-m${row.trials ? '' : ' swb-faint'}`} />
      <Cell text={share} name={`swb-share${guess ? ' swb-mut' : ''}`} title={guess && row.est_share != null ? 'Of times that are in part estimates; it is measured once every task has a time' : undefined}>
        <ShareBar share={shareOf(row)} top={top} guess={guess} />
        <span>{share}</span>
      </Cell>
      <Cell text={known(row.delta, row.delta ? signedPercent(row.delta) : '0')} name={`swb-from-l${row.delta ? '' : ' swb-faint'}`} />
      <td class="swb-l swb-from-l"><Spark values={row.spark} live={state === 'tuning'} /></td>
      <Cell text={row.failed ? count(row.failed) : '0'} name={`swb-from-l${row.failed ? ' swb-careful' : ' swb-faint'}`}
        title={failureWords(row.failures) || 'No failed candidates'} />
      <Cell text={STATES[state] ?? state} name={`swb-l swb-from-m swb-state is-${state.replace(' ', '-') || 'none'}`}
        title={(state === row.state && row.reason) || REASONS[state]} />
    </>
  );
}

/** Why the task is taken next, or not. */
function Outlook({ row, top }: { row: TaskRow; top: number }) {
  return (
    <>
      <Cell text={micro(row.gain)} name="swb-share">
        <ShareBar share={row.gain ?? null} top={top} />
        <span>{micro(row.gain)}</span>
      </Cell>
      <Cell text={count(row.trials)} name={`swb-from-l${row.trials ? '' : ' swb-faint'}`} />
      <Cell text={known(row.rounds, count(row.rounds))} name="swb-from-m" />
      {TERMS.map(([key]) => <Cell key={key} text={micro(row[key])} name={`swb-from-l${row[key] ? '' : ' swb-faint'}`} />)}
      <Cell text={known(row.more, count(row.more))} name={row.more ? 'swb-strong' : 'swb-faint'} />
      <td class={`swb-l swb-from-m swb-state swb-why-next is-${row.state.replace(' ', '-') || 'none'}`} title={row.reason}>{row.reason}</td>
    </>
  );
}

interface RowProps { row: TaskRow; state: string; top: number; peak: number | null; open: boolean; stop: boolean; next: boolean; onOpen: (id: number) => void }

const Row = memo<RowProps>(({ row, state, top, peak, open, stop, next, onOpen }) => (
  <tr data-task={row.id} tabIndex={stop ? 0 : -1} aria-selected={open} onClick={() => onOpen(row.id)}
    class={`swb-task${state === 'tuning' ? ' is-tuning' : ''}`}>
    <td class="swb-l swb-name" title={row.name}><Name name={row.name} /></td>
    <td class="swb-mut">{row.weight}</td>
    {next ? <Outlook row={row} top={top} /> : <Results {...{ row, top, state, peak }} />}
  </tr>
));

function Head({ columns, sort, onSort, onTip }: {
  columns: readonly Column[]; sort: Sort; onSort: (key: Sort['key']) => void; onTip: (text: string) => void;
}) {
  const row = useRef<HTMLTableRowElement>(null);
  const heading = (column: Column) => {
    const { key } = column;
    const sorted = sort.key === key;
    const name = `${column.left ? 'swb-l ' : ''}swb-from-${column.from}${key === 'name' || key === 'share' ? ` swb-${key}` : ''}`;
    const title = key === 'spark' ? column.title : `${column.title}. Click to sort.`;
    if (key === 'spark') return <th key={key} scope="col" class={name} title={title}>{column.text}</th>;
    const arrow = <i aria-hidden>{sort.down ? '↓' : '↑'}</i>;
    return (
      <th key={key} scope="col" class={name} title={title} aria-sort={sorted ? (sort.down ? 'descending' : 'ascending') : undefined}>
        <button tabIndex={sorted ? 0 : -1} aria-description={column.title} onClick={() => onSort(key)}
          onFocus={event => onTip(event.currentTarget.matches(':focus-visible') ? `${column.text}: ${column.title}.` : '')} onBlur={() => onTip('')}>
          {sorted && !column.left && arrow}{column.text}{sorted && column.left && arrow}
        </button>
      </th>
    );
  };
  // One tab stop; the arrows walk among the columns that are shown.
  return <thead><tr ref={row} onKeyDown={event => { if (row.current) walk(event, row.current, 'button'); }}>{columns.map(heading)}</tr></thead>;
}

/** Rows in order. While the pointer is over the table the order stands still, so that no row slips away under a click. */
function useOrder(rows: readonly TaskRow[], sort: Sort, held: boolean): TaskRow[] {
  const last = useRef<{ sort: Sort; ids: number[] } | null>(null);
  return useMemo(() => {
    const before = last.current;
    if (held && before?.sort === sort && before.ids.length === rows.length) {
      const byId = new Map(rows.map(row => [row.id, row]));
      const same = before.ids.flatMap(id => byId.get(id) ?? []);
      if (same.length === rows.length) return same;
    }
    const sorted = sortRows(rows, sort);
    last.current = { sort, ids: sorted.map(row => row.id) };
    return sorted;
  }, [rows, sort, held]);
}

function moveRow(event: KeyboardEvent, onEnter: (id: number) => void): void {
  const row = (event.target as Element).closest<HTMLTableRowElement>('tr[data-task]');
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = [...(row.parentElement?.children ?? [])] as HTMLTableRowElement[];
  const at = rows.indexOf(row);
  const page = 10;
  const to: Record<string, number> = {
    ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1, PageDown: at + page, PageUp: at - page
  };
  const next = to[event.key];
  if (next !== undefined) rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus();
  else if (event.key === 'Enter' || event.key === ' ') onEnter(Number(row.dataset.task));
  else return;
  event.preventDefault();
  event.stopPropagation();
}

const VIEWS = [[false, 'Results', 'What was found'], [true, 'Scheduler', 'Why which task gets the next trials']] as const;
const SCHEDULER = 'The task whose next round should save most goes next.';

function Total({ tasks, next, onNext }: { tasks: TasksSlice; next: boolean | null; onNext: (next: boolean) => void }) {
  const { est_ms: est, network, rows } = tasks;
  const { total_ms: total, untuned_ms: untuned } = { ...tasks, total_ms: network?.ms ?? tasks.total_ms, ...network };
  const guess = total == null && est != null;
  return (
    <header class="swb-tasks-head">
      <h3 class="swb-h3">Tasks <span class="swb-faint">{tasks.rows.length}</span></h3>
      {next !== null && (
        <div class="swb-switch swb-from-m" role="group" aria-label="What the table shows">
          {VIEWS.map(([one, text, title]) => (
            <button key={text} aria-pressed={one === next} title={title} onClick={() => onNext(one)}>{text}</button>
          ))}
        </div>
      )}
      <span class="swb-total" title={network ? `Measured; sum of kernels ${milliseconds(tasks.total_ms!)} ms. ${network.why_not}` : total == null && !guess ? 'Known once all tasks have a time' : `Calls × ${guess ? 'measured or estimated' : 'best'} time`}>
        <span class="swb-from-m">{network ? 'end to end ' : rows.length > 1 ? 'sum of kernels ' : ''}</span><b>{guess ? `≈ ${milliseconds(est)} ms` : total == null ? '–' : `${milliseconds(total)} ms`}</b>
        {guess && <span class="swb-faint"> est.</span>}
        {total != null && untuned != null && (
          <span class="swb-faint swb-from-m"> · was {milliseconds(untuned)} ms untuned{untuned > total && `, ${times(untuned, total)}`}</span>
        )}
      </span>
    </header>
  );
}

/** How many rows lie below what can be seen of the table. */
function useBelow(scroll: RefObject<HTMLDivElement>, rows: number): number {
  const [below, setBelow] = useState(0);
  useEffect(() => {
    const box = scroll.current;
    if (!box) return;
    const look = (): void => {
      const row = box.querySelector('tbody tr')?.clientHeight || 22;
      setBelow(Math.max(0, Math.round((box.scrollHeight - box.clientHeight - box.scrollTop) / row)));
    };
    const sizes = new ResizeObserver(look);
    sizes.observe(box);
    box.addEventListener('scroll', look, { passive: true });
    look();
    return () => { sizes.disconnect(); box.removeEventListener('scroll', look); };
  }, [rows]);
  return below;
}

/** Bring the open task into the scrolled part of the table, without moving the page. */
function useShown(open: number | null, order: string): RefObject<HTMLDivElement> {
  const scroll = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = scroll.current;
    const row = box?.querySelector<HTMLElement>('tr[aria-selected="true"]');
    if (!box || !row || box.scrollHeight <= box.clientHeight) return;
    const head = box.querySelector('thead')?.clientHeight ?? 0;
    const top = row.offsetTop - head;
    const bottom = row.offsetTop + row.offsetHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
  }, [open, order]);
  return scroll;
}

const first = (next: boolean): Sort => ({ key: next ? 'gain' : 'share', down: true });

export function TasksPanel({ store }: PanelProps) {
  const ui = useUi();
  const tasks = store.see('tasks');
  const open = store.see('head')?.task ?? null;
  const [wanted, setWanted] = useState(false);
  const expects = tasks?.rows.some(row => row.gain !== undefined) ?? false;
  const peak = store.see('meta')?.peak_gflops ?? null;
  const paused = store.see('tuning')?.state === 'paused';
  const next = wanted && expects;
  const [tip, setTip] = useState('');
  const [chosen, setSort] = useState<Sort | null>(null);
  const usual = useMemo(() => first(next), [next]);
  const columns = next ? OUTLOOK : COLUMNS;
  const sort = chosen && columns.some(column => column.key === chosen.key) ? chosen : usual;
  const [held, setHeld] = useState(false);
  const [focused, setFocused] = useState<number | null>(null);
  const rows = useOrder(tasks?.rows ?? [], sort, held);
  const scroll = useShown(open, rows.map(row => row.id).join());
  const below = useBelow(scroll, rows.length);
  const now = useRef(open);
  now.current = open;
  const onOpen = useCallback((task: number) => {
    // A second press goes on to the schedule of the task that the first one opened.
    if (task !== now.current) store.act('open_task', { task });
    else if (ui.tab.peek() === 'tuning') toNest(ui);
  }, [store]);
  const onEnter = (task: number): void => { if (task === open) toNest(ui); else onOpen(task); };
  const onSort = (key: Sort['key']): void => setSort({ key, down: sort.key === key ? !sort.down : firstDown(key) });
  if (!tasks || rows.length === 0) {
    return <Blank title="No tasks">Pass a model or a task to <code>Workbench</code> to see what takes the time.</Blank>;
  }
  const top = Math.max(0, ...rows.map(row => (next ? row.gain : shareOf(row)) ?? 0));
  const has = (id: number | null): boolean => rows.some(row => row.id === id);
  const stop = has(focused) ? focused : has(open) ? open : rows[0]?.id;
  const onFocus = (event: FocusEvent): void => {
    const row = (event.target as Element).closest<HTMLElement>('tr[data-task]');
    if (row) setFocused(Number(row.dataset.task));
  };
  return (
    <section class="swb-tasks" aria-label="Tasks">
      <Total tasks={tasks} next={expects ? next : null}
        onNext={one => { setWanted(one); setSort(null); }} />
      {(tip || next) && <p class="swb-tasks-tip">{tip || SCHEDULER}</p>}
      <div ref={scroll} class="swb-tasks-scroll">
        <table role="grid" aria-label="Tasks; Enter opens one, Enter again goes to its schedule" aria-rowcount={rows.length + 1}>
          <Head {...{ columns, sort, onSort }} onTip={setTip} />
          <tbody onKeyDown={event => moveRow(event, onEnter)} onFocusIn={onFocus}
            onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)}>
            {rows.map(row => <Row key={row.id} {...{ row, top, peak, next, onOpen }} state={paused && row.state === 'tuning' ? 'paused' : row.state} open={row.id === open} stop={row.id === stop} />)}
          </tbody>
        </table>
      </div>
      {below > 0 && <p class="swb-below" aria-hidden>↓ {plural(below, 'more task')} below</p>}
    </section>
  );
}
