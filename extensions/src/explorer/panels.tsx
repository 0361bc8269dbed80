// Panels that answer one question each: a sentence, a figure and the table behind both.

import { useEffect, useRef, useState } from 'preact/hooks';
import { count } from '../shared/format';
import { mountView } from '../widget/kernel/hosted-view';
import type { Choices, ErrorInfo, Meta, PanelAnswer } from './protocol';
import type { View } from './view';

type State = { readonly answer?: PanelAnswer; readonly error?: ErrorInfo };

function Cell({ cell, most }: { cell: string | readonly [string, number]; most: number | null }) {
  if (typeof cell === 'string')
    return (
      <td class="is-left" title={cell}>
        {cell}
      </td>
    );
  const [text, value] = cell;
  const share = most && most > 0 ? Math.max(0, Math.min(1, value / most)) : 0;
  return (
    <td>
      {most !== null && <i class="swx-bar" style={{ width: `${60 * share}px` }} />}
      {text}
    </td>
  );
}

/** A table as the kernel sends it. */
export function Answer({ answer }: { answer: Pick<PanelAnswer, 'columns' | 'rows' | 'more'> }) {
  if (!answer.rows.length) return null;
  return (
    <div class="swx-scroll swx-answer" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {answer.columns.map(one => (
              <th key={one.name} class={one.numbers ? undefined : 'is-left'}>
                {one.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {answer.rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, k) => (
                <Cell key={k} cell={cell} most={answer.columns[k]!.most} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {answer.more > 0 && <p class="swb-faint">and {answer.more} more rows: the function in Python returns all</p>}
    </div>
  );
}

function Figure({ view, name, stamp }: { view: View; name: string; stamp: unknown }) {
  const place = useRef<HTMLDivElement>(null);
  const [trouble, setTrouble] = useState('');
  useEffect(() => {
    let gone = false;
    let shown: { dispose(): void } | null = null;
    setTrouble('');
    const show = async (): Promise<void> => {
      const answer = await view.store.ask('figure', { name, theme: view.store.theme.peek() });
      if (!gone && place.current) shown = await mountView(view.store.model, answer.shown, place.current, () => !gone);
    };
    show().catch((error: ErrorInfo) => {
      if (error.code !== 'superseded') setTrouble(error.message);
    });
    return () => {
      gone = true;
      shown?.dispose();
    };
  }, [name, stamp, view.store.theme.value]);
  return (
    <>
      {trouble && <p class="swb-careful">{trouble}</p>}
      <div ref={place} class="swx-figure" />
    </>
  );
}

/** What has to be chosen first, where it is asked for. */
function Choose({ view, choices: { column, values, more } }: { view: View; choices: Choices }) {
  return (
    <div class="swx-chips swx-choose" role="group" aria-label={`Choose a ${column}`}>
      {values.map(([place, key, label, n]) => (
        <button
          key={key}
          type="button"
          class="swx-chip"
          data-swx-choice={key}
          onClick={() => {
            void view.open(null);
            if (column === 'task') view.store.set({ task: key });
            else view.store.brush({ [column]: { low: place, high: place } });
          }}
        >
          <b>{label}</b> {count(n)}
        </button>
      ))}
      {more > 0 && <span class="swb-faint">and {count(more)} more</span>}
    </div>
  );
}

interface PanelProps {
  readonly view: View;
  readonly panel: Meta['panels'][number];
  readonly of: Meta['panels'];
}

export function Panel({ view, panel: [name, tab, title], of }: PanelProps) {
  const { store } = view;
  const chosen = store.see('chosen');
  const [state, setState] = useState<State>({});
  const stamp = JSON.stringify([chosen?.n, chosen?.task, chosen?.brushes, chosen?.text, chosen?.statuses]);
  useEffect(() => {
    const wait = setTimeout(() => {
      store.ask('panel', { name }).then(
        answer => setState({ answer }),
        (error: ErrorInfo) => {
          if (error.code !== 'superseded') setState({ error });
        }
      );
    }, 150);
    return () => clearTimeout(wait);
  }, [name, stamp]);
  const { answer, error } = state;
  return (
    <section class="swx-panel" aria-label={title} data-swx-panel={name}>
      <div class="swb-switch swx-questions" role="group" aria-label="Questions">
        {of.map(
          ([one, its, question]) =>
            its === tab && (
              <button
                key={one}
                type="button"
                aria-pressed={one === name}
                data-swx-question={one}
                onClick={() => {
                  view.panel.value = one;
                }}
              >
                {question}
              </button>
            )
        )}
      </div>
      {!answer && !error && <p class="swb-waiting">Working it out…</p>}
      {error && (
        <div class="swb-blank">
          <b>{error.message}</b>
          <p>{error.hint}</p>
        </div>
      )}
      {answer && (
        <>
          <p class="swx-finding">{answer.finding}</p>
          <p class="swb-faint">{answer.scope}</p>
          {answer.choices && <Choose view={view} choices={answer.choices} />}
          {answer.figure && <Figure view={view} name={name} stamp={answer} />}
          <Answer answer={answer} />
        </>
      )}
    </section>
  );
}
