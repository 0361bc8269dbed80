// The keyboard: one table for the sheet, one function for what a key does. Keys belong to a view, never to the page.

import { rowOf } from '../nest/visible-rows';
import type { Store } from '../kernel/store';
import { ENTRY, focusOn, typeIn, type Ui } from './ui';
import { noKernel } from '../kernel/link-words';
import { toggleWhole } from './whole';

type Run = (ui: Ui, store: Store, key: string) => boolean;

export const STOP = '[role=row][tabindex="0"]';
const LEGAL = '[data-swb-legal]';

const NEST = `.swb-nest ${STOP}`;
/** The lines of a panel; the keyboard may go to them from its tabs until they have come. */
const linesOf = (panel: string): string =>
  `.swb-slot-${panel} .swb-lines, .swb-slot-${panel}:not(:has(.swb-lines)) [tabindex="0"]`;
const PALETTE = `.swb-pal ${LEGAL}, .swb-pal [data-swb-item]`;

/** Keys as they are written, what they are for, and what to do, where no panel does it; several keys are apart. */
export const SHEET: readonly (readonly [keys: string, text: string, run?: Run])[] = [
  ['↑ ↓ ← →', 'walk in a panel; fold and unfold'],
  ['Enter', 'open, apply'],
  ['N', 'loop nest', ui => toNest(ui)],
  ['P', 'palette', ui => go(ui, PALETTE)],
  ['C', 'code', ui => go(ui, linesOf('code'), 'code')],
  ['D', 'diff with the variant before, or of the two marked', ui => go(ui, linesOf('diff'), 'diff')],
  ['G', 'graph of the model, or of the stages', ui => go(ui, '.swb-pictures [data-node][tabindex="0"]')],
  ['V', 'variants', ui => go(ui, '.swb-slot-variants [tabindex="0"]')],
  ['L', 'profile: where the time of the network goes', toProfile],
  ['W', 'all the room for the panel with the focus; again, or Esc: all panels', ui => toggleWhole(ui)],
  ['M', 'move the selected row; arrows choose, Enter drops; a stage on a loop is computed there', move],
  ['1 … 9', 'open a legal primitive; in its form, type a number'],
  ['Shift Enter', 'mark a variant; two are compared'],
  ['B', 'name this variant, where a branch begins', ui => press(ui, '[data-swb-do=name]')],
  ['S', 'star this variant', ui => press(ui, '[data-swb-do=star]')],
  ['X', 'time the two of the diff against each other', contest],
  ['[ ]', 'variant before, variant after', (_, store, key) => history('z', key === ']', store)],
  ['Ctrl Z', 'undo'],
  ['Ctrl Shift Z', 'redo'],
  ['R', 'measure', ui => press(ui, '[data-swb-do=measure]')],
  ['T', 'tune; pause and resume', (ui, store) => tune(ui, store)],
  [
    'E',
    'export',
    ui => {
      ui.exporting.value = true;
      return true;
    }
  ],
  [
    'O',
    'other targets',
    ui => {
      ui.targets.value = true;
      return true;
    }
  ],
  ['/', 'in the nest: a row by its name; elsewhere: a node in the graph', ui => focusOn(ui, '.swb-search input')],
  ['F + −', 'graph: all of it, larger, smaller; wheel and drag move it, Ctrl wheel zooms'],
  ['Esc', 'close what is open; Shift Tab then leaves the workbench'],
  [
    '?',
    'this sheet',
    ui => {
      ui.sheet.value = true;
      return true;
    }
  ]
];

/** Show the loop nest and go there. */
export const toNest = (ui: Ui): boolean => go(ui, NEST, 'nest');

/** Show where the time of the network goes, and go to the runs or the button that records them. */
export function toProfile(ui: Ui, store: Store): boolean {
  if (!store.slice('meta').peek()?.panels.includes('timeline')) return false;
  ui.tab.value = 'profile';
  requestAnimationFrame(() => focusOn(ui, '.swb-slot-timeline .swb-run') || focusOn(ui, '[data-swb-do=timeline]'));
  return true;
}

/** Take the keyboard to the loop nest, and leave on the screen what somebody reads. */
export const besideNest = (ui: Ui): boolean => focusOn(ui, NEST, true);

/** Begin to move what is selected, be it a stage of the drawing; the nest does the rest. */
function move(ui: Ui, store: Store): boolean {
  const found = toNest(ui);
  const selected = store.selected.peek();
  ui.moving.value = rowOf(store.slice('nest').peek()?.rows ?? [], selected)?.id ?? selected;
  return found;
}

function contest(ui: Ui): boolean {
  const button = '[data-swb-do=contest]';
  requestAnimationFrame(() => press(ui, button));
  return go(ui, button, 'diff');
}

/** Show a part of the schedule's screen and focus something in it. */
function go(ui: Ui, selector: string, middle = ui.middle.peek()): boolean {
  if (ui.tab.peek() === 'schedule' && ui.middle.peek() === middle && focusOn(ui, selector)) return true;
  ui.tab.value = 'schedule';
  ui.middle.value = middle;
  requestAnimationFrame(() => focusOn(ui, selector));
  return true;
}

const FIELDS = `${ENTRY}, select, textarea, [contenteditable=true]`;

/** Do what a key means; true when it meant something. */
export function onKey(event: KeyboardEvent, store: Store, ui: Ui): boolean {
  const { key } = event;
  const typing = (event.target as Element).matches(FIELDS);
  if (key === 'Escape') return close(ui, store);
  if (typing || event.altKey) return false;
  if (event.ctrlKey || event.metaKey) return history(key.toLowerCase(), event.shiftKey, store);
  if (/^\d$/.test(key)) return digit(ui, event.target as Element, Number(key) - 1);
  const run = SHEET.find(([keys, , does]) => does && keys.toLowerCase().split(' ').includes(key))?.[2];
  return run?.(ui, store, key) ?? false;
}

/**
 * Close what was opened last; where nothing is open the view itself has the focus. The notebook never gets it: one
 * Escape too many, and the next letter would be a command to the cell.
 */
function close(ui: Ui, store: Store): boolean {
  const last = ui.closers[ui.closers.length - 1];
  if (ui.shown.peek()) {
    ui.shown.value = null;
    store.marked.value = new Set();
  } else if (last) last();
  else ui.root.current?.focus({ preventScroll: true });
  return true;
}

function history(key: string, shift: boolean, store: Store): boolean {
  if (key !== 'z' && key !== 'y') return false;
  const redo = key === 'y' || shift;
  const state = store.slice('history').peek();
  if (!noKernel(store) && (redo ? state?.can_redo : state?.can_undo)) store.act(redo ? 'redo' : 'undo', { n: 1 });
  return true;
}

function press(ui: Ui, selector: string): boolean {
  const button = ui.root.current?.querySelector<HTMLElement>(selector);
  button?.click();
  return button != null;
}

/**
 * While a form is open a digit is a number for it: it is typed beside what has the focus, else into the form's first
 * input.
 */
function digit(ui: Ui, from: Element, n: number): boolean {
  const form = from.closest('form') ?? ui.root.current?.querySelector('.swb-form');
  if (!form) return openPrimitive(ui, n);
  typeIn(from.closest('[role=group]')?.querySelector<HTMLElement>(ENTRY) ?? form.querySelector<HTMLElement>(ENTRY));
  return false; // the browser puts it there
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
  return press(ui, '[data-swb-do=tune]') || focusOn(ui, '[data-action=start]');
}
