// The keyboard: one table for the sheet, one function for what a key does. Keys belong to a view, never to the page.

import type { Store } from './store';
import { focusOn, type Ui } from './ui';
import { noKernel } from './words';

export const SHEET: readonly (readonly [string, string])[] = [
  ['↑ ↓', 'move in the nest, a list or a table'], ['← →', 'fold and unfold a loop'], ['Enter', 'open, apply'],
  ['N', 'to the loop nest'], ['P', 'to the palette'], ['1 … 9', 'open a legal primitive'],
  ['[ ]', 'one step back, forward'], ['Ctrl Z', 'undo'], ['Ctrl Shift Z', 'redo'],
  ['R', 'measure'], ['T', 'tune; pause and resume'], ['/', 'search in the graph'],
  ['Esc', 'close, then leave the panel'], ['?', 'this sheet']
];

const FIELDS = 'input:not([type=checkbox]):not([type=radio]), select, textarea, [contenteditable=true]';
export const STOP = '[role=row][tabindex="0"]';
const LEGAL = '[data-swb-legal]';

/** Do what a key means; true when it meant something. */
export function onKey(event: KeyboardEvent, store: Store, ui: Ui): boolean {
  const { key } = event;
  const typing = (event.target as Element).matches(FIELDS);
  if (key === 'Escape') return leave(ui, store);
  if (typing || event.altKey) return false;
  if (event.ctrlKey || event.metaKey) return history(key.toLowerCase(), event.shiftKey, store);
  if (/^[1-9]$/.test(key)) return openPrimitive(ui, Number(key) - 1);
  switch (key) {
    case '?': ui.sheet.value = true; return true;
    case 'n': return focusOn(ui, `.swb-nest ${STOP}`);
    case 'p': return focusOn(ui, `.swb-pal ${LEGAL}, .swb-pal [data-swb-item]`);
    case '[': return move(store, -1);
    case ']': return move(store, 1);
    case 'r': return press(ui, '[data-swb-do=measure]');
    case 't': return tune(ui, store);
    default: return false;
  }
}

function leave(ui: Ui, store: Store): boolean {
  if (ui.shown.peek()) {
    ui.shown.value = null;
    store.marked.value = new Set();
    return true;
  }
  const root = ui.root.current;
  const notebook = root?.closest<HTMLElement>('.jp-Notebook');
  if (notebook) notebook.focus();
  else (document.activeElement as HTMLElement | null)?.blur();
  return true;
}

function history(key: string, shift: boolean, store: Store): boolean {
  if (key !== 'z' && key !== 'y') return false;
  const redo = key === 'y' || shift;
  const state = store.slice('history').peek();
  if (!noKernel(store) && (redo ? state?.can_redo : state?.can_undo)) store.act(redo ? 'redo' : 'undo', { n: 1 });
  return true;
}

function move(store: Store, by: number): boolean {
  return history('z', by > 0, store);
}

function press(ui: Ui, selector: string): boolean {
  const button = ui.root.current?.querySelector<HTMLElement>(selector);
  button?.click();
  return button != null;
}

function openPrimitive(ui: Ui, n: number): boolean {
  const item = ui.root.current?.querySelectorAll<HTMLElement>(LEGAL)[n];
  item?.focus();
  item?.click();
  return item != null;
}

function tune(ui: Ui, store: Store): boolean {
  const state = store.slice('tuning').peek()?.state;
  if (ui.tab.peek() === 'tuning' && state === 'running') return press(ui, '[data-action=pause]');
  if (ui.tab.peek() === 'tuning' && state === 'paused') return press(ui, '[data-action=resume]');
  return press(ui, '[data-swb-do=tune]');
}
