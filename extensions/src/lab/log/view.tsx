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
import { trans } from '../words';

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
        {trans.__('Explore the records')}
      </button>
      <button class="swbl-button" onClick={notebook}>
        {trans.__('Explore in a notebook')}
      </button>
    </div>
  );
}

function Note({ level, text: message, hint }: Notice): VNode {
  const word = { info: trans.__('Note'), warn: trans.__('Please note'), error: trans.__('Problem') }[level];
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
      text: trans.__('The file is empty.'),
      hint: trans.__('The first trials appear here as soon as they are written.')
    });
  } else if (!log.trials && log.foreign) {
    return [
      {
        level: 'warn',
        text: trans.__('This is a log of TVM.'),
        hint: trans.__('Press "Explore the records": the explorer reads the logs of any tuner.')
      }
    ];
  } else if (!log.header && log.trials === 0) {
    out.push({
      level: 'warn',
      text: trans.__('The file holds no trial and no header of a tuning log.'),
      hint: trans.__('Is it the right file?')
    });
  } else if (log.trials === 0) {
    out.push({ level: 'info', text: trans.__('The log holds its header but no trial yet.') });
  } else if (!log.header) {
    out.push({ level: 'info', text: trans.__('The log has no header, so model and untuned tasks are unknown.') });
  }
  if (log.newestSchema > SCHEMA) {
    const told = trans.__('The log was written in format %1; this viewer knows format %2.', log.newestSchema, SCHEMA);
    out.push({
      level: 'warn',
      text: told,
      hint: trans.__('What it knows is shown, other fields are passed over. A newer Schedule Workbench shows all.')
    });
  }
  const mixed = mixedCaches(log);
  if (mixed) out.push({ level: 'warn', text: mixed });
  if (log.badCount) {
    const places = log.badLines.join(', ');
    const told = log.badCount > log.badLines.length ? trans.__('%1 and more', places) : places;
    const lines = trans._n(
      '%2 line could not be read: %3.',
      '%2 lines could not be read: %3.',
      log.badCount,
      f.count(log.badCount),
      told
    );
    out.push({
      level: 'warn',
      text: lines,
      hint: trans.__('They are left out here. They hold no complete trial; was the file changed by hand?')
    });
  }
  if (torn) {
    const told = trans._n(
      'The last line is not complete (%2 character without an end).',
      'The last line is not complete (%2 characters without an end).',
      torn.length,
      f.count(torn.length)
    );
    out.push({
      level: 'info',
      text: told,
      hint: trans.__('Either it is being written, or the tuner was stopped; it is left out.')
    });
  }
  return out;
}
