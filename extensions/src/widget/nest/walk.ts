// Walking through the rows of the nest: by clicks, by arrows, by the first letters of a name, and not losing the
// keyboard.

import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useLayoutEffect, type MutableRef } from 'preact/hooks';
import type { NestRow } from '../../shared/types';
import type { Store } from '../kernel/store';
import { focusOn, type Ui } from '../shell/ui';
import { rowElement } from './moving';
import { found } from './visible-rows';

type Grid = MutableRef<HTMLDivElement | null>;

/** The rows as they stand there. */
export interface Shown {
  readonly rows: readonly NestRow[];
  readonly shown: readonly NestRow[];
  readonly parents: ReadonlySet<NestRow['parent']>;
  readonly signs: ReadonlyMap<string, string>;
  readonly folded: Signal<ReadonlySet<string>>;
  readonly selected: NestRow | undefined;
}

/** The row that has the tab stop; the focus and the folds follow the selection. */
export function useTabStop(grid: Grid, { rows, shown, folded, selected }: Shown): string | undefined {
  const inShown = selected && shown.includes(selected) ? selected : undefined;
  const stop = inShown?.id ?? shown[0]?.id;
  const had = grid.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    // A row that went away must not take the keyboard with it.
    if (had && stop !== undefined && !grid.current?.contains(document.activeElement))
      rowElement(grid.current, stop)?.focus();
  });
  useLayoutEffect(() => {
    // The focus follows the selection only when it is in the nest already.
    const box = grid.current;
    if (!box?.contains(document.activeElement) || document.activeElement === box) return;
    if (inShown) rowElement(box, inShown.id)?.focus({ preventScroll: false });
  }, [inShown?.id]);
  useEffect(() => {
    if (!selected || inShown) return;
    const open = new Set(folded.peek());
    for (let at = selected.parent; at !== null; at = rows.find(row => row.id === at)?.parent ?? null) open.delete(at);
    folded.value = open;
  }, [selected?.id]);
  return stop;
}

const idOf = (event: Event): string | undefined =>
  (event.target as Element).closest<HTMLElement>('[data-row]')?.dataset.row;

/** Handlers of the grid; `taken` has the first say about a key. `find` is what was typed after a slash. */
export function useWalk(
  store: Store,
  ui: Ui,
  grid: Grid,
  { rows, shown, parents, signs, folded }: Shown,
  taken: (key: string) => boolean
) {
  const find = useSignal<string | null>(null);
  const fold = (id: string, close: boolean): void => {
    const next = new Set(folded.peek());
    if (close) next.add(id);
    else next.delete(id);
    folded.value = next;
  };
  const pick = (row: NestRow | undefined): void => {
    if (!row) return;
    if (signs.get(row.id) !== 'preview') store.select(row.id);
    rowElement(grid.current, row.id)?.focus();
  };
  const onClick = (event: MouseEvent): void => {
    const id = idOf(event);
    if (id === undefined) return;
    if ((event.target as Element).closest('.swb-twist') && parents.has(id)) fold(id, !folded.peek().has(id));
    else pick(rows.find(row => row.id === id));
  };
  /** A row by the first letters of its name: they are typed after a slash, because letters alone are commands. */
  const seek = (key: string): boolean => {
    const before = find.peek();
    if (before === null && key !== '/') return false;
    const typed =
      before === null ? '' : key === 'Backspace' ? before.slice(0, -1) : key.length === 1 ? before + key : null;
    find.value = typed;
    if (typed) pick(found(rows, typed));
    return typed !== null || key === 'Escape' || key === 'Enter';
  };
  const step = (key: string, row: NestRow, at: number): boolean => {
    const open = parents.has(row.id) && !folded.peek().has(row.id);
    switch (key) {
      case 'ArrowDown':
        pick(shown[at + 1]);
        return true;
      case 'ArrowUp':
        pick(shown[at - 1]);
        return true;
      case 'Home':
        pick(shown[0]);
        return true;
      case 'End':
        pick(shown[shown.length - 1]);
        return true;
      case 'ArrowLeft':
        if (open) fold(row.id, true);
        else pick(shown.find(one => one.id === row.parent));
        return true;
      case 'ArrowRight':
        if (open) pick(shown[at + 1]);
        else if (parents.has(row.id)) fold(row.id, false);
        return true;
      case ' ':
        pick(row);
        return true;
      case 'Enter':
        pick(row);
        focusOn(ui, '.swb-pal [data-swb-legal], .swb-pal [data-swb-item]');
        return true;
      default:
        return false;
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const id = idOf(event);
    const at = shown.findIndex(row => row.id === id);
    const row = shown[at];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!taken(event.key) && !seek(event.key) && !step(event.key, row, at)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return { find, onClick, onKeyDown };
}
