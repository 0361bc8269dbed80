/** The viewer's page. Everything from the file goes in as text. */
import { Fragment } from 'preact';
import type { ComponentChildren, VNode } from 'preact';
import { BestSoFar } from './curve';
import { dots, taskCurve, totalCurve } from './curves';
import { Commands, FailureList, Facts } from './lists';
import { times } from '../../shared/format';
import * as f from './format';
import { SCHEMA, LogSummary, best, champion, mixedCaches, number, text } from './summary';
import { TaskTable } from './tasks';
import { TrialDetails, TrialList } from './trials';

const SUM = 'Sum over the tasks: how often a task occurs (×) times its best time.';

const COMPARED = 'Candidates timed in turns: only who wins such a comparison becomes the best.';

function compared(log: LogSummary): string {
  const won = log.tasks.reduce((sum, task) => sum + task.ledger.comparisons.filter(one => one.winner !== one.trials[0]).length, 0);
  return `${f.count(log.comparisons)}, ${won ? `${f.count(won)} with a new best` : 'none with a new best'}`;
}

export interface Notice {
  level: 'info' | 'warn' | 'error';
  text: string;
  hint?: string;
}

export interface ViewState {
  log: LogSummary;
  loaded: boolean;
  size: number;
  torn: string;
  follow: string;
  notices: Notice[];
  /** Key of the chosen task, '' for the whole model. */
  selected: string;
  allTasks: boolean;
  /** Place in the log of the trial whose details are shown, 0 for none. */
  chosen: number;
}

export interface ViewProps {
  state: ViewState;
  select: (key: string) => void;
  showAll: () => void;
  choose: (at: number) => void;
}

export function LogView({ state, select, showAll, choose }: ViewProps): VNode {
  const { log, loaded } = state;
  return (
    <div class="swbl">
      <Status state={state} />
      {[...state.notices, ...(loaded ? remarks(state) : [])].map(notice => <Note {...notice} />)}
      {loaded && (log.header || log.trials > 0) && (
        <>
          <Summary log={log} />
          <div class="swbl-columns">
            <Section title="Tasks" aside={tasksAside(log)}>
              <TaskTable log={log} selected={state.selected} select={select} all={state.allTasks} showAll={showAll} />
            </Section>
            <CurveSection {...{ state, select, choose }} />
          </div>
          <Trials {...{ state, choose }} />
          <Section title="Failures" aside={log.failed ? `${f.count(log.failed)} of ${f.plural(log.trials, 'trial')}` : ''}>
            <FailureList log={log} />
          </Section>
          {log.commandCount > 0 && (
            <Section title="Commands" aside={`${f.count(log.commandCount)}${log.refused ? `, ${f.count(log.refused)} refused` : ''}, newest first`}>
              <Commands log={log} />
            </Section>
          )}
        </>
      )}
    </div>
  );
}

function Trials({ state: { log, selected, chosen }, choose }: { state: ViewState; choose: (at: number) => void }): VNode {
  const task = log.tasks.find(t => t.key === selected);
  const trial = log.all[chosen - 1];
  const order = !task ? 'of all tasks, newest first' : `of ${task.name}, ${champion(task) ? 'the best, then the newest first' : 'newest first'}`;
  return (
    <div class="swbl-pair">
      <Section title="Newest trials" aside={order}><TrialList {...{ log, task, chosen, choose }} /></Section>
      <Section title={trial ? `Trial ${trial.trial}` : 'One trial'} aside={trial && champion(trial.task) === trial ? '★ best of its task' : ''}>
        <TrialDetails log={log} trial={trial} choose={choose} />
      </Section>
    </div>
  );
}

function Status({ state }: { state: ViewState }): VNode {
  return <p class="swbl-status" role="status">{state.follow}</p>;
}

function Note({ level, text: message, hint }: Notice): VNode {
  const word = { info: 'Note', warn: 'Please note', error: 'Problem' }[level];
  return (
    <p class={`swbl-note swbl-${level}`} role={level === 'error' ? 'alert' : 'note'}>
      <strong>{word}: </strong>{message}{hint && <span class="swbl-hint"> {hint}</span>}
    </p>
  );
}

/** What the reader should know about the file itself. */
function remarks({ log, size, torn }: ViewState): Notice[] {
  const out: Notice[] = [];
  if (size === 0) {
    out.push({ level: 'info', text: 'The file is empty.', hint: 'The first trials appear here as soon as they are written.' });
  } else if (!log.trials && log.foreign) {
    return [{ level: 'warn', text: 'This is a log of TVM, which cannot be read here.', hint: "Its schedules are TVM's own; tune the same network here, and compare the times." }];
  } else if (!log.header && log.trials === 0) {
    out.push({ level: 'warn', text: 'The file holds no trial and no header of a tuning log.', hint: 'Is it the right file?' });
  } else if (log.trials === 0) {
    out.push({ level: 'info', text: 'The log holds its header but no trial yet.' });
  } else if (!log.header) {
    out.push({ level: 'info', text: 'The log has no header, so model and untuned tasks are unknown.' });
  }
  if (log.newestSchema > SCHEMA) {
    const told = `The log was written in format ${log.newestSchema}; this viewer knows format ${SCHEMA}.`;
    out.push({ level: 'warn', text: told, hint: 'What it knows is shown, other fields are passed over. A newer Schedule Workbench shows all.' });
  }
  const mixed = mixedCaches(log);
  if (mixed) out.push({ level: 'warn', text: mixed });
  if (log.badCount) {
    const more = log.badCount > log.badLines.length ? ' and more' : '';
    const lines = `${f.plural(log.badCount, 'line')} could not be read: ${log.badLines.join(', ')}${more}.`;
    out.push({ level: 'warn', text: lines, hint: 'They are left out here. They hold no complete trial; was the file changed by hand?' });
  }
  if (torn) {
    const told = `The last line is not complete (${f.plural(torn.length, 'character')} without an end).`;
    out.push({ level: 'info', text: told, hint: 'Either it is being written, or the tuner was stopped; it is left out.' });
  }
  return out;
}

