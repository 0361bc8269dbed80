/** Model, target, trials, time: the log in a few lines. */
import type { ComponentChildren, VNode } from 'preact';
import { times } from '../../shared/format';
import { number, text } from './fields';
import * as f from './format';
import { best } from './records';
import type { LogSummary } from './summary';

export const SUM = 'Sum over the tasks: how often a task occurs (×) times its best time.';

const COMPARED = 'Candidates timed in turns: only who wins such a comparison becomes the best.';

function compared(log: LogSummary): string {
  const won = log.tasks.reduce(
    (sum, task) => sum + task.ledger.comparisons.filter(one => one.winner !== one.trials[0]).length,
    0
  );
  return `${f.count(log.comparisons)}, ${won ? `${f.count(won)} with a new best` : 'none with a new best'}`;
}

export function Overview({ log }: { log: LogSummary }): VNode {
  const header = log.header ?? {};
  const where = text(header.target);
  const created = number(header.created) ?? log.firstTime;
  const complete = log.measured.length === log.tasks.length;
  const many = log.tasks.length > 1;
  const [before, after] = many
    ? [log.untuned, log.total]
    : log.tasks[0]
      ? [log.tasks[0].ledger.untuned, best(log.tasks[0])]
      : [null, null];
  const part = many && !complete ? ` for ${log.measured.length} of ${log.tasks.length} tasks` : '';
  const gain = before !== null && after !== null;
  const result = `${gain ? `${f.ms(before)} → ` : ''}${f.ms(after)} ms${part}${gain ? `, ${times(before, after)}` : ''}`;
  const items: [string, ComponentChildren][] = [
    ...(text(header.model)
      ? [['Model', <span title={text(header.model)}>{text(header.model)}</span>] as [string, ComponentChildren]]
      : []),
    ['Target', where ? <span title={where}>{f.target(where)}</span> : 'not given'],
    ['Trials', `${f.count(log.trials)}${log.failed ? `, ${f.count(log.failed)} failed` : ''}`],
    ...(log.comparisons
      ? [['Comparisons', <span title={COMPARED}>{compared(log)}</span>] as [string, ComponentChildren]]
      : []),
    ['Time', log.elapsed ? `${f.duration(log.elapsed)} of tuning` : f.UNKNOWN],
    ['Written', span(created, log.lastTime)],
    [
      many ? `Best, ${text(header.model) ? 'whole model' : 'all tasks'}` : 'Best',
      log.total === null ? (
        'no trial has a time yet'
      ) : (
        <span title={`${many ? SUM : ''}${gain ? ' Before the arrow: with the default schedule.' : ''}`.trim()}>
          {result}
        </span>
      )
    ]
  ];
  return (
    <dl class="swbl-summary" aria-label="Summary">
      {items.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function span(from: number | null, to: number | null): string {
  if (from === null) {
    return f.UNKNOWN;
  }
  if (to === null || f.day(from) === f.day(to)) {
    return f.day(from);
  }
  const end = f.day(to);
  return `${f.day(from)} to ${end.slice(0, 10) === f.day(from).slice(0, 10) ? end.slice(11) : end}`;
}
