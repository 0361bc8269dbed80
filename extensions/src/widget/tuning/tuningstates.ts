// Which button means what, and in which state it can be pressed.

export type Action = 'pause' | 'resume' | 'stop' | 'cancel';

export const ACTIONS: Record<Action, { label: string; meaning: string; short: string }> = {
  pause: { label: 'Pause', short: 'starts no new trial, the running one finishes.', meaning: 'Starts no new trial; the running one finishes. Resume at any time.' },
  resume: { label: 'Resume', short: 'goes on where the run was paused.', meaning: 'Goes on where the run was paused.' },
  stop: { label: 'Stop', short: 'lets the running trial finish and keeps everything.', meaning: 'Starts no new trial, lets the running one finish and ends the run; everything measured is kept.' },
  cancel: { label: 'Cancel', short: 'kills the running trial now.', meaning: 'Kills the running trial now and ends the run; that trial is lost, earlier ones are kept.' }
};

export const STATE_WORDS: Record<string, string> = {
  none: 'No run yet', idle: 'Ready', running: 'Running', paused: 'Paused', stopping: 'Stopping', done: 'Done',
  cancelled: 'Cancelled', failed: 'Failed'
};

const POSSIBLE: Record<Action, readonly string[]> = {
  pause: ['running'], resume: ['paused'], stop: ['running', 'paused'], cancel: ['running', 'paused', 'stopping']
};

/** Why the button cannot be pressed, or nothing. */
export function whyNot(action: Action, state: string): string {
  if (POSSIBLE[action].includes(state)) return '';
  return state === 'stopping' ? 'the run is already ending.' : 'no run is active.';
}
