import type { VNode } from 'preact';
import { sureness, times } from '../../shared/format';
import * as f from './format';
import type { Comparison } from './ledger';
import { Failure, LogSummary, Message, Task, champion } from './summary';

/** Different messages of a kind that are shown, the most frequent first. */
const MESSAGES = 8;

/** Failures by kind; the full text of the errors opens below each. */
export function FailureList({ log }: { log: LogSummary }): VNode {
  if (!log.failed) {
    return <p class="swbl-quiet">{log.trials ? 'No trial failed.' : 'No trials yet.'}</p>;
  }
  const kinds = [...log.failures.values()].sort((a, b) => b.count - a.count);
  return <div class="swbl-failures">{kinds.map(kind => <Kind key={kind.status} kind={kind} trials={log.trials} />)}</div>;
}

function Kind({ kind, trials }: { kind: Failure; trials: number }): VNode {
  const messages = [...kind.messages.values()].sort((a, b) => b.count - a.count);
  const hidden = messages.slice(MESSAGES).reduce((sum, m) => sum + m.count, kind.unlisted);
  return (
    <details>
      <summary>
        <strong>{f.count(kind.count)}</strong> {f.outcome(kind.status, kind.count)}{' '}
        <span class="swbl-quiet">({f.percent(kind.count / trials)} of all trials)</span>
      </summary>
      {messages.slice(0, MESSAGES).map(message => <Example key={message.text} message={message} />)}
      {hidden > 0 && <p class="swbl-quiet">{f.plural(hidden, 'more trial')} with other messages, not shown.</p>}
    </details>
  );
}

function Example({ message }: { message: Message }): VNode {
  return (
    <div class="swbl-example">
      <p>{f.plural(message.count, 'trial')}, first in trial {message.trial} of {message.task.name}</p>
      <pre tabIndex={0}>{message.text || 'The log gives no message.'}</pre>
    </div>
  );
}

const SURE = { compared: '', again: '', once: ', timed once', disturbed: ', disturbed while it was timed' };

/** Who is the best of a task and what is known about that. */
export function Facts({ task }: { task: Task }): VNode | null {
  const { best, steps, comparisons, untuned: before } = task.ledger;
  if (!best) {
    return null;
  }
  const gain = champion(task)?.origin === 'default' ? ', the default schedule' : before === null ? '' : `; untuned ${f.ms(before)} ms, ${times(before, best.ms)}`;
  const last = comparisons[comparisons.length - 1];
  const { reason } = steps[steps.length - 1];
  return (
    <p class="swbl-facts">
      <span>Best: trial {best.trial}, {f.ms(best.ms)} ms{SURE[best.sure]}{gain}.</span>{' '}
      {reason && <span>Slower than before: {reason}.</span>}{' '}
      {last && <span>{f.plural(comparisons.length, 'comparison')}, the last one: {verdict(last)}.</span>}{' '}
      {task.quality !== null && <span>The model's rank correlation was {task.quality.toFixed(2)}.</span>}
    </p>
  );
}

/** The same sentence as in `workbench/tune/rounds.py`. */
function verdict({ trials: [incumbent, ...challengers], winner, ratio, confidence }: Comparison): string {
  const told = `trial ${challengers.join(', ')} against trial ${incumbent}`;
  if (ratio === null || confidence === null) {
    return winner === incumbent ? `${told}: trial ${winner} stays the best` : `${told}: ${winner} wins`;
  }
  const speed = times(1, ratio);
  if (winner !== incumbent) {
    return `${told}: ${winner} is ${speed}, ${sureness(confidence)}`;
  }
  return ratio < 1 && confidence < 0.99 ? `${told}: undecided; the best of them seemed ${speed}, only ${sureness(confidence)}`
    : `${told}: lost; the best of them was ${speed}`;
}

/** Commands that steered the run. */
export function Commands({ log }: { log: LogSummary }): VNode {
  return (
    <div class="swbl-scroll" tabIndex={0} role="region" aria-label="List of commands">
      <table class="swbl-table">
        <thead>
          <tr>
            <th scope="col" class="swbl-num">At</th>
            <th scope="col">Command</th>
            <th scope="col">Given by</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {log.lastCommands.map(one => (
            <tr>
              <td class="swbl-num">{one.elapsed === null ? f.UNKNOWN : f.duration(one.elapsed)}</td>
              <th scope="row">{one.name} <span class="swbl-quiet">{log.words(one)}</span></th>
              <td>{one.source || f.UNKNOWN}</td>
              <td class={one.accepted ? '' : 'swbl-bad swbl-wrap'}>{one.accepted ? 'accepted' : `refused: ${one.error}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
