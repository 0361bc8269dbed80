// What belongs to one view and not to the model: the open tab, the key sheet, the box with a reason, what was said aloud.

import { createContext, type RefObject } from 'preact';
import { useContext } from 'preact/hooks';
import { signal, type Signal } from '@preact/signals';
import type { CodeKind, WitnessAnswer, WitnessInfo } from '../shared/types';

export type Tab = 'schedule' | 'tuning';
export type Middle = 'nest' | 'code' | 'diff';

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
export interface Ui {
  readonly root: RefObject<HTMLDivElement>;
  readonly tab: Signal<Tab>;
  /** What the middle of the schedule's screen shows. */
  readonly middle: Signal<Middle>;
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
  readonly shown: Signal<Shown | null>;
  /** Read out by a screen reader when it changes. */
  readonly said: Signal<string>;
}

/** The state of a new view. */
export const newUi = (root: Ui['root']): Ui => ({
  root, tab: signal<Tab>('schedule'), middle: signal<Middle>('nest'), code: signal<CodeKind>('nest'), compare: signal(null), moving: signal(''), lines: signal(''),
  sheet: signal(false), exporting: signal(false), shown: signal(null), said: signal('')
});

export const UiContext = createContext<Ui | null>(null);

export function useUi(): Ui {
  const ui = useContext(UiContext);
  if (!ui) throw new Error('a panel needs a frame');
  return ui;
}

/** Focus the first element that matches, inside this view. */
export function focusOn(ui: Ui, selector: string): boolean {
  const el = ui.root.current?.querySelector<HTMLElement>(selector);
  el?.focus();
  return el != null;
}
