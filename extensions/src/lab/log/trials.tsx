/** The newest trials, and all that the log says of one of them. */
import { useEffect, useRef } from 'preact/hooks';
import type { VNode } from 'preact';
import { spread } from '../../shared/format';
import type { Args } from '../../shared/types';
import { stepText } from '../../widget/describe';
import * as f from './format';
import { STEPS_KEPT, champion, type LogSummary, type Task, type Trial } from './summary';
import { move } from './tasks';

/** Letters of an error beside its trial; all of it stands in the details and under the failures. */
const LINE = 120;

export interface Choice {
  /** Place in the log of the chosen trial, 0 for none. */
  chosen: number;
  choose: (at: number) => void;
}

export function TrialList({ log, task, chosen, choose }: Choice & { log: LogSummary; task?: Task }): VNode {
  if (!(task ?? log).all.length) {
    return <p class="swbl-quiet">No trials yet.</p>;
  }
  return (
    <div class="swbl-scroll" tabIndex={0} role="region" aria-label="Newest trials">
      <table class="swbl-table">
        <thead>
          <tr>
            <th scope="col" class="swbl-num">Trial</th>
            {!task && <th scope="col">Task</th>}
            <th scope="col">Proposed by</th>
            <th scope="col" class="swbl-num">ms</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody class="swbl-rows" onKeyDown={move}>
          {log.newest(task).map(one => <Row key={one.at} trial={one} named={!task} on={one.at === chosen} choose={choose} />)}
        </tbody>
      </table>
    </div>
  );
}

function Row({ trial, named, on, choose }: { trial: Trial; named: boolean; on: boolean; choose: Choice['choose'] }): VNode {
  const lines = trial.error.trim().split('\n');
  const all = lines[0].startsWith('Traceback') ? lines[lines.length - 1] : lines[0]; // where Python says what it was
  const line = all.length > LINE ? `${all.slice(0, LINE)}…` : all;
  const toggle = (): void => choose(on ? 0 : trial.at);
  return (
    <tr class={on ? 'swbl-on' : ''} onClick={toggle}>
      <td class="swbl-num">
        <button class="swbl-task" aria-pressed={on} aria-label={`Trial ${trial.trial}`} onClick={event => { event.stopPropagation(); toggle(); }}>
          {trial.trial}
        </button>
      </td>
      {named && <th scope="row" class="swbl-cut" title={trial.task.name}>{trial.task.name}</th>}
      <td>{trial.origin || f.UNKNOWN}</td>
      <td class="swbl-num swbl-strong">{f.ms(time(trial))}</td>
      <td class={trial.ms === null ? 'swbl-bad swbl-wrap' : ''}>
        {f.outcome(trial.status)}{line && `: ${line}`}{champion(trial.task) === trial && <strong> ★ best</strong>}
      </td>
    </tr>
  );
}

/** What the ledger tells of a trial. */
function time({ ms, nth, task }: Trial): number | null {
  return ms === null ? null : task.ledger.of(task.timed.find(one => one.nth === nth)!);
}

export function TrialDetails({ log, trial, choose }: { log: LogSummary; trial: Trial | undefined; choose: Choice['choose'] }): VNode {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (trial) box.current?.scrollIntoView({ block: 'nearest' });
  }, [trial?.at]);
  if (!trial) {
    return <p class="swbl-quiet">Click a trial, or a dot of the curve, to see its steps.</p>;
  }
  const ms = time(trial);
  const around = [['Earlier', trial.task.all[trial.nth - 2]], ['Later', trial.task.all[trial.nth]]] as const;
  return (
    <div ref={box}>
      <p class="swbl-facts">{trial.task.name}</p>
      <dl class="swbl-summary">
        <div><dt>Time</dt><dd>{ms === null ? f.outcome(trial.status) : `${f.ms(ms)} ms ${ms === trial.ms ? spread(trial.spread, ms) : `by all that is known; ${f.ms(trial.ms)} ms here`}`}</dd></div>
        <div><dt>Proposed by</dt><dd>{trial.origin || f.UNKNOWN}</dd></div>
        <div><dt>Round</dt><dd>{trial.round ?? f.UNKNOWN}</dd></div>
      </dl>
      {around.map(([word, other]) => (
        <button class="swbl-button" disabled={!other} onClick={() => other && choose(other.at)}>{word} trial</button>
      ))}
      {trial.error && <div class="swbl-example"><pre tabIndex={0}>{trial.error}</pre></div>}
      <Steps trial={trial} kept={trial.at > log.trials - STEPS_KEPT} />
    </div>
  );
}

function Steps({ trial, kept }: { trial: Trial; kept: boolean }): VNode {
  const steps = words(trial.trace);
  if (!steps.length) {
    const none = trial.trace ? 'No steps: the program as it is written.' : kept ? 'The log does not give its steps.'
      : `This page keeps steps and errors of the newest ${f.count(STEPS_KEPT)} trials only; read_log has them all.`;
    return <p class="swbl-quiet">{none}</p>;
  }
  return <ol class="swbl-scroll swbl-steps" tabIndex={0} aria-label="Steps">{steps.map(step => <li>{step}</li>)}</ol>;
}

/** Each step of a trace as it is called. */
export function words(trace: string): string[] {
  const steps = JSON.parse(trace || '[]') as ({ primitive?: unknown; args?: unknown } | null)[];
  return steps.map(step => stepText(String(step?.primitive ?? '?'), (step?.args ?? {}) as Args));
}
