/** The page of a log of any tuner: what is read, what went wrong, or the explorer with the tasks and the damage. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Frame } from '../../explorer/frame';
import { Answer } from '../../explorer/panels';
import type { ExplorerStore } from '../../explorer/store';
import { bytes, count, percent, plural } from '../../shared/format';
import type { ErrorInfo } from '../../shared/types';
import type { Facts } from './connection';

export type Phase =
  | { readonly is: 'asking' }
  | { readonly is: 'reading'; readonly read: number; readonly size: number }
  | { readonly is: 'open'; readonly facts: Facts; readonly store: ExplorerStore }
  | { readonly is: 'stopped'; readonly words: string; readonly error?: ErrorInfo };

export interface Actions {
  readonly read: (text: string) => void;
  readonly cancel: () => void;
  readonly again: () => void;
  readonly notebook: () => void;
}

export function Page({ phase, text, actions }: { phase: Phase; text: string; actions: Actions }): VNode {
  if (phase.is === 'asking') return <Paste text={text} read={actions.read} />;
  if (phase.is === 'reading') return <Reading {...phase} cancel={actions.cancel} />;
  if (phase.is === 'stopped') return <Stopped {...phase} pasted={text !== ''} actions={actions} />;
  return (
    <div class="swbl-log">
      <div class="swbl-bar">
        <button class="swbl-button" onClick={actions.notebook}>
          Explore in a notebook
        </button>
      </div>
      <Damage facts={phase.facts} />
      <Tasks facts={phase.facts} />
      <Frame store={phase.store} />
    </div>
  );
}

function Reading({ read, size, cancel }: { read: number; size: number; cancel: () => void }): VNode {
  const far = size && read ? `${bytes(read)} of ${bytes(size)}, ${percent(Math.min(1, read / size))}` : '';
  return (
    <div class="swbl swbl-wait">
      <p role="status">Reading the log{size ? ` (${bytes(size)})` : ''}…</p>
      <progress aria-label="Read" {...(far ? { value: read, max: size } : {})} />
      <p class="swbl-quiet">{far || ' '}</p>
      <button class="swbl-button" onClick={cancel}>
        Cancel
      </button>
    </div>
  );
}

interface StoppedProps {
  readonly words: string;
  readonly error?: ErrorInfo;
  readonly pasted: boolean;
  readonly actions: Actions;
}

function Stopped({ words, error, pasted, actions }: StoppedProps): VNode {
  const where = error?.where.length ? ` (${error.where.join(', ')})` : '';
  return (
    <div class="swbl">
      <p class={`swbl-note ${error ? 'swbl-error' : 'swbl-info'}`} role={error ? 'alert' : 'note'}>
        {error ? (
          <>
            <strong>Problem: </strong>
            {error.message}
            {where}.<span class="swbl-hint"> {error.hint && sentence(error.hint)}</span>
          </>
        ) : (
          words
        )}
      </p>
      <div class="swbl-bar is-left">
        <button class="swbl-button" onClick={actions.again}>
          {pasted ? 'Change the text' : 'Read it again'}
        </button>{' '}
        <button class="swbl-button" onClick={actions.notebook}>
          Explore in a notebook
        </button>
      </div>
    </div>
  );
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}`;

function Paste({ text: first, read }: { text: string; read: (text: string) => void }): VNode {
  const [text, setText] = useState(first);
  const empty = text.trim() === '';
  const send = (): void => {
    if (!empty) read(text);
  };
  return (
    <form
      class="swbl swbl-paste"
      onSubmit={event => {
        event.preventDefault();
        send();
      }}
    >
      <label for="swbl-pasted">
        A table that a tuner has printed (Inductor, Triton, Helion, …), JSON lines or a table with commas, with whatever
        stands around it
      </label>
      <textarea
        id="swbl-pasted"
        rows={18}
        spellcheck={false}
        value={text}
        onInput={event => setText(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            event.stopPropagation();
            send();
          }
        }}
      />
      <div class="swbl-bar is-left">
        <button class="swbl-button" disabled={empty}>
          Read the text
        </button>
        <span class="swbl-quiet"> Ctrl+Enter</span>
      </div>
    </form>
  );
}

function Tasks({ facts }: { facts: Facts }): VNode | null {
  const n = facts.tasks.rows.length + facts.tasks.more;
  if (n < 2) return null;
  return (
    <details class="swb swx swbl-facts" open>
      <summary>{plural(n, 'task')} with the best of each</summary>
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
      <summary>{plural(n, 'damaged place')}, left out</summary>
      <ul tabIndex={0}>
        {facts.faults.map((one, i) => (
          <li key={i}>{one}</li>
        ))}
        {facts.more_faults > 0 && <li>and {count(facts.more_faults)} more</li>}
      </ul>
    </details>
  );
}
