// What a panel is, and what it is given.

import type { ComponentType } from 'preact';
import type { Model } from './kernel/model';
import type { Store } from './kernel/store';

export interface PanelProps {
  readonly store: Store;
  readonly model: Model;
}

/**
 * Where the shell puts a panel. On the schedule's screen: `drawing` and `left` (one below the other), `middle` (tabs,
 * `below nest` under one of them), `right`, `bottom`; on the screen of tuning: `run` above `results`; `profile` has a
 * screen of its own.
 */
export type Place =
  'drawing' | 'left' | 'middle' | `below ${string}` | 'right' | 'bottom' | 'run' | 'results' | 'profile';

/** A panel is the default export of a file in `panels/`; the build finds it there. */
export interface Panel {
  /** What the kernel calls it: it is shown where `meta.panels` has it, and in the order of that list. */
  readonly name: string;
  readonly title: string;
  readonly at: readonly Place[];
  readonly View: ComponentType<PanelProps>;
  /** What of a panel in `results` stands below those at the bottom of the schedule's screen, folded. */
  readonly Fold?: ComponentType<PanelProps>;
}
