// Which button means what, and in which state it can be pressed.

import { count, plural } from '../../shared/format';
import type { TuningSlice } from '../../shared/types';

export type Action = 'pause' | 'resume' | 'stop' | 'cancel';

/** The word on the button, and what it does. */
export const ACTIONS: Record<Action, readonly [string, string]> = {
  pause: ['Pause', 'starts no new trial; the time meanwhile does not count.'],
  resume: ['Resume', 'goes on where the run was paused.'],
  stop: ['Stop', 'lets the running trial finish, ends the run and keeps everything.'],
  cancel: ['Cancel', 'kills the running trial now and ends the run; earlier trials are kept.']
};

export const STATE_WORDS: Record<string, string> = {
  none: 'No run yet',
  idle: 'Ready',
  running: 'Running',
  paused: 'Paused',
  stopping: 'Stopping',
  done: 'Done',
  cancelled: 'Cancelled',
  failed: 'Failed'
};

const POSSIBLE: Record<Action, readonly string[]> = {
  pause: ['running'],
  resume: ['paused'],
  stop: ['running', 'paused'],
  cancel: ['running', 'paused', 'stopping']
};

/** Why the button cannot be pressed, or nothing. */
export const whyNot = (action: Action, state: string): string =>
  POSSIBLE[action].includes(state) ? '' : state === 'stopping' ? 'the run is already ending.' : 'no run is active.';

/** Whether the budget is used up: what still runs are the comparisons at the end. */
export const isClosing = ({ state, total, trials, eta_s: eta, rate }: TuningSlice): boolean =>
  state === 'running' && trials > 0 && (total == null ? eta === 0 && rate != null : trials >= total);

/** The trials, of those that there should be; never more than there should be. */
export const trialsOf = ({ trials, total }: TuningSlice): string =>
  total == null || total < trials ? plural(trials, 'trial') : `${count(trials)} of ${plural(total, 'trial')}`;