function Summary({ log }: { log: LogSummary }): VNode {
  const header = log.header ?? {};
  const where = text(header.target);
  const created = number(header.created) ?? log.firstTime;
  const complete = log.measured.length === log.tasks.length;
  const many = log.tasks.length > 1;
  const [before, after] = many ? [log.untuned, log.total] : log.tasks[0] ? [log.tasks[0].ledger.untuned, best(log.tasks[0])] : [null, null];
  const part = many && !complete ? ` for ${log.measured.length} of ${log.tasks.length} tasks` : '';
  const gain = before !== null && after !== null;
  const result = `${gain ? `${f.ms(before)} → ` : ''}${f.ms(after)} ms${part}${gain ? `, ${times(before, after)}` : ''}`;
  const items: [string, ComponentChildren][] = [
    ...(text(header.model) ? [['Model', <span title={text(header.model)}>{text(header.model)}</span>] as [string, ComponentChildren]] : []),
    ['Target', where ? <span title={where}>{f.target(where)}</span> : 'not given'],
    ['Trials', `${f.count(log.trials)}${log.failed ? `, ${f.count(log.failed)} failed` : ''}`],
    ...(log.comparisons ? [['Comparisons', <span title={COMPARED}>{compared(log)}</span>] as [string, ComponentChildren]] : []),
    ['Time', log.elapsed ? `${f.duration(log.elapsed)} of tuning` : f.UNKNOWN],
    ['Written', span(created, log.lastTime)],
    [many ? `Best, ${text(header.model) ? 'whole model' : 'all tasks'}` : 'Best', log.total === null ? 'no trial has a time yet' : <span title={`${many ? SUM : ''}${gain ? ' Before the arrow: with the default schedule.' : ''}`.trim()}>{result}</span>]
  ];
  return (
    <dl class="swbl-summary" aria-label="Summary">
      {items.map(([name, value]) => <div><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}

function span(from: number | null, to: number | null): string {
  if (from === null) {
    return f.UNKNOWN;
  }
  if (to === null || f.day(from) === f.day(to)) {
    return f.day(from);
  }
  const end = f.day(to);
  return `${f.day(from)} to ${end.slice(0, 10) === f.day(from).slice(0, 10) ? end.slice(11) : end}`;
}

function tasksAside(log: LogSummary): string {
  const missing = log.tasks.length - log.measured.length;
  return missing ? `${missing} of ${f.plural(log.tasks.length, 'task')} without a result` : f.plural(log.tasks.length, 'task');
}

function CurveSection({ state, select, choose }: Omit<ViewProps, 'showAll'>): VNode {
  const { log, selected, chosen } = state;
  const task = log.tasks.find(t => t.key === selected);
  const whole = log.measured.length === log.tasks.length ? text(log.header?.model) ? 'Whole model' : 'All tasks' : `The ${log.measured.length} tasks with a result`;
  const title = task ? task.name : whole;
  const none = { xs: [], ms: [] };
  const curve = task ? taskCurve(task) : totalCurve(log);
  return (
    <Section title="Best so far" aside="ms, logarithmic">
      <label class="swbl-pick">
        <span>Task</span>
        <select value={selected} onChange={event => select(event.currentTarget.value)}>
          {log.tasks.length !== 1 && <option value="">{whole}</option>}
          {log.tasks.map(t => <option value={t.key}>{t.name}</option>)}
        </select>
      </label>
      <BestSoFar
        title={title}
        curve={curve}
        dots={task ? dots(task) : none}
        failedAt={task?.failedAt ?? []}
        trials={task ? task.trials : log.trials}
        chosen={log.all[chosen - 1]?.task === task ? log.all[chosen - 1]?.nth : 0}
        choose={nth => task && choose(task.all[nth - 1].at)}
      />
      {task && <Facts task={task} />}
      {curve.xs.length > 0 && <p class="swbl-legend">
        {task ? <Fragment><i class="swbl-key-best" /> best so far <i class="swbl-key-dot" /> one trial
          {task.failedAt.length > 0 && <Fragment> <i class="swbl-key-cross">×</i> failed</Fragment>}</Fragment>
          : `${SUM} The curve starts where each of these tasks has a first result.`}
        {curve.why?.some(Boolean) && '. Where the line rises, the best was measured again.'}
      </p>}
    </Section>
  );
}

function Section({ title, aside, children }: { title: string; aside?: string; children: ComponentChildren }): VNode {
  return (
    <section class="swbl-section" aria-label={title}>
      <header><h2>{title}</h2><span>{aside}</span></header>
      {children}
    </section>
  );
}
