// What belongs to one view and not to the model: the open tab, the key sheet, the box with a reason, what was said
// aloud.

import { createContext, type RefObject } from 'preact';
import { useContext, useLayoutEffect, useRef } from 'preact/hooks';
import { signal, type Signal } from '@preact/signals';
import { newId } from '../kernel/ids';
import type { CodeKind, Step, WitnessAnswer, WitnessInfo } from '../../shared/types';

export type Tab = 'schedule' | 'tuning' | 'profile';

/** A step that is not legal, with what its reason is about. */
export interface Shown {
  readonly step: string;
  readonly reason: string;
  readonly hint: string;
  readonly where: readonly string[];
  readonly witness: WitnessInfo | null;
  /** Legal steps that do what was meant. */
  readonly instead?: WitnessAnswer['instead'];
}
/** A step of a variant that is to be changed: the form takes the later ones with it. */
export interface Changing {
  readonly node: number;
  readonly step: number;
}
export interface Ui {
  /** What the ids of its elements begin with: a page may have several views, each with a module of its own. */
  readonly id: string;
  readonly root: RefObject<HTMLDivElement>;
  readonly tab: Signal<Tab>;
  /** The panel in the middle of the schedule's screen. */
  readonly middle: Signal<string>;
  /** The panel, or the place of several, that has all the room; "" where all panels are shown. */
  readonly whole: Signal<string>;
  /** Form in which code is shown. */
  readonly code: Signal<CodeKind>;
  /** Two variants to look at side by side. */
  readonly compare: Signal<readonly [number, number] | null>;
  /** Row of the nest that is being moved; "" when none is. */
  readonly moving: Signal<string>;
  /** Row of the nest whose lines of code are lit. */
  readonly lines: Signal<string>;
  readonly sheet: Signal<boolean>;
  readonly exporting: Signal<boolean>;
  readonly targets: Signal<boolean>;
  readonly shown: Signal<Shown | null>;
  /** A step whose form is to open at a row, as soon as the palette is about that row; null when there is none. */
  readonly wanted: Signal<{ readonly row: string; readonly step: Step; readonly of?: Changing } | null>;
  /** What Escape closes beside the box with a reason, the last opened last. */
  readonly closers: (() => void)[];
  /** Read out by a screen reader when it changes. */
  readonly said: Signal<string>;
}

/** The state of a new view. */
export const newUi = (root: Ui['root']): Ui => ({
  id: `swb-${newId()}`,
  root,
  tab: signal<Tab>('schedule'),
  middle: signal('nest'),
  whole: signal(''),
  code: signal<CodeKind>('nest'),
  compare: signal(null),
  moving: signal(''),
  lines: signal(''),
  sheet: signal(false),
  exporting: signal(false),
  targets: signal(false),
  shown: signal(null),
  wanted: signal(null),
  closers: [],
  said: signal('')
});

export const UiContext = createContext<Ui | null>(null);

export function useUi(): Ui {
  const ui = useContext(UiContext);
  if (!ui) throw new Error('a panel needs a frame');
  return ui;
}

/**
 * While something is open, Escape closes it, wherever in the view the focus is; at once, however quick the key comes.
 */
export function useEscape(open: boolean, close: () => void): void {
  const { closers } = useUi();
  const latest = useRef(close);
  latest.current = close;
  useLayoutEffect(() => {
    if (!open) return;
    const one = (): void => latest.current();
    closers.push(one);
    return () => {
      closers.splice(closers.indexOf(one), 1);
    };
  }, [open]);
}

/** Inputs that take what is typed. */
export const ENTRY = 'input:not([type=checkbox], [type=radio], [type=range])';

/** Focus what takes what is typed; what stands there is replaced by it. */
export function typeIn(el: HTMLElement | null | undefined): void {
  el?.focus();
  if (el instanceof HTMLInputElement) el.select();
}

/**
 * Focus the first element that matches, inside this view. What stands aside because another panel has all the room
 * comes back for it. With `still` nothing scrolls.
 */
export function focusOn(ui: Ui, selector: string, still = false): boolean {
  const found = (): HTMLElement | null | undefined => ui.root.current?.querySelector(selector);
  const el = found();
  // What is drawn anew meanwhile is another element.
  const focus = (): void => found()?.focus({ preventScroll: still });
  if (el && ui.whole.peek() && el.getClientRects().length === 0) {
    ui.whole.value = '';
    requestAnimationFrame(focus);
  } else focus();
  return el != null;
}
