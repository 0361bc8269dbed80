// What a run knows: why a task is tuned now, who is the best of the open one and how sure that is, how good the model
// is.

import type { ComponentChildren } from 'preact';
import { Button, Explained } from '../elements/controls';
import { count, duration, micro, milliseconds, percent, plural, spread, sureness } from '../../shared/format';
import { outcome } from '../../shared/outcome';
import { TERMS, type Term } from './task-columns';
import type { SteeringSlice, TaskRow, TuningSlice } from '../../shared/types';
import { toNest } from '../shell/keys';
import type { Store } from '../kernel/store';
import { useUi } from '../shell/ui';

const Row = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

/** Whether an expectation in milliseconds is more than nothing. */
const worth = (ms: number | null | undefined): ms is number => ms != null && ms >= 1e-5;

const GAIN =
  'What one more round should save of the end-to-end time; in brackets, the parts of one call that this comes from';

/** What the scheduler expects, and what that comes from. */
export function Expects(terms: Partial<Record<Term, number | null>>) {
  if (!worth(terms.gain)) return null;
  const parts = TERMS.flatMap(([term, words]) => (worth(terms[term]) ? [`${micro(terms[term])} ${words}`] : []));
  return (
    <span class="swb-faint">
      {' · '}
      <Explained says={GAIN}>expects {micro(terms.gain)} µs per round</Explained>
      {parts.length > 0 && ` (${parts.join(', ')})`}
    </span>
  );
}

/** How much of the rest of the run the task is likely to get. */
function Share({ more, tuning }: { more: number; tuning: TuningSlice }) {
  const left = tuning.total == null ? 0 : Math.max(0, tuning.total - tuning.trials);
  if (tuning.total != null && left === 0) return null;
  const some = left
    ? `about ${count(more)} of the ${plural(left, 'trial')} left`
    : `about ${plural(more, 'more trial')}`;
  return (
    <>
      {' · '}
      <Explained says="If trials go on to pay as they do now">{more > 0 ? some : 'probably no more trials'}</Explained>
      {more > 0 && tuning.rate ? `, ${duration(more / tuning.rate)}` : ''}
    </>
  );
}

/** How far the first round has come: every task has its first trials before any has its second ones. */
function FirstRound({ rows, left }: { rows: readonly TaskRow[]; left: number | null }) {
  const tuned = rows.filter(row => row.state !== 'skipped');
  const fresh = tuned.filter(row => row.state === 'waiting').length;
  if (fresh === 0 || tuned.length < 2) return null;
  return (
    <Row name="First round">
      {count(tuned.length - fresh)} of {plural(tuned.length, 'task')} tried
      <span class="swb-faint">
        {' · each gets its first trials before any gets more, the largest computation first'}
        {left === 0 && '; the budget has not reached the others'}
      </span>
    </Row>
  );
}

type Failure = NonNullable<SteeringSlice['task']>['failures'][number];

export function Facts({ store, needs, live }: { store: Store; needs: string; live: boolean }) {
  const ui = useUi();
  const steering = store.see('steering');
  const tuning = store.see('tuning');
  const head = store.see('head');
  const row = store.see('tasks')?.rows.find(one => one.id === head?.task);
  const task = steering?.task;
  const open = (trial: number): void => {
    store.act('open_trial', { trial, task: head?.task ?? null }, () => toNest(ui));
  };
  const link = (
    trial: number,
    text: string,
    title = "Shows this trial's schedule, to go on with it by hand; you can go back"
  ) => (
    <Button class="swb-link" reason={needs} title={title} data-swb-trial={trial} onPress={() => open(trial)}>
      {text}
    </Button>
  );
  const failure = ({ kind, count: n, trial, error, opens }: Failure, i: number) => {
    const words = `${count(n)} ${outcome(kind, n)}`;
    const title = `The newest is trial ${trial}: ${error}`;
    return (
      <span key={kind}>
        {i > 0 && ', '}
        {opens ? link(trial, words, title) : <span title={title}>{words}</span>}
      </span>
    );
  };
  const rows = store.see('tasks')?.rows ?? [];
  const left = tuning?.total == null ? null : Math.max(0, tuning.total - tuning.trials);
  if (!steering || !tuning || (!task && !rows.length)) return null;
  const last = task?.last;
  const { next } = steering;
  const its = live && row?.gain !== undefined && !task?.resting;
  return (
    <dl class="swb-facts">
      {(live || left === 0) && <FirstRound rows={rows} left={live ? null : left} />}
      {task && task.trial != null && (
        <Row name={row?.ms === task.ms ? 'Best' : 'Best of the log'}>
          {link(task.trial, `trial ${task.trial}`)} {milliseconds(task.ms)} ms {spread(task.spread, task.ms)}
          {task.since != null && ` · the best since a comparison after ${count(task.since)} trials`}
          {task.run?.trial != null && (
            <span>
              {' · best of this run: '}
              {link(task.run.trial, `trial ${task.run.trial}`)} {milliseconds(task.run.ms)}
              {' ms, '}
              <Explained says="It was timed with other things in the caches: the two cannot be compared">
                timed otherwise
              </Explained>
            </span>
          )}
          {row?.confidence != null && (
            <>
              {' · '}
              <Explained
                says={`That it is faster than the one before, by their comparison: ${percent(row.confidence)}`}
              >
                {row.confidence < 0.9 ? 'not sure yet' : sureness(row.confidence)}
              </Explained>
            </>
          )}
          {task.chosen && (
            <span>
              {' · '}
              <b class="swb-mono">{task.chosen}</b>
            </span>
          )}
          {task.origin && !task.chosen && <span class="swb-faint"> · {task.origin}</span>}
          {task.resting && <span class="swb-faint"> · rests</span>}
          {live && task.waiting > 0 && <span> · {plural(task.waiting, 'candidate')} by hand to be measured next</span>}
        </Row>
      )}
      {task && task.failures.length > 0 && <Row name="Failed">{task.failures.map(failure)}</Row>}
      {task && last && (
        <Row name="Comparisons">
          {plural(task.compared, 'comparison')}, {task.won}
          {' with a new best · '}
          <span class={last.won ? 'swb-won' : ''}>{last.text}</span>
          <span class="swb-facts-open">
            {' · open '}
            {last.trials.map((trial, i) => (
              <span key={trial}>
                {i > 0 && ', '}
                {link(trial, String(trial))}
              </span>
            ))}
          </span>
        </Row>
      )}
      {task && task.quality != null && (
        <Row name="Model">
          <Explained says="Spearman's rank correlation of predicted and measured speed, in its last rounds: 1 is the right order, 0 is guessing">
            rank correlation {task.quality.toFixed(2)}
          </Explained>
          <span class="swb-faint"> · how well the model of speed orders candidates before they are measured</span>
        </Row>
      )}
      {its && task?.reason && (
        <Row name="Its turn">
          <span class="swb-mut">{task.reason}</span>
          {next?.name !== head?.name && <Expects {...row} />}
          {row.more != null && <Share more={row.more} tuning={tuning} />}
        </Row>
      )}
    </dl>
  );
}
