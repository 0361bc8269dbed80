/** The sidebar of sessions: each with its progress, best, rest, and what steers it. */
import { count, duration, milliseconds, spread } from '../../shared/format';
import { trans } from '../words';
import { isOver, type Command, type Session } from './server';

export interface SessionsState {
  /** Null before the first answer. */
  readonly sessions: readonly Session[] | null;
  readonly error: { readonly message: string; readonly hint: string } | null;
  /** What has changed last, for who cannot see it. */
  readonly news: string;
}
interface Props {
  readonly state: SessionsState;
  readonly onSteer: (session: Session, command: Command) => void;
  readonly onOpen: (path: string) => void;
}

const words = (state: string): string => {
  switch (state) {
    case 'idle':
      return trans.__('not started');
    case 'running':
      return trans.__('running');
    case 'paused':
      return trans.__('paused');
    case 'stopping':
      return trans.__('ends after this trial');
    case 'done':
      return trans.__('done');
    case 'failed':
      return trans.__('failed');
    case 'cancelled':
      return trans.__('cancelled');
    case 'lost':
      return trans.__('lost: its kernel was restarted or has died; what it measured is in the log');
    default:
      return state;
  }
};

/** How a session stands, in words. */
export const stateOf = ({ state, end }: Session): string => (end === 'stopped' ? trans.__('stopped') : words(state));

/** The best so far, what that covers, and how much it was before. */
export function bestOf({ ms, spread: noise, untuned_ms, change, at, kernels, rows, more }: Session): string {
  if (ms == null) {
    const timed = rows.filter(row => row.ms != null).length;
    const all = rows.length + more;
    return timed ? trans.__('%1 of %2 tasks have a time', timed, all) : trans.__('nothing measured yet');
  }
  const number = noise == null ? milliseconds(ms) : `${milliseconds(ms)} ${spread(noise, ms)}`;
  const best = trans.__('%1 ms', number);
  const covers =
    kernels === 0
      ? trans.__('end to end, %1', at || trans.__('measured'))
      : trans.__('sum of %1 kernels', count(kernels));
  const what = kernels === 1 ? best : trans.__('%1, %2', best, covers);
  return change && untuned_ms ? trans.__('%1; untuned %2 ms: %3', what, milliseconds(untuned_ms), change) : what;
}

/** How far it is, and how long it takes. */
function progressOf({ trials, total, eta_s, ...session }: Session): string {
  const done =
    total == null
      ? trans._n('%1 trial', '%1 trials', trials)
      : trans._n('%2 of %1 trial', '%2 of %1 trials', total, count(trials));
  return isOver(session as Session) || eta_s == null ? done : trans.__('%1, %2 left', done, duration(eta_s));
}

function Tasks({ of: { rows, more } }: { of: Session }) {
  return (
    <details>
      <summary>{trans._n('%1 task', '%1 tasks', rows.length + more)}</summary>
      <table class="swbl-table">
        <thead>
          <tr>
            <th>{trans.__('task')}</th>
            <th class="swbl-num">{trans.__('best, ms')}</th>
            <th class="swbl-num">{trans.__('trials')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i} title={trans.__('%1: %2', row.name, row.state)}>
              <td class="swbl-cut">{row.name}</td>
              <td class="swbl-num">{milliseconds(row.ms)}</td>
              <td class="swbl-num">{row.trials}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p class="swbl-quiet">{trans.__('and %1 more', more)}</p>}
    </details>
  );
}

function One({ session, onSteer, onOpen }: { session: Session } & Omit<Props, 'state'>) {
  const { title, notebook, log, state, end, fraction, steered, silent_s } = session;
  const over = isOver(session);
  const why = steered ? undefined : trans.__('It has no log, by which it could be steered from here');
  // One key for the two that take each other's place: the focus stays.
  const button = (command: Command, word: string, label: string, key: string = command) => (
    <button
      key={key}
      class="swbl-button"
      aria-label={label}
      aria-disabled={command !== 'forget' && !steered ? 'true' : undefined}
      title={command === 'forget' ? undefined : why}
      onClick={() => (command === 'forget' || steered) && onSteer(session, command)}
    >
      {word}
    </button>
  );
  const place = notebook || log;
  return (
    <li class="swbl-session" data-session={session.id} data-state={state}>
      {place ? (
        <button class="swbl-task" title={trans.__('Open %1', place)} onClick={() => onOpen(place)}>
          <b>{title}</b>
        </button>
      ) : (
        <b>{title}</b>
      )}
      <p class={state === 'failed' || state === 'lost' ? 'swbl-bad' : 'swbl-quiet'}>{stateOf(session)}</p>
      {silent_s != null && (
        <p class="swbl-warned">
          {trans.__('No news for %1: its kernel is busy with something else, or stopped', duration(silent_s))}
        </p>
      )}
      <progress
        aria-label={trans.__('Progress of %1', title)}
        max={1}
        value={state === 'done' && end !== 'stopped' ? 1 : fraction}
      />
      <p>
        {bestOf(session)}
        <br />
        {progressOf(session)}
      </p>
      <div class="swbl-session-do">
        {state === 'running' && button('pause', trans.__('Pause'), trans.__('Pause %1', title), 'steer')}
        {state === 'paused' && button('resume', trans.__('Resume'), trans.__('Resume %1', title), 'steer')}
        {(state === 'running' || state === 'paused') && button('stop', trans.__('Stop'), trans.__('Stop %1', title))}
        {over && button('forget', trans.__('Dismiss'), trans.__('Dismiss %1', title))}
      </div>
      <Tasks of={session} />
    </li>
  );
}

export function SessionsView({ state: { sessions, error, news }, ...rest }: Props) {
  return (
    <div class="swbl swbl-sessions">
      <h2>{trans.__('Tuning sessions')}</h2>
      <p class="swb-aside" role="status">
        {news}
      </p>
      {error && (
        <p class="swbl-note swbl-error" role="alert">
          <b>{error.message}</b> {error.hint}
        </p>
      )}
      {!sessions && !error && <p>{trans.__('Asking the server…')}</p>}
      {sessions?.length === 0 && (
        <p class="swbl-quiet">
          {trans.__('None runs. What a notebook tunes, in any kernel, is shown here with its progress.')}
        </p>
      )}
      <ul>
        {sessions?.map(session => (
          <One key={session.id} session={session} {...rest} />
        ))}
      </ul>
    </div>
  );
}
