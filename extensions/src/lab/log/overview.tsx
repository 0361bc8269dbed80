/** Model, target, trials, time: the log in a few lines. */
import type { ComponentChildren, VNode } from 'preact';
import { times } from '../../shared/format';
import { number, text } from './fields';
import * as f from './format';
import { best } from './records';
import type { LogSummary } from './summary';
import { trans } from '../words';

export const sumWords = (): string => trans.__('Sum over the tasks: how often a task occurs (×) times its best time.');

const comparedWords = (): string =>
  trans.__('Candidates timed in turns: only who wins such a comparison becomes the best.');

function compared(log: LogSummary): string {
  const won = log.tasks.reduce(
    (sum, task) => sum + task.ledger.comparisons.filter(one => one.winner !== one.trials[0]).length,
    0
  );
  return won
    ? trans.__('%1, %2 with a new best', f.count(log.comparisons), f.count(won))
    : trans.__('%1, none with a new best', f.count(log.comparisons));
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
  const part = many && !complete ? ` ${trans.__('for %1 of %2 tasks', log.measured.length, log.tasks.length)}` : '';
  const gain = before !== null && after !== null;
  const result = `${gain ? `${f.ms(before)} → ` : ''}${f.ms(after)} ms${part}${gain ? `, ${times(before, after)}` : ''}`;
  const items: [string, ComponentChildren][] = [
    ...(text(header.model)
      ? [
          [trans.__('Model'), <span title={text(header.model)}>{text(header.model)}</span>] as [
            string,
            ComponentChildren
          ]
        ]
      : []),
    [trans.__('Target'), where ? <span title={where}>{f.target(where)}</span> : trans.__('not given')],
    [
      trans.__('Trials'),
      log.failed ? trans.__('%1, %2 failed', f.count(log.trials), f.count(log.failed)) : f.count(log.trials)
    ],
    ...(log.comparisons
      ? [[trans.__('Comparisons'), <span title={comparedWords()}>{compared(log)}</span>] as [string, ComponentChildren]]
      : []),
    [trans.__('Time'), log.elapsed ? trans.__('%1 of tuning', f.duration(log.elapsed)) : f.UNKNOWN],
    [trans.__('Written'), span(created, log.lastTime)],
    [
      !many ? trans.__('Best') : text(header.model) ? trans.__('Best, whole model') : trans.__('Best, all tasks'),
      log.total === null ? (
        trans.__('no trial has a time yet')
      ) : (
        <span
          title={[many && sumWords(), gain && trans.__('Before the arrow: with the default schedule.')]
            .filter(Boolean)
            .join(' ')}
        >
          {result}
        </span>
      )
    ]
  ];
  return (
    <dl class="swbl-summary" aria-label={trans.__('Summary')}>
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
  const until = end.slice(0, 10) === f.day(from).slice(0, 10) ? end.slice(11) : end;
  return trans.__('%1 to %2', f.day(from), until);
}
