/** The tasks of the log, with the best of each. */
import { useRef } from 'preact/hooks';
import type { VNode } from 'preact';
import * as f from './format';
import { best, cost, type Task } from './records';
import { Section } from './section';
import type { ViewProps } from './state';
import type { LogSummary } from './summary';
import { Choice, ChoiceButton, Choices, Table, type Column } from './table';
import { trans } from '../words';

/** Rows drawn before "show all" is pressed. */
const ROWS = 200;
const columns = (): readonly Column[] => [
  { name: trans.__('Task') },
  { name: '×', number: true, title: trans.__('How often the task occurs in the model') },
  { name: trans.__('Trials'), number: true },
  { name: trans.__('Best ms'), number: true },
  {
    name: 'GFLOP/s',
    number: true,
    title: trans.__("Counts the operator's FLOPs; a schedule that needs fewer, like Winograd's, may be above the peak")
  },
  { name: trans.__('Share'), number: true, title: trans.__('× times best, of the sum over all tasks with a result') }
];
const failedColumn = (): Column => ({ name: trans.__('Failed'), number: true });

export function Tasks(props: ViewProps): VNode {
  return (
    <Section title={trans.__('Tasks')} aside={missing(props.state.log)}>
      <TaskTable {...props} />
    </Section>
  );
}

function missing(log: LogSummary): string {
  const without = log.tasks.length - log.measured.length;
  const n = log.tasks.length;
  return without
    ? trans._n('%2 of %3 task without a result', '%2 of %3 tasks without a result', n, f.count(without), f.count(n))
    : trans._n('%2 task', '%2 tasks', n, f.count(n));
}

/**
 * Tasks, those that cost most first; the ones without a result come last. While the reader is in the table (scrolled,
 * or with the keyboard), a log that grows does not move the rows.
 */
function TaskTable({ state, select, showAll }: ViewProps): VNode {
  const { log, selected } = state;
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
  const shown = state.allTasks ? tasks : tasks.slice(0, ROWS);
  const total = log.total ?? 0;
  return (
    <>
      <Table
        label={trans.__('Table of tasks')}
        columns={log.failed ? [...columns(), failedColumn()] : columns()}
        box={box}
      >
        <Choices>
          {shown.map(task => (
            <Row
              key={task.key}
              task={task}
              total={total}
              failed={log.failed > 0}
              on={task.key === selected}
              select={select}
            />
          ))}
        </Choices>
      </Table>
      {shown.length < tasks.length && (
        <button class="swbl-button" onClick={showAll}>
          {trans.__('Show all %1 tasks', f.count(tasks.length))}
        </button>
      )}
    </>
  );
}

function Row({
  task,
  total,
  failed,
  on,
  select
}: {
  task: Task;
  total: number;
  failed: boolean;
  on: boolean;
  select: (key: string) => void;
}): VNode {
  const share = total ? cost(task) / total : 0;
  const ms = best(task);
  const kinds = [...task.failures];
  const toggle = (): void => select(on ? '' : task.key);
  return (
    <Choice on={on} toggle={toggle}>
      <th scope="row">
        <ChoiceButton on={on} toggle={toggle} title={task.name}>
          {task.name}
        </ChoiceButton>
      </th>
      <td class="swbl-num">{task.weight ?? f.UNKNOWN}</td>
      <td class="swbl-num">{f.count(task.trials)}</td>
      <td class="swbl-num swbl-strong">{f.ms(ms)}</td>
      <td class="swbl-num">{f.gflops(task.flops, ms)}</td>
      <td class="swbl-num swbl-share">
        {ms === null ? (
          f.UNKNOWN
        ) : (
          <>
            <i style={{ width: `${Math.round(36 * share)}px` }} />
            {f.percent(share)}
          </>
        )}
      </td>
      {failed && (
        <td class="swbl-num" title={kinds.map(([kind, n]) => `${f.count(n)} ${f.outcome(kind, n)}`).join(', ')}>
          {f.count(kinds.reduce((sum, [, n]) => sum + n, 0))}
        </td>
      )}
    </Choice>
  );
}
