/** The page of a log of any tuner: what is read, what went wrong, or the explorer with the tasks and the damage. */
import type { VNode } from 'preact';
import type { ReadonlySignal } from '@preact/signals';
import { Frame } from '../../explorer/frame';
import { Answer } from '../../explorer/panels';
import { Paste, Trouble } from '../../explorer/paste';
import type { ExplorerStore } from '../../explorer/store';
import { bytes, count, percent } from '../../shared/format';
import type { ErrorInfo, Theme } from '../../shared/types';
import type { Facts } from './connection';
import { trans } from '../words';

export type Phase =
  | { readonly is: 'asking'; readonly error: ErrorInfo | null }
  | { readonly is: 'reading'; readonly read: number; readonly size: number }
  | { readonly is: 'open'; readonly facts: Facts; readonly store: ExplorerStore }
  | { readonly is: 'stopped'; readonly words: string; readonly error?: ErrorInfo };

export interface Actions {
  readonly read: (text: string) => void;
  readonly cancel: () => void;
  readonly again: () => void;
  readonly notebook: () => void;
}

interface PageProps {
  readonly phase: Phase;
  readonly text: string;
  readonly theme: ReadonlySignal<Theme>;
  readonly actions: Actions;
}

export function Page({ phase, text, theme, actions }: PageProps): VNode {
  if (phase.is === 'asking')
    return (
      <div class="swb swx" data-swb-theme={theme.value}>
        <Paste text={text} error={phase.error} read={actions.read} />
      </div>
    );
  if (phase.is === 'reading') return <Reading {...phase} cancel={actions.cancel} />;
  if (phase.is === 'stopped') return <Stopped {...phase} theme={theme.value} pasted={text !== ''} actions={actions} />;
  return (
    <div class="swbl-log">
      <div class="swbl-bar">
        <button class="swbl-button" onClick={actions.notebook}>
          {trans.__('Explore in a notebook')}
        </button>
      </div>
      <Damage facts={phase.facts} />
      <Tasks facts={phase.facts} theme={theme.value} />
      <Frame store={phase.store} alone />
    </div>
  );
}

function Reading({ read, size, cancel }: { read: number; size: number; cancel: () => void }): VNode {
  const far = size && read ? trans.__('%1 of %2, %3', bytes(read), bytes(size), percent(Math.min(1, read / size))) : '';
  return (
    <div class="swbl swbl-wait">
      <p role="status">{size ? trans.__('Reading the log (%1)…', bytes(size)) : trans.__('Reading the log…')}</p>
      <progress aria-label={trans.__('Read')} {...(far ? { value: read, max: size } : {})} />
      <p class="swbl-quiet">{far || ' '}</p>
      <button class="swbl-button" onClick={cancel}>
        {trans.__('Cancel')}
      </button>
    </div>
  );
}

interface StoppedProps {
  readonly words: string;
  readonly error?: ErrorInfo;
  readonly theme: Theme;
  readonly pasted: boolean;
  readonly actions: Actions;
}

function Stopped({ words, error, theme, pasted, actions }: StoppedProps): VNode {
  return (
    <div class={error ? 'swb swx' : 'swbl'} data-swb-theme={theme}>
      {error ? (
        <Trouble error={error} />
      ) : (
        <p class="swbl-note swbl-info" role="note">
          {words}
        </p>
      )}
      <div class="swbl-bar is-left">
        <button class="swbl-button" onClick={actions.again}>
          {pasted ? trans.__('Change the text') : trans.__('Read it again')}
        </button>{' '}
        <button class="swbl-button" onClick={actions.notebook}>
          {trans.__('Explore in a notebook')}
        </button>
      </div>
    </div>
  );
}

function Tasks({ facts, theme }: { facts: Facts; theme: Theme }): VNode | null {
  const n = facts.tasks.rows.length + facts.tasks.more;
  if (n < 2) return null;
  return (
    <details class="swb swx swbl-facts" data-swb-theme={theme} open>
      <summary>{trans._n('%2 task with the best of each', '%2 tasks with the best of each', n, count(n))}</summary>
      <Answer answer={facts.tasks} />
    </details>
  );
}

/** The damaged places; of a few the explorer's own note tells. */
function Damage({ facts }: { facts: Facts }): VNode | null {
  const n = facts.faults.length + facts.more_faults;
  if (n <= 3) return null;
  return (
    <details class="swbl-note swbl-warn swbl-facts">
      <summary>{trans._n('%2 damaged place, left out', '%2 damaged places, left out', n, count(n))}</summary>
      <ul tabIndex={0}>
        {facts.faults.map((one, i) => (
          <li key={i}>{one}</li>
        ))}
        {facts.more_faults > 0 && <li>{trans.__('and %1 more', count(facts.more_faults))}</li>}
      </ul>
    </details>
  );
}
