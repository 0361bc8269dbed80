// The tasks of a model in one table that is updated in place: a row keeps its element, a changed cell lights up
// briefly.

import type { RefObject } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button, walk } from '../elements/controls';
import { Switch } from '../elements/switch';
import { Blank } from '../elements/blank';
import { milliseconds, plural, spread, times } from '../../shared/format';
import {
  COLUMNS,
  FEW,
  firstDown,
  OUTLOOK,
  peakOf,
  shareOf,
  sortRows,
  type Column,
  type Sort
} from '../tuning/task-columns';
import type { TaskRow, TasksSlice } from '../../shared/types';
import { toNest } from '../shell/keys';
import type { Panel, PanelProps } from '../panel';
import { more } from '../shell/more';
import { useUi } from '../shell/ui';
import { Row } from '../tuning/task-row';

function Head({
  columns,
  sort,
  onSort,
  onTip
}: {
  columns: readonly Column[];
  sort: Sort;
  onSort: (key: Sort['key']) => void;
  onTip: (text: string) => void;
}) {
  const row = useRef<HTMLTableRowElement>(null);
  const heading = (column: Column) => {
    const { key } = column;
    const sorted = sort.key === key;
    const name = `${column.left ? 'swb-l ' : ''}swb-from-${column.from}${key === 'name' || key === 'share' ? ` swb-${key}` : ''}`;
    const title = key === 'spark' ? column.title : `${column.title}. Click to sort.`;
    if (key === 'spark')
      return (
        <th key={key} scope="col" class={name} title={title}>
          {column.text}
        </th>
      );
    const arrow = <i aria-hidden>{sort.down ? '↓' : '↑'}</i>;
    return (
      <th
        key={key}
        scope="col"
        class={name}
        title={title}
        aria-sort={sorted ? (sort.down ? 'descending' : 'ascending') : undefined}
      >
        <button
          tabIndex={sorted ? 0 : -1}
          aria-description={column.title}
          onClick={() => onSort(key)}
          onFocus={event =>
            onTip(event.currentTarget.matches(':focus-visible') ? `${column.text}: ${column.title}.` : '')
          }
          onBlur={() => onTip('')}
        >
          {sorted && !column.left && arrow}
          {column.text}
          {sorted && column.left && arrow}
        </button>
      </th>
    );
  };
  // One tab stop; the arrows walk among the columns that are shown.
  return (
    <thead>
      <tr
        ref={row}
        onKeyDown={event => {
          if (row.current) walk(event, row.current, 'button');
        }}
      >
        {columns.map(heading)}
      </tr>
    </thead>
  );
}

/**
 * Rows in order. While the pointer is over the table the order stands still, so that no row slips away under a click.
 */
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
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    Home: 0,
    End: rows.length - 1,
    PageDown: at + page,
    PageUp: at - page
  };
  const next = to[event.key];
  if (next !== undefined) rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus();
  else if (event.key === 'Enter' || event.key === ' ') onEnter(Number(row.dataset.task));
  else return;
  event.preventDefault();
  event.stopPropagation();
}

const VIEWS = [
  [false, 'Results', 'What was found'],
  [true, 'Scheduler', 'Why which task gets the next trials']
] as const;
const SCHEDULER = 'The task whose next round should save most goes next.';

