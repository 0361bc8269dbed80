// Two variants beside each other: which ones are marked, and what came of timing them against each other.

import { signal, type Signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { Button } from '../elements/controls';
import type { ContestInfo, HistorySlice } from '../../shared/types';
import type { Store } from '../kernel/store';
import { focusOn, type Ui } from '../shell/ui';
import { noKernel } from '../kernel/link-words';

/** The first of two, until there is a second one. */
const firsts = new WeakMap<Ui, Signal<number | null>>();
function firstOf(ui: Ui): Signal<number | null> {
  let found = firsts.get(ui);
  if (!found) firsts.set(ui, (found = signal(null)));
  return found;
}

export const marked = (ui: Ui): readonly number[] =>
  ui.compare.value ?? [firstOf(ui).value].filter(one => one !== null);

/** Mark a variant, or take the mark away; with the second one what differs is shown. */
export function mark(ui: Ui, id: number): void {
  const first = firstOf(ui);
  const now = marked(ui);
  const then = now.includes(id) ? now.filter(one => one !== id) : [...now, id].slice(-2);
  first.value = then.length === 1 ? then[0]! : null;
  ui.compare.value = then.length === 2 ? [then[0]!, then[1]!] : null;
  if (then.length === 2) ui.middle.value = 'diff';
  ui.said.value = `Marked to compare: ${then.map(one => `v${one}`).join(', ') || 'none'}`;
}

/** Show what differs, even where the page has to be scrolled for it. */
function openDiff(ui: Ui): void {
  ui.middle.value = 'diff';
  requestAnimationFrame(() => {
    ui.root.current?.querySelector('.swb-area-nest')?.scrollIntoView({ block: 'nearest' });
    focusOn(ui, '.swb-slot-diff [tabindex="0"]');
  });
}

/** How far a comparison has come, where it was begun: the other one is missing, or there is something to look at. */
export function Comparing({ ui, store, history }: { ui: Ui; store: Store; history: HistorySlice }) {
  const pair = ui.compare.value;
  const [first] = marked(ui);
  if (first === undefined) return null;
  const clear = (): void => {
    for (const id of marked(ui)) mark(ui, id);
  };
  return (
    <div class="swb-comparing" role="status">
      {pair ? (
        <>
          <b>
            v{pair[0]} → v{pair[1]}
          </b>
          <Button data-swb-do="open-diff" title="What differs between the two (D)" onPress={() => openDiff(ui)}>
            Open diff
          </Button>
          <Timed store={store} history={history} pair={pair} />
        </>
      ) : (
        <span>
          <b>v{first}</b> is marked. Now choose the other variant: press Compare on it, or Shift+click it.
        </span>
      )}
      <Button class="swb-link" data-swb-do="unmark" onPress={clear}>
        Clear
      </Button>
    </div>
  );
}

/** The task that the marked variants are of. */
const tasks = new WeakMap<Ui, number | null | undefined>();

/** Marks are of one task: another one has other variants of the same numbers. */
export function useMarksOf(ui: Ui, task: number | null | undefined): void {
  useLayoutEffect(() => {
    if (tasks.has(ui) && tasks.get(ui) !== task) {
      firstOf(ui).value = null;
      ui.compare.value = null;
    }
    tasks.set(ui, task);
  }, [task]);
}

/** The two marked variants, else that on show and the one that it came of. */
export function pairOf(ui: Ui, history: HistorySlice | null): readonly [number, number] | null {
  const row = (id: number | undefined) => history?.rows.find(one => one.id === id);
  const marked = ui.compare.value;
  if (marked?.every(row)) return marked;
  const at = row(history?.at);
  return at && at.parent !== null ? [at.parent, at.id] : null;
}

/** What is known of two variants against each other. */
export const contestOf = (history: HistorySlice, [a, b]: readonly [number, number]): ContestInfo | undefined =>
  history.contests.find(one => (one.a === a && one.b === b) || (one.a === b && one.b === a));

/** Times two variants against each other, and says what came of it. */
export function Timed({
  store,
  history,
  pair
}: {
  store: Store;
  history: HistorySlice;
  pair: readonly [number, number];
}) {
  const [a, b] = pair;
  const known = contestOf(history, pair);
  const open = history.rows.some(one => pair.includes(one.id) && one.holes > 0);
  const running = known?.state === 'running';
  return (
    <>
      <Button
        data-swb-do="contest"
        title="Run both in turns, so that whatever else runs meets both alike (X)"
        reason={noKernel(store) || (open ? 'numbers are open' : running ? 'they are being timed' : '')}
        onPress={() => store.act('contest', { a, b })}
      >
        Time v{a} against v{b}
      </Button>
      {known && (
        <span class={known.state === 'failed' ? 'swb-careful' : 'swb-mut'} role="status" title={known.error}>
          {known.text}
        </span>
      )}
    </>
  );
}
