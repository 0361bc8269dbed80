// What the state of the link means, and what to do about it, in words.

import { plural } from '../../shared/format';
import type { Store } from './store';

interface LinkWords {
  /** For the status bar. */
  readonly short: string;
  readonly title: string;
  readonly text: string;
  readonly level: 'ok' | 'busy' | 'warn' | 'error';
}

const AGAIN = 'Run the cell again to bring this panel back to life. The numbers are the last ones it had.';
const GONE: Readonly<Record<string, readonly [string, string, string]>> = {
  restarting: ['kernel restarting', 'The kernel is restarting', 'When it is back, run the cell again.'],
  restarted: ['kernel restarted', 'The kernel was restarted', 'Run the cell again to bring this panel back to life.'],
  dead: ['kernel stopped', 'The kernel has stopped', 'Start it again, then run the cell again.'],
  gone: ['not connected', 'This panel has lost its kernel', AGAIN]
};

export function linkWords(store: Store): LinkWords {
  const gone = GONE[store.life.value];
  if (gone) return { short: gone[0], title: gone[1], text: gone[2], level: 'error' };
  const pending = store.pending.value;
  const list = pending.join(', ');
  switch (store.link.value) {
    case 'queued':
      return waiting(store, pending);
    case 'silent':
      return {
        short: 'silent: no answer from the kernel',
        title: 'No answer from the kernel',
        level: 'warn',
        text: `For 10 seconds nothing came back${list && `; waiting: ${list}`}. If a cell runs, the answer comes after it. If none does, run the cell again that shows this panel.`
      };
    case 'static':
      return {
        short: 'no kernel',
        title: 'This page has no kernel',
        level: store.problem.value ? 'error' : 'warn',
        text: 'Open the notebook and run the cell to work with this panel; a saved page holds the open task with its variants, of another task only the tables.'
      };
    default: {
      const busy = store.see('status')?.busy;
      return {
        short: busy || (store.cellRuns.value ? 'kernel busy: a cell runs' : 'kernel idle'),
        title: '',
        text: '',
        level: busy || store.cellRuns.value ? 'busy' : 'ok'
      };
    }
  }
}

/** What an answer waits for: a cell, where one runs; otherwise what the workbench itself is at. */
function waiting(store: Store, pending: readonly string[]): LinkWords {
  const list = pending.join(', ');
  const text =
    pending.length === 1
      ? `1 action is queued: ${list}.`
      : `${plural(pending.length, 'action')} are queued and run in order: ${list}.`;
  if (store.cellRuns.value) {
    return {
      short: `queued: the kernel is busy${list && ` (${list})`}`,
      title: 'The kernel is busy',
      level: 'busy',
      text: list ? text : 'It answers when the running cell is done.'
    };
  }
  const busy = store.see('status')?.busy;
  // Drawings and questions come a moment later by themselves; only what was clicked is worth a note.
  return {
    short: list ? `queued: ${list}` : busy || 'working it out',
    title: list && 'The workbench is busy',
    level: 'busy',
    text: list && `${busy ? `It is ${busy}. ` : ''}${text}`
  };
}

/** Why nothing can be asked of the kernel; empty when it can. */
export function noKernel(store: Store): string {
  const gone = GONE[store.life.value];
  if (gone) return `${gone[1]}: run the cell again`;
  return store.link.value === 'static' ? 'this page has no kernel' : '';
}
