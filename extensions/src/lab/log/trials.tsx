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
import { trans } from '../words';

/** Letters of an error beside its trial; all of it stands in the details and under the failures. */
const LINE = 120;
const columns = (): readonly Column[] => [
  { name: trans.__('Trial'), number: true },
  { name: trans.__('Task') },
  { name: trans.__('Proposed by') },
  { name: 'ms', number: true },
  { name: trans.__('Result') }
];

/** Place of the column that names the task. */
const OF_TASK = 1;

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
    ? trans.__('of all tasks, newest first')
    : champion(task)
      ? trans.__('of %1, the best, then the newest first', task.name)
      : trans.__('of %1, newest first', task.name);
  return (
    <div class="swbl-pair">
      <Section title={trans.__('Newest trials')} aside={order}>
        <TrialList {...{ log, task, chosen, choose }} />
      </Section>
      <Section
        title={trial ? trans.__('Trial %1', trial.trial) : trans.__('One trial')}
        aside={trial && champion(trial.task) === trial && !trial.doubt ? trans.__('★ best of its task') : ''}
      >
        <TrialDetails log={log} trial={trial} choose={choose} />
      </Section>
    </div>
  );
}

function TrialList({ log, task, chosen, choose }: Chosen & { log: LogSummary; task?: Task }): VNode {
  if (!(task ?? log).all.length) {
    return <p class="swbl-quiet">{trans.__('No trials yet.')}</p>;
  }
  return (
    <Table label={trans.__('Newest trials')} columns={columns().filter((_, i) => !task || i !== OF_TASK)}>
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
        <ChoiceButton on={on} toggle={toggle} label={trans.__('Trial %1', trial.trial)}>
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
        {trial.doubt?.ms ?? f.ms(trial.ms)}
      </td>
      <td class={trial.ms === null ? 'swbl-bad swbl-wrap' : ''}>
        {f.outcome(trial.status)}
        {(line || trial.doubt) && `: ${line || trial.doubt!.text}`}
        {time(trial) !== trial.ms && trans.__('; %1 ms by all that is known', f.ms(time(trial)))}
        {champion(trial.task) === trial && !trial.doubt && <strong> {trans.__('★ best')}</strong>}
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
    return <p class="swbl-quiet">{trans.__('Click a trial, or a dot of the curve, to see its steps.')}</p>;
  }
  const ms = time(trial);
  const around = [
    [trans.__('Earlier trial'), trial.task.all[trial.nth - 2]],
    [trans.__('Later trial'), trial.task.all[trial.nth]]
  ] as const;
  return (
    <div ref={box}>
      <p class="swbl-facts">{trial.task.name}</p>
      <dl class="swbl-summary">
        <div>
          <dt>{trans.__('Time')}</dt>
          <dd>
            {ms === null
              ? f.outcome(trial.status)
              : `${shown(trial)} ms ${ms !== trial.ms ? trans.__('by all that is known; %1 ms here', f.ms(trial.ms)) : trial.doubt ? `(${trial.doubt.text})` : spread(trial.spread, ms)}`}
          </dd>
        </div>
        <div>
          <dt>{trans.__('Proposed by')}</dt>
          <dd>{trial.origin || f.UNKNOWN}</dd>
        </div>
        <div>
          <dt>{trans.__('Round')}</dt>
          <dd>{trial.round ?? f.UNKNOWN}</dd>
        </div>
      </dl>
      {around.map(([word, other]) => (
        <button class="swbl-button" disabled={!other} onClick={() => other && choose(other.at)}>
          {word}
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
      ? trans.__('No steps: the program as it is written.')
      : kept
        ? trans.__('The log does not give its steps.')
        : trans.__(
            'This page keeps steps and errors of the newest %1 trials only; read_log has them all.',
            f.count(STEPS_KEPT)
          );
    return <p class="swbl-quiet">{none}</p>;
  }
  return (
    <ol class="swbl-scroll swbl-steps" tabIndex={0} aria-label={trans.__('Steps')}>
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