function Total({ tasks, next, onNext }: { tasks: TasksSlice; next: boolean | null; onNext: (next: boolean) => void }) {
  const { est_ms: est, network, rows } = tasks;
  const { total_ms: total, untuned_ms: untuned } = { ...tasks, total_ms: network?.ms ?? tasks.total_ms, ...network };
  const guess = total == null && est != null;
  const change = network
    ? network.change
    : total != null && untuned != null && untuned > total && times(untuned, total);
  return (
    <header class="swb-tasks-head">
      <h3 class="swb-h3">
        Tasks <span class="swb-faint">{tasks.rows.length}</span>
      </h3>
      {next !== null && (
        <Switch class="swb-from-m" label="What the table shows" values={VIEWS} value={next} onPick={onNext} />
      )}
      <span
        class="swb-total"
        title={
          network
            ? `${network.at || 'measured'}; kernels alone ${milliseconds(tasks.total_ms)} ms. ${network.why_not}`
            : total == null && !guess
              ? 'Known once all tasks have a time'
              : `Calls × ${guess ? 'measured or estimated' : 'best'} time`
        }
      >
        <span class="swb-from-m">{network ? 'end to end ' : rows.length > 1 ? `${tasks.covers} ` : ''}</span>
        <b>{guess ? `≈ ${milliseconds(est)} ms` : total == null ? '–' : `${milliseconds(total)} ms`}</b>
        {guess && <span class="swb-faint"> est.</span>}
        {network?.spread != null && <span class="swb-faint"> {spread(network.spread, network.ms)}</span>}
        {total != null && untuned != null && (
          <span class="swb-faint swb-from-m">
            {' · was '}
            {milliseconds(untuned)} ms{' '}
            {network?.untuned_spread != null && `${spread(network.untuned_spread, untuned)} `}
            untuned{change && `, ${change}`}
          </span>
        )}
      </span>
      {network?.at && <span class="swb-faint swb-from-m">{network.at}</span>}
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
    if (box.firstElementChild) sizes.observe(box.firstElementChild);
    box.addEventListener('scroll', look, { passive: true });
    look();
    return () => {
      sizes.disconnect();
      box.removeEventListener('scroll', look);
    };
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

/** Tasks up to which the table needs no scrolling of its own. */
const MANY = 12;

/** What lies below what can be seen of many tasks, and the button that shows all of them at once. */
interface BelowProps {
  below: number;
  tasks: number;
  whole: boolean;
  onWhole: () => void;
}
function Below({ below, tasks, whole, onWhole }: BelowProps) {
  if (!whole && below === 0) return null;
  return (
    <p class={whole ? '' : 'swb-below'}>
      {!whole && <span aria-hidden>↓ {plural(below, 'more task')} below · </span>}
      <Button class="swb-link" data-swb-do="all-tasks" aria-expanded={whole} onPress={onWhole}>
        {whole ? 'Show fewer' : `Show all ${tasks}`}
      </Button>
    </p>
  );
}

const first = (next: boolean): Sort => ({ key: next ? 'gain' : 'share', down: true });

function View({ store }: PanelProps) {
  const ui = useUi();
  const tasks = store.see('tasks');
  const open = store.see('head')?.task ?? null;
  const [wanted, setWanted] = useState(false);
  const all = more.value;
  const expects = all && (tasks?.rows.some(row => row.gain !== undefined) ?? false);
  const meta = store.see('meta');
  const paused = store.see('tuning')?.state === 'paused';
  const next = wanted && expects;
  const [tip, setTip] = useState('');
  const [chosen, setSort] = useState<Sort | null>(null);
  const usual = useMemo(() => first(next), [next]);
  const columns = next ? OUTLOOK : all ? COLUMNS : FEW;
  const sort = chosen && columns.some(column => column.key === chosen.key) ? chosen : usual;
  const [held, setHeld] = useState(false);
  const [focused, setFocused] = useState<number | null>(null);
  const rows = useOrder(tasks?.rows ?? [], sort, held);
  const scroll = useShown(open, rows.map(row => row.id).join());
  const below = useBelow(scroll, rows.length);
  const [whole, setWhole] = useState(false);
  const now = useRef(open);
  now.current = open;
  const onOpen = useCallback(
    (task: number) => {
      // A second press goes on to the schedule of the task that the first one opened.
      if (task !== now.current) store.act('open_task', { task });
      else if (ui.tab.peek() === 'tuning') toNest(ui);
    },
    [store]
  );
  const onEnter = (task: number): void => {
    if (task === open) toNest(ui);
    else onOpen(task);
  };
  const onSort = (key: Sort['key']): void => setSort({ key, down: sort.key === key ? !sort.down : firstDown(key) });
  if (!tasks || rows.length === 0) {
    return (
      <Blank title="No tasks">
        Pass a model or a task to <code>Workbench</code> to see what takes the time.
      </Blank>
    );
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
      <Total
        tasks={tasks}
        next={expects ? next : null}
        onNext={one => {
          setWanted(one);
          setSort(null);
        }}
      />
      {(tip || next) && <p class="swb-tasks-tip">{tip || SCHEDULER}</p>}
      <div
        ref={scroll}
        class={`swb-tasks-scroll${rows.length > MANY ? ' is-many' : ''}`}
        style={whole ? { maxHeight: 'none' } : undefined}
      >
        <table
          role="grid"
          aria-label="Tasks; Enter opens one, Enter again goes to its schedule"
          aria-rowcount={rows.length + 1}
        >
          <Head {...{ columns, sort, onSort }} onTip={setTip} />
          <tbody
            onKeyDown={event => moveRow(event, onEnter)}
            onFocusIn={onFocus}
            onPointerEnter={() => setHeld(true)}
            onPointerLeave={() => setHeld(false)}
          >
            {rows.map(row => (
              <Row
                key={row.id}
                {...{ row, top, next, all, onOpen }}
                peak={peakOf(meta, row.product)}
                state={paused && row.state === 'tuning' ? 'paused' : row.state}
                open={row.id === open}
                stop={row.id === stop}
              />
            ))}
          </tbody>
        </table>
      </div>
      <Below {...{ below, whole }} tasks={rows.length} onWhole={() => setWhole(!whole)} />
    </section>
  );
}

export default { name: 'tasks', title: 'Tasks', at: ['left', 'results'], View } satisfies Panel;
