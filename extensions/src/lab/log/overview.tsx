/** Model, target, trials, time: the log in a few lines. */
import type { ComponentChildren, VNode } from 'preact';
import { change, spread, times } from '../../shared/format';
import { number, text } from './fields';
import * as f from './format';
import { best, type NetworkTime } from './records';
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
  const gain = before !== null && after !== null && !log.network; // that is the result then, and says the untuned time
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
    ...(log.network
      ? [
          [trans.__('End to end, measured'), <EndToEnd of={log.network} trials={log.trials} />] as [
            string,
            ComponentChildren
          ]
        ]
      : []),
    [
      log.network
        ? trans.__('Kernels alone')
        : many
          ? trans._n('Best, of %2 kernel', 'Best, sum of %2 kernels', log.kernels, f.count(log.kernels))
          : trans.__('Best'),
      log.total === null ? (
        trans.__('no trial has a time yet')
      ) : (
        <span
          class={log.network && 'swbl-quiet'}
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

/** A time with its spread, where that is known. */
const around = (ms: number, noise: number | null): string =>
  noise === null ? f.ms(ms) : `${f.ms(ms)} ${spread(noise, ms)}`;

function EndToEnd({ of, trials }: { of: NetworkTime; trials: number }): VNode {
  const { ms, spread: noise, untuned, untunedSpread, clean, trials: at } = of;
  const found = `${around(untuned, untunedSpread)} → ${around(ms, noise)} ms, ${change(untuned, ms, [untunedSpread, noise])}`;
  const when =
    at < trials
      ? trans.__('measured at trial %1 of %2', f.count(at), f.count(trials))
      : trans.__('measured at trial %1', f.count(at));
  const words = at ? `${found}, ${when}` : found;
  return (
    <span title={trans.__('The whole network, before the arrow with default schedules; both ran in turns.')}>
      {clean ? words : trans.__('%1 (disturbed)', words)}
    </span>
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
