/** Failures by kind; the full text of the errors opens below each. */
import type { VNode } from 'preact';
import * as f from './format';
import type { Failure, Message } from './records';
import { Section } from './section';
import type { LogSummary } from './summary';

/** Different messages of a kind that are shown, the most frequent first. */
const MESSAGES = 8;

export function Failures({ log }: { log: LogSummary }): VNode {
  const aside = log.failed ? `${f.count(log.failed)} of ${f.plural(log.trials, 'trial')}` : '';
  return (
    <Section title="Failures" aside={aside}>
      <Kinds log={log} />
    </Section>
  );
}

function Kinds({ log }: { log: LogSummary }): VNode {
  if (!log.failed) {
    return <p class="swbl-quiet">{log.trials ? 'No trial failed.' : 'No trials yet.'}</p>;
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
        <span class="swbl-quiet">({f.percent(kind.count / trials)} of all trials)</span>
      </summary>
      {messages.slice(0, MESSAGES).map(message => (
        <Example key={message.text} message={message} />
      ))}
      {hidden > 0 && <p class="swbl-quiet">{f.plural(hidden, 'more trial')} with other messages, not shown.</p>}
    </details>
  );
}

function Example({ message }: { message: Message }): VNode {
  return (
    <div class="swbl-example">
      <p>
        {f.plural(message.count, 'trial')}, first in trial {message.trial} of {message.task.name}
      </p>
      <pre tabIndex={0}>{message.text || 'The log gives no message.'}</pre>
    </div>
  );
}
