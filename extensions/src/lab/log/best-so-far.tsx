/** The best so far over the trials, of a task or of all, and what the ledger says of the best. */
import type { VNode } from 'preact';
import { sureness, times } from '../../shared/format';
import { Chart } from './chart';
import { dots, taskCurve, totalCurve } from './curves';
import { text } from './fields';
import * as f from './format';
import type { Comparison } from './ledger';
import { SUM } from './overview';
import { champion, type Task } from './records';
import { Section } from './section';
import type { ViewProps } from './state';

export function BestSoFar({ state, select, choose }: Omit<ViewProps, 'showAll'>): VNode {
  const { log, selected, chosen } = state;
  const task = log.tasks.find(t => t.key === selected);
  const whole =
    log.measured.length === log.tasks.length
      ? text(log.header?.model)
        ? 'Whole model'
        : 'All tasks'
      : `The ${log.measured.length} tasks with a result`;
  const title = task ? task.name : whole;
  const curve = task ? taskCurve(task) : totalCurve(log);
  return (
    <Section title="Best so far" aside="ms, logarithmic">
      <label class="swbl-pick">
        <span>Task</span>
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
              <i class="swbl-key-best" /> best so far <i class="swbl-key-dot" /> one trial
              {task.failedAt.length > 0 && (
                <>
                  {' '}
                  <i class="swbl-key-cross">×</i> failed
                </>
              )}
            </>
          ) : (
            `${SUM} The curve starts where each of these tasks has a first result.`
          )}
          {curve.some(({ why }) => why) && '. Where the line rises, the best was measured again.'}
        </p>
      )}
    </Section>
  );
}

const SURE = { compared: '', again: '', once: ', timed once', disturbed: ', disturbed while it was timed' };

function Facts({ task }: { task: Task }): VNode | null {
  const { best, steps, comparisons, untuned: before } = task.ledger;
  if (!best) {
    return null;
  }
  const gain =
    champion(task)?.origin === 'default'
      ? ', the default schedule'
      : before === null
        ? ''
        : `; untuned ${f.ms(before)} ms, ${times(before, best.ms)}`;
  const last = comparisons.at(-1);
  const { reason } = steps.at(-1)!;
  return (
    <p class="swbl-facts">
      <span>
        Best: trial {best.trial}, {f.ms(best.ms)} ms{SURE[best.sure]}
        {gain}.
      </span>{' '}
      {reason && <span>Slower than before: {reason}.</span>}{' '}
      {last && (
        <span>
          {f.plural(comparisons.length, 'comparison')}, the last one: {verdict(last)}.
        </span>
      )}{' '}
      {task.quality !== null && <span>The model's rank correlation was {task.quality.toFixed(2)}.</span>}
    </p>
  );
}

/** The same sentence as in `workbench/tune/run/rounds.py`. */
function verdict({ trials: [incumbent, ...challengers], winner, ratio, confidence }: Comparison): string {
  const told = `trial ${challengers.join(', ')} against trial ${incumbent}`;
  if (ratio === null || confidence === null) {
    return winner === incumbent ? `${told}: trial ${winner} stays the best` : `${told}: ${winner} wins`;
  }
  const speed = times(1, ratio);
  if (winner !== incumbent) {
    return `${told}: ${winner} is ${speed}, ${sureness(confidence)}`;
  }
  return ratio < 1 && confidence < 0.99
    ? `${told}: undecided; the best of them seemed ${speed}, only ${sureness(confidence)}`
    : `${told}: lost; the best of them was ${speed}`;
}
