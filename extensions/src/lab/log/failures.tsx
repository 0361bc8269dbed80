/** Failures by kind; the full text of the errors opens below each. */
import type { VNode } from 'preact';
import * as f from './format';
import type { Failure, Message } from './records';
import { Section } from './section';
import type { LogSummary } from './summary';
import { trans } from '../words';

/** Different messages of a kind that are shown, the most frequent first. */
const MESSAGES = 8;

export function Failures({ log }: { log: LogSummary }): VNode {
  const aside = log.failed
    ? trans._n('%2 of %3 trial', '%2 of %3 trials', log.trials, f.count(log.failed), f.count(log.trials))
    : '';
  return (
    <Section title={trans.__('Failures')} aside={aside}>
      <Kinds log={log} />
    </Section>
  );
}

function Kinds({ log }: { log: LogSummary }): VNode {
  if (!log.failed) {
    return <p class="swbl-quiet">{log.trials ? trans.__('No trial failed.') : trans.__('No trials yet.')}</p>;
  }
  const kinds = [...log.failures.values()].sort((a, b) => b.count - a.count);
  return (
    <div class="swbl-failures">
      {kinds.map(kind => (
        <Kind key={kind.status} kind={kind} trials={log.trials} />
      ))}
    </div>
  );
}

function Kind({ kind, trials }: { kind: Failure; trials: number }): VNode {
  const messages = [...kind.messages.values()].sort((a, b) => b.count - a.count);
  const hidden = messages.slice(MESSAGES).reduce((sum, m) => sum + m.count, kind.unlisted);
  return (
    <details>
      <summary>
        <strong>{f.count(kind.count)}</strong> {f.outcome(kind.status, kind.count)}{' '}
        <span class="swbl-quiet">{trans.__('(%1 of all trials)', f.percent(kind.count / trials))}</span>
      </summary>
      {messages.slice(0, MESSAGES).map(message => (
        <Example key={message.text} message={message} />
      ))}
      {hidden > 0 && (
        <p class="swbl-quiet">
          {trans._n(
            '%2 more trial with other messages, not shown.',
            '%2 more trials with other messages, not shown.',
            hidden,
            f.count(hidden)
          )}
        </p>
      )}
    </details>
  );
}

function Example({ message }: { message: Message }): VNode {
  return (
    <div class="swbl-example">
      <p>
        {trans._n(
          '%2 trial, first in trial %3 of %4',
          '%2 trials, first in trial %3 of %4',
          message.count,
          f.count(message.count),
          message.trial,
          message.task.name
        )}
      </p>
      <pre tabIndex={0}>{message.text || trans.__('The log gives no message.')}</pre>
    </div>
  );
}
