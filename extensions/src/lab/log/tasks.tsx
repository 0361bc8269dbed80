import { useRef } from 'preact/hooks';
import type { VNode } from 'preact';
import * as f from './format';
import { LogSummary, Task, best, cost } from './summary';

/** Rows drawn before "show all" is pressed. */
const ROWS = 200;

export interface TaskTableProps {
  log: LogSummary;
  selected: string;
  select: (key: string) => void;
  all: boolean;
  showAll: () => void;
}

/**
 * Tasks, those that cost most first; the ones without a result come last. While the reader is in the table (scrolled, or
 * with the keyboard), a log that grows does not move the rows.
 */
export function TaskTable({ log, selected, select, all, showAll }: TaskTableProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const order = useRef(new Map<string, number>());
  const tasks = [...log.tasks];
  if (box.current && (box.current.scrollTop > 0 || box.current.contains(document.activeElement))) {
    const place = (task: Task): number => order.current.get(task.key) ?? tasks.length;
    tasks.sort((a, b) => place(a) - place(b));
  } else {
    tasks.sort((a, b) => cost(b) - cost(a) || b.trials - a.trials);
  }
  order.current = new Map(tasks.map((task, i) => [task.key, i]));
  const shown = all ? tasks : tasks.slice(0, ROWS);
  const total = log.total ?? 0;
  return (
    <div ref={box} class="swbl-scroll" tabIndex={0} role="region" aria-label="Table of tasks">
      <table class="swbl-table">
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col" class="swbl-num" title="How often the task occurs in the model">×</th>
            <th scope="col" class="swbl-num">Trials</th>
            <th scope="col" class="swbl-num">Best ms</th>
            <th scope="col" class="swbl-num" title="Counts the operator's FLOPs; a schedule that needs fewer, like Winograd's, may be above the peak">GFLOP/s</th>
            <th scope="col" class="swbl-num" title="× times best, of the sum over all tasks with a result">Share</th>
            {log.failed > 0 && <th scope="col" class="swbl-num">Failed</th>}
          </tr>
        </thead>
        <tbody class="swbl-rows" onKeyDown={move}>
          {shown.map(task => <Row key={task.key} task={task} total={total} failed={log.failed > 0} on={task.key === selected} select={select} />)}
        </tbody>
      </table>
      {shown.length < tasks.length && (
        <button class="swbl-button" onClick={showAll}>Show all {f.count(tasks.length)} tasks</button>
      )}
    </div>
  );
}

function Row({ task, total, failed, on, select }: { task: Task; total: number; failed: boolean; on: boolean; select: (key: string) => void }): VNode {
  const share = total ? cost(task) / total : 0;
  const ms = best(task);
  const kinds = [...task.failures];
  const toggle = (): void => select(on ? '' : task.key);
  return (
    <tr class={on ? 'swbl-on' : ''} onClick={toggle}>
      <th scope="row">
        <button
          class="swbl-task"
          aria-pressed={on}
          title={task.name}
          onClick={event => { event.stopPropagation(); toggle(); }}
        >
          {task.name}
        </button>
      </th>
      <td class="swbl-num">{task.weight ?? f.UNKNOWN}</td>
      <td class="swbl-num">{f.count(task.trials)}</td>
      <td class="swbl-num swbl-strong">{f.ms(ms)}</td>
      <td class="swbl-num">{f.gflops(task.flops, ms)}</td>
      <td class="swbl-num swbl-share">
        {ms === null ? f.UNKNOWN : <><i style={{ width: `${Math.round(36 * share)}px` }} />{f.percent(share)}</>}
      </td>
      {failed && <td class="swbl-num" title={kinds.map(([kind, n]) => `${f.count(n)} ${f.outcome(kind, n)}`).join(', ')}>
        {f.count(kinds.reduce((sum, [, n]) => sum + n, 0))}
      </td>}
    </tr>
  );
}

/** Arrow keys go from row to row. */
export function move(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) {
    return;
  }
  const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLButtonElement>('.swbl-task')];
  const at = buttons.indexOf(event.target as HTMLButtonElement);
  if (at >= 0) {
    event.preventDefault();
    buttons[at + step]?.focus();
  }
}
