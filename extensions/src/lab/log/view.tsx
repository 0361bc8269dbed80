/** The viewer's page. Everything from the file goes in as text. */
import type { VNode } from 'preact';
import { BestSoFar } from './best-so-far';
import { Commands } from './commands';
import { Failures } from './failures';
import * as f from './format';
import { Overview } from './overview';
import type { Notice, ViewProps, ViewState } from './state';
import { SCHEMA, mixedCaches } from './summary';
import { Tasks } from './tasks';
import { Trials } from './trials';

export function LogView(props: ViewProps): VNode {
  const { state } = props;
  const { log, loaded } = state;
  return (
    <div class="swbl">
      <Status {...props} />
      {[...state.notices, ...(loaded ? remarks(state) : [])].map(notice => (
        <Note {...notice} />
      ))}
      {loaded && (log.header || log.trials > 0) && (
        <>
          <Overview log={log} />
          <div class="swbl-columns">
            <Tasks {...props} />
            <BestSoFar {...props} />
          </div>
          <Trials {...props} />
          <Failures log={log} />
          <Commands log={log} />
        </>
      )}
    </div>
  );
}

function Status({ state, records, notebook }: ViewProps): VNode {
  return (
    <div class="swbl-bar">
      <p class="swbl-status" role="status">
        {state.follow}
      </p>
      <button class="swbl-button" onClick={records}>
        Explore the records
      </button>
      <button class="swbl-button" onClick={notebook}>
        Explore in a notebook
      </button>
    </div>
  );
}

function Note({ level, text: message, hint }: Notice): VNode {
  const word = { info: 'Note', warn: 'Please note', error: 'Problem' }[level];
  return (
    <p class={`swbl-note swbl-${level}`} role={level === 'error' ? 'alert' : 'note'}>
      <strong>{word}: </strong>
      {message}
      {hint && <span class="swbl-hint"> {hint}</span>}
    </p>
  );
}

/** What the reader should know about the file itself. */
function remarks({ log, size, torn }: ViewState): Notice[] {
  const out: Notice[] = [];
  if (size === 0) {
    out.push({
      level: 'info',
      text: 'The file is empty.',
      hint: 'The first trials appear here as soon as they are written.'
    });
  } else if (!log.trials && log.foreign) {
    return [
      {
        level: 'warn',
        text: 'This is a log of TVM.',
        hint: 'Press "Explore the records": the explorer reads the logs of any tuner.'
      }
    ];
  } else if (!log.header && log.trials === 0) {
    out.push({
      level: 'warn',
      text: 'The file holds no trial and no header of a tuning log.',
      hint: 'Is it the right file?'
    });
  } else if (log.trials === 0) {
    out.push({ level: 'info', text: 'The log holds its header but no trial yet.' });
  } else if (!log.header) {
    out.push({ level: 'info', text: 'The log has no header, so model and untuned tasks are unknown.' });
  }
  if (log.newestSchema > SCHEMA) {
    const told = `The log was written in format ${log.newestSchema}; this viewer knows format ${SCHEMA}.`;
    out.push({
      level: 'warn',
      text: told,
      hint: 'What it knows is shown, other fields are passed over. A newer Schedule Workbench shows all.'
    });
  }
  const mixed = mixedCaches(log);
  if (mixed) out.push({ level: 'warn', text: mixed });
  if (log.badCount) {
    const more = log.badCount > log.badLines.length ? ' and more' : '';
    const lines = `${f.plural(log.badCount, 'line')} could not be read: ${log.badLines.join(', ')}${more}.`;
    out.push({
      level: 'warn',
      text: lines,
      hint: 'They are left out here. They hold no complete trial; was the file changed by hand?'
    });
  }
  if (torn) {
    const told = `The last line is not complete (${f.plural(torn.length, 'character')} without an end).`;
    out.push({
      level: 'info',
      text: told,
      hint: 'Either it is being written, or the tuner was stopped; it is left out.'
    });
  }
  return out;
}
