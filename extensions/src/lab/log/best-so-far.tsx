/** The best so far over the trials, of a task or of all, and what the ledger says of the best. */
import type { VNode } from 'preact';
import { sureness, times } from '../../shared/format';
import { Chart } from './chart';
import { dots, taskCurve, totalCurve } from './curves';
import { text } from './fields';
import * as f from './format';
import type { Comparison } from './ledger';
import { sumWords } from './overview';
import { champion, type Task } from './records';
import { Section } from './section';
import type { ViewProps } from './state';
import { trans } from '../words';

export function BestSoFar({ state, select, choose }: Omit<ViewProps, 'showAll'>): VNode {
  const { log, selected, chosen } = state;
  const task = log.tasks.find(t => t.key === selected);
  const whole =
    log.measured.length === log.tasks.length
      ? text(log.header?.model)
        ? trans.__('Whole model')
        : trans.__('All tasks')
      : trans._n('The task with a result', 'The %1 tasks with a result', log.measured.length);
  const title = task ? task.name : whole;
  const curve = task ? taskCurve(task) : totalCurve(log);
  return (
    <Section title={trans.__('Best so far')} aside={trans.__('ms, logarithmic')}>
      <label class="swbl-pick">
        <span>{trans.__('Task')}</span>
        <select value={selected} onChange={event => select(event.currentTarget.value)}>
          {log.tasks.length !== 1 && <option value="">{whole}</option>}
          {log.tasks.map(t => (
            <option value={t.key}>{t.name}</option>
          ))}
        </select>
      </label>
      <Chart
        title={title}
        curve={curve}
        dots={task ? dots(task) : []}
        failedAt={task?.failedAt ?? []}
        trials={task ? task.trials : log.trials}
        chosen={log.all[chosen - 1]?.task === task ? log.all[chosen - 1]?.nth : 0}
        choose={nth => task && choose(task.all[nth - 1]!.at)}
      />
      {task && <Facts task={task} />}
      {curve.length > 0 && (
        <p class="swbl-legend">
          {task ? (
            <>
              <i class="swbl-key-best" /> {trans.__('best so far')} <i class="swbl-key-dot" /> {trans.__('one trial')}
              {task.failedAt.length > 0 && (
                <>
                  {' '}
                  <i class="swbl-key-cross">×</i> {trans.__('failed')}
                </>
              )}
            </>
          ) : (
            `${sumWords()} ${trans.__('The curve starts where each of these tasks has a first result.')}`
          )}
          {curve.some(({ why }) => why) && trans.__('. Where the line rises, the best was measured again.')}
        </p>
      )}
    </Section>
  );
}

const sure = (of: 'compared' | 'again' | 'once' | 'disturbed'): string =>
  of === 'once' ? trans.__(', timed once') : of === 'disturbed' ? trans.__(', disturbed while it was timed') : '';

function Facts({ task }: { task: Task }): VNode | null {
  const { best, steps, comparisons, untuned: before } = task.ledger;
  if (!best) {
    return null;
  }
  const gain =
    champion(task)?.origin === 'default'
      ? trans.__(', the default schedule')
      : before === null
        ? ''
        : trans.__('; untuned %1 ms, %2', f.ms(before), times(before, best.ms));
  const last = comparisons.at(-1);
  const { reason } = steps.at(-1)!;
  return (
    <p class="swbl-facts">
      <span>{trans.__('Best: trial %1, %2 ms%3%4.', best.trial, f.ms(best.ms), sure(best.sure), gain)}</span>{' '}
      {reason && <span>{trans.__('Slower than before: %1.', reason)}</span>}{' '}
      {last && (
        <span>
          {trans._n(
            '%2 comparison, the last one: %3.',
            '%2 comparisons, the last one: %3.',
            comparisons.length,
            f.count(comparisons.length),
            verdict(last)
          )}
        </span>
      )}{' '}
      {task.quality !== null && (
        <span>{trans.__("The model's rank correlation was %1.", task.quality.toFixed(2))}</span>
      )}
    </p>
  );
}

/** The same sentence as in `workbench/tune/run/rounds.py`. */
function verdict({ trials: [incumbent, ...challengers], winner, ratio, confidence }: Comparison): string {
  const told = trans.__('trial %1 against trial %2', challengers.join(', '), incumbent);
  if (ratio === null || confidence === null) {
    return winner === incumbent
      ? trans.__('%1: trial %2 stays the best', told, winner)
      : trans.__('%1: %2 wins', told, winner);
  }
  const speed = times(1, ratio);
  if (winner !== incumbent) {
    return trans.__('%1: %2 is %3, %4', told, winner, speed, sureness(confidence));
  }
  return ratio < 1 && confidence < 0.99
    ? trans.__('%1: undecided; the best of them seemed %2, only %3', told, speed, sureness(confidence))
    : trans.__('%1: lost; the best of them was %2', told, speed);
}
