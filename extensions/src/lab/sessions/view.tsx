/** The sidebar of sessions: each with its progress, best, rest, and what steers it. */
import { count, duration, milliseconds, plural, times } from '../../shared/format';
import { isOver, type Command, type Session } from './server';

export interface SessionsState {
  /** Null before the first answer. */
  readonly sessions: readonly Session[] | null;
  readonly error: { readonly message: string; readonly hint: string } | null;
}
interface Props {
  readonly state: SessionsState;
  readonly onSteer: (session: Session, command: Command) => void;
  readonly onOpen: (path: string) => void;
}

const WORDS: Readonly<Record<string, string>> = {
  idle: 'not started',
  lost: 'lost: its kernel was restarted or has died; what it measured is in the log',
  stopping: 'ends after this trial'
};

/** How a session stands, in words. */
export const stateOf = ({ state, end }: Session): string => (end === 'stopped' ? 'stopped' : (WORDS[state] ?? state));

/** The best so far, and what it was before. */
export function bestOf({ ms, untuned_ms }: Session): string {
  if (ms == null) return 'nothing measured yet';
  const gain = untuned_ms && untuned_ms > 1.01 * ms ? `, ${times(untuned_ms, ms)} as without tuning` : '';
  return `${milliseconds(ms)} ms${gain}`;
}

function Tasks({ of: { rows, more } }: { of: Session }) {
  return (
    <details>
      <summary>{plural(rows.length + more, 'task')}</summary>
      <table class="swbl-table">
        <thead>
          <tr>
            <th>task</th>
            <th class="swbl-num">best, ms</th>
            <th class="swbl-num">trials</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i} title={`${row.name}: ${row.state}`}>
              <td class="swbl-cut">{row.name}</td>
              <td class="swbl-num">{milliseconds(row.ms)}</td>
              <td class="swbl-num">{row.trials}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p class="swbl-quiet">and {more} more</p>}
    </details>
  );
}

function One({ session, onSteer, onOpen }: { session: Session } & Omit<Props, 'state'>) {
  const { title, notebook, log, state, end, trials, total, eta_s, fraction, steered } = session;
  const over = isOver(session);
  const why = steered ? '' : 'It has no log, by which it could be steered from here';
  // One key for the two that take each other's place: the focus stays.
  const button = (command: Command, word: string, label: string, key: string = command) => (
    <button
      key={key}
      class="swbl-button"
      aria-label={`${label} ${title}`}
      aria-disabled={command !== 'forget' && !steered ? 'true' : undefined}
      title={command === 'forget' ? undefined : why || undefined}
      onClick={() => (command === 'forget' || steered) && onSteer(session, command)}
    >
      {word}
    </button>
  );
  const place = notebook || log;
  return (
    <li class="swbl-session" data-session={session.id} data-state={state}>
      {place ? (
        <button class="swbl-task" title={`Open ${place}`} onClick={() => onOpen(place)}>
          <b>{title}</b>
        </button>
      ) : (
        <b>{title}</b>
      )}
      <p class={state === 'failed' || state === 'lost' ? 'swbl-bad' : 'swbl-quiet'}>{stateOf(session)}</p>
      <progress
        aria-label={`Progress of ${title}`}
        max={1}
        value={state === 'done' && end !== 'stopped' ? 1 : fraction}
      />
      <p>
        {bestOf(session)}
        <br />
        {total == null ? plural(trials, 'trial') : `${count(trials)} of ${plural(total, 'trial')}`}
        {!over && eta_s != null && `, ${duration(eta_s)} left`}
      </p>
      <div class="swbl-session-do">
        {state === 'running' && button('pause', 'Pause', 'Pause', 'steer')}
        {state === 'paused' && button('resume', 'Resume', 'Resume', 'steer')}
        {(state === 'running' || state === 'paused') && button('stop', 'Stop', 'Stop')}
        {over && button('forget', 'Dismiss', 'Dismiss')}
      </div>
      <Tasks of={session} />
    </li>
  );
}

export function SessionsView({ state: { sessions, error }, ...rest }: Props) {
  return (
    <div class="swbl swbl-sessions">
      <h2>Tuning sessions</h2>
      {error && (
        <p class="swbl-note swbl-error" role="alert">
          <b>{error.message}</b> {error.hint}
        </p>
      )}
      {!sessions && !error && <p role="status">Asking the server…</p>}
      {sessions?.length === 0 && (
        <p class="swbl-quiet">None runs. What a notebook tunes, in any kernel, is shown here with its progress.</p>
      )}
      <ul>
        {sessions?.map(session => (
          <One key={session.id} session={session} {...rest} />
        ))}
      </ul>
    </div>
  );
}
