// The run in few words: what it does now, how far it is, the best so far, when it ends.

import type { ComponentChildren } from 'preact';
import { Explained } from '../elements/controls';
import { Term } from '../elements/term';
import { count, duration, milliseconds, plural, spread, times } from '../../shared/format';
import type { SteeringSlice, TasksSlice, TuningSlice } from '../../shared/types';
import type { Store } from '../kernel/store';
import { more } from '../shell/more';
import { Expects } from './run-facts';
import { isClosing, trialsOf } from './run-states';

function now(tuning: TuningSlice, next: SteeringSlice['next']): ComponentChildren {
  const { state, trials } = tuning;
  if (state === 'paused') return <>Nothing: it is on hold{next && ` with ${next.name}`}</>;
  if (state === 'stopping') return 'It finishes what has begun; a network is timed as it is now, which Cancel ends';
  if (state !== 'running')
    return (
      <>
        Nothing.{' '}
        {!tuning.off && (
          <>
            <i>Start</i> lets the tuner try <Term of="Schedule">schedules</Term> in the background
          </>
        )}
      </>
    );
  if (isClosing(tuning)) return 'It is comparing the fastest of each task, in turns';
  if (!tuning.rate)
    return trials ? (
      <>
        It trains the <Term of="Cost model">model</Term> and chooses what to try next
      </>
    ) : (
      <>
        It makes the first <Term of="Candidate">candidates</Term>
      </>
    );
  return (
    <>
      It tries <Term of="Schedule">schedules</Term>
      {next && ` of ${next.name}`}
      {more.value && next ? (
        <>
          : {next.reason}
          <Expects {...next} />
        </>
      ) : (
        ': each is compiled, checked and timed'
      )}
    </>
  );
}

function far(tuning: TuningSlice): ComponentChildren {
  const { state, elapsed_s: used, failed, rate } = tuning;
  return (
    <>
      <Term of="Trial">{trialsOf(tuning)}</Term>
      {state === 'none' || state === 'idle' ? ' in the log, which a run goes on with' : ''}
      {!!used && ` · ${duration(used)} used`}
      {more.value && state === 'running' && rate && ` · ${rate.toFixed(rate < 10 ? 1 : 0)} trials/s`}
      {failed > 0 && (
        <>
          {' · '}
          <Explained says="They did not compile, gave a wrong answer or took too long; by kind in the task table">
            {count(failed)} failed
          </Explained>
        </>
      )}
    </>
  );
}

/** The best time of the network, or of the one task; how many tasks have a time while not all have. */
function best({ rows, total_ms: sum, untuned_ms: untuned, network, covers }: TasksSlice): ComponentChildren {
  const timed = rows.filter(row => row.ms != null).length;
  const ms = network?.ms ?? sum;
  if (timed === 0) return 'nothing was timed yet';
  if (ms == null)
    return (
      <>
        {count(timed)} of {count(rows.length)} <Term of="Task">tasks</Term> have a time
      </>
    );
  return (
    <>
      <b>{milliseconds(ms)} ms</b>
      {network?.spread != null && ` ${spread(network.spread, ms)}`}
      {network ? `, end to end, ${network.at || 'measured'}` : rows.length > 1 && `, ${covers}`}
      {network
        ? `; untuned ${milliseconds(network.untuned_ms)} ms: ${network.change}`
        : untuned != null && untuned > ms && `, ${times(untuned, ms)} as without tuning`}
    </>
  );
}

function end({ state, total, eta_s: eta }: TuningSlice): string {
  if (state === 'paused') return 'not before it is resumed';
  if (state !== 'running') return '';
  return `${total == null ? 'when the time is used up' : `after ${plural(total, 'trial')}`}${eta ? `, in about ${duration(eta)}` : ''}`;
}

export function PlainWords({ store, tuning }: { store: Store; tuning: TuningSlice }) {
  const tasks = store.see('tasks');
  const until = end(tuning);
  return (
    <dl class="swb-facts" data-swb-plain>
      <dt>Now</dt>
      <dd>{now(tuning, store.see('steering')?.next ?? null)}</dd>
      {tuning.trials > 0 && (
        <>
          <dt>How far</dt>
          <dd>{far(tuning)}</dd>
          <dt>Best so far</dt>
          <dd>{tasks && best(tasks)}</dd>
        </>
      )}
      {until && (
        <>
          <dt>Ends</dt>
          <dd>{until}</dd>
        </>
      )}
    </dl>
  );
}
