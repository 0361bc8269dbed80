/** The newest trials, and all that the log says of one of them. */
import { useEffect, useRef } from 'preact/hooks';
import type { VNode } from 'preact';
import { spread } from '../../shared/format';
import type { Args } from '../../shared/types';
import { stepText } from '../../shared/steps';
import * as f from './format';
import { champion, type Task, type Trial } from './records';
import { Section } from './section';
import type { ViewState } from './state';
import { STEPS_KEPT, type LogSummary } from './summary';
import { Choice, ChoiceButton, Choices, Table, type Column } from './table';

/** Letters of an error beside its trial; all of it stands in the details and under the failures. */
const LINE = 120;
const COLUMNS: readonly Column[] = [
  { name: 'Trial', number: true },
  { name: 'Task' },
  { name: 'Proposed by' },
  { name: 'ms', number: true },
  { name: 'Result' }
];

interface Chosen {
  /** Place in the log of the chosen trial, 0 for none. */
  chosen: number;
  choose: (at: number) => void;
}

export function Trials({
  state: { log, selected, chosen },
  choose
}: {
  state: ViewState;
  choose: (at: number) => void;
}): VNode {
  const task = log.tasks.find(t => t.key === selected);
  const trial = log.all[chosen - 1];
  const order = !task
    ? 'of all tasks, newest first'
    : `of ${task.name}, ${champion(task) ? 'the best, then the newest first' : 'newest first'}`;
  return (
    <div class="swbl-pair">
      <Section title="Newest trials" aside={order}>
        <TrialList {...{ log, task, chosen, choose }} />
      </Section>
      <Section
        title={trial ? `Trial ${trial.trial}` : 'One trial'}
        aside={trial && champion(trial.task) === trial && !trial.doubt ? '★ best of its task' : ''}
      >
        <TrialDetails log={log} trial={trial} choose={choose} />
      </Section>
    </div>
  );
}

function TrialList({ log, task, chosen, choose }: Chosen & { log: LogSummary; task?: Task }): VNode {
  if (!(task ?? log).all.length) {
    return <p class="swbl-quiet">No trials yet.</p>;
  }
  return (
    <Table label="Newest trials" columns={COLUMNS.filter(one => !task || one.name !== 'Task')}>
      <Choices>
        {log.newest(task).map(one => (
          <Row key={one.at} trial={one} named={!task} on={one.at === chosen} choose={choose} />
        ))}
      </Choices>
    </Table>
  );
}

function Row({
  trial,
  named,
  on,
  choose
}: {
  trial: Trial;
  named: boolean;
  on: boolean;
  choose: Chosen['choose'];
}): VNode {
  const lines = trial.error.trim().split('\n');
  const all = (lines[0]!.startsWith('Traceback') ? lines.at(-1) : lines[0])!; // where Python says what it was
  const line = all.length > LINE ? `${all.slice(0, LINE)}…` : all;
  const toggle = (): void => choose(on ? 0 : trial.at);
  return (
    <Choice on={on} toggle={toggle}>
      <td class="swbl-num">
        <ChoiceButton on={on} toggle={toggle} label={`Trial ${trial.trial}`}>
          {trial.trial}
        </ChoiceButton>
      </td>
      {named && (
        <th scope="row" class="swbl-cut" title={trial.task.name}>
          {trial.task.name}
        </th>
      )}
      <td>{trial.origin || f.UNKNOWN}</td>
      <td class="swbl-num swbl-strong" title={trial.doubt?.text}>
        {shown(trial)}
      </td>
      <td class={trial.ms === null ? 'swbl-bad swbl-wrap' : ''}>
        {f.outcome(trial.status)}
        {(line || trial.doubt) && `: ${line || trial.doubt!.text}`}
        {champion(trial.task) === trial && !trial.doubt && <strong> ★ best</strong>}
      </td>
    </Choice>
  );
}

/** What the ledger tells of a trial. */
function time({ ms, nth, task }: Trial): number | null {
  return ms === null ? null : task.ledger.of(task.timed.find(one => one.nth === nth)!);
}

/** Its time as it is printed; of a disturbed one that nothing else tells of, what is known. */
export function shown(trial: Trial): string {
  const ms = time(trial);
  return trial.doubt && ms === trial.ms ? trial.doubt.ms : f.ms(ms);
}

function TrialDetails({
  log,
  trial,
  choose
}: {
  log: LogSummary;
  trial: Trial | undefined;
  choose: Chosen['choose'];
}): VNode {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (trial) box.current?.scrollIntoView({ block: 'nearest' });
  }, [trial?.at]);
  if (!trial) {
    return <p class="swbl-quiet">Click a trial, or a dot of the curve, to see its steps.</p>;
  }
  const ms = time(trial);
  const around = [
    ['Earlier', trial.task.all[trial.nth - 2]],
    ['Later', trial.task.all[trial.nth]]
  ] as const;
  return (
    <div ref={box}>
      <p class="swbl-facts">{trial.task.name}</p>
      <dl class="swbl-summary">
        <div>
          <dt>Time</dt>
          <dd>
            {ms === null
              ? f.outcome(trial.status)
              : `${shown(trial)} ms ${ms !== trial.ms ? `by all that is known; ${f.ms(trial.ms)} ms here` : trial.doubt ? `(${trial.doubt.text})` : spread(trial.spread, ms)}`}
          </dd>
        </div>
        <div>
          <dt>Proposed by</dt>
          <dd>{trial.origin || f.UNKNOWN}</dd>
        </div>
        <div>
          <dt>Round</dt>
          <dd>{trial.round ?? f.UNKNOWN}</dd>
        </div>
      </dl>
      {around.map(([word, other]) => (
        <button class="swbl-button" disabled={!other} onClick={() => other && choose(other.at)}>
          {word} trial
        </button>
      ))}
      {trial.error && (
        <div class="swbl-example">
          <pre tabIndex={0}>{trial.error}</pre>
        </div>
      )}
      <Steps trial={trial} kept={trial.at > log.trials - STEPS_KEPT} />
    </div>
  );
}

function Steps({ trial, kept }: { trial: Trial; kept: boolean }): VNode {
  const steps = words(trial.trace);
  if (!steps.length) {
    const none = trial.trace
      ? 'No steps: the program as it is written.'
      : kept
        ? 'The log does not give its steps.'
        : `This page keeps steps and errors of the newest ${f.count(STEPS_KEPT)} trials only; read_log has them all.`;
    return <p class="swbl-quiet">{none}</p>;
  }
  return (
    <ol class="swbl-scroll swbl-steps" tabIndex={0} aria-label="Steps">
      {steps.map(step => (
        <li>{step}</li>
      ))}
    </ol>
  );
}

/** Each step of a trace as it is called. */
export function words(trace: string): string[] {
  const steps = JSON.parse(trace || '[]') as ({ primitive?: string; args?: Args } | null)[];
  return steps.map(step => stepText(step?.primitive ?? '?', step?.args ?? {}));
}
