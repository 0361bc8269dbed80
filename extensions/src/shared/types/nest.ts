// The loop nest.

import type { Json } from './json';
import type { Step, WitnessInfo } from './palette';

/** How a loop is run; what is bound to a part of a device has the part's name (`threadIdx.x`, `vthread`). */
export type Mark = 'serial' | 'parallel' | 'vectorize' | 'unroll' | (string & {});
export type ChipKind = 'reduce' | 'run' | 'intrin' | 'note' | 'unit' | 'buffer';
export interface NestRow {
  readonly id: string;
  readonly parent: string | null;
  /** Loops around it; the store works it out. */
  readonly depth: number;
  readonly kind: 'loop' | 'init' | 'stmt';
  readonly name: string;
  readonly extent: number | string | null;
  readonly mark: Mark;
  readonly chips: readonly string[];
  /** What each chip is about. */
  readonly kinds?: readonly ChipKind[];
  readonly text: string;
  readonly reduce: boolean;
  readonly iters: number | null;
  readonly flops: number | null;
  readonly bytes: number | null;
  /** Bytes of the statements that stand right in the loop; null where these are all. */
  readonly own?: number | null;
  readonly ws: number | null;
  readonly level: string | null;
  readonly block: string | null;
}
export interface AccessRow {
  readonly id: string;
  readonly buffer: string;
  /** The element, as the statement writes it. */
  readonly text: string;
  readonly kind: 'read' | 'write' | 'read, write';
  /** Bytes from one iteration to the next; null where nobody knows before it runs. */
  readonly step: number | null;
  /** The same in words: a fact, and after a comma what follows from it. */
  readonly says: string;
  readonly touched: number | null;
}
export interface AccessesSlice {
  readonly row: string;
  readonly rows: readonly AccessRow[];
}
/**
 * What bounds the schedule by its estimate: where the time goes, and reasons, each with the primitive that changes it
 * and its row ("split k").
 */
export interface WhySlice {
  readonly text: string;
  readonly rows: readonly { readonly id: string; readonly says: string }[];
  /** What was measured, where the estimate is not to be believed; else "". */
  readonly measured?: string;
  /** Why there is no advice, in a sentence. */
  readonly off?: string;
}
/**
 * Legal steps that are faster by the estimate, for the reason `id`; `row` is what the first one is about. Without
 * steps: the default schedule.
 */
export interface Cure {
  readonly id: string;
  readonly step?: Step;
  readonly then?: readonly Step[];
  readonly without?: readonly number[];
  readonly label: string;
  readonly row: string;
  /** A command in the place of steps. */
  readonly act?: 'open_trial' | 'goto';
  readonly args?: Readonly<Record<string, unknown>>;
  /** Taken instead of the first: it does not go on from it. */
  readonly or?: boolean;
}
/** Answer to the question "cures". */
export interface CuresAnswer {
  readonly rows: readonly Cure[];
  /** Why no reason has one; the rows of no reason are what else there is. */
  readonly note?: string;
}
/** Answer to the question "plan": each row takes the plan up to itself. */
export interface PlanAnswer {
  readonly text: string;
  readonly rows: readonly Cure[];
}
/**
 * Answer to the question "way": how far it is to the best, what that decides otherwise; each row takes those before
 * it.
 */
export interface WayAnswer extends PlanAnswer {
  readonly differs: string;
}
/** A place to drop a row on, and the step that it means: before a loop, inside it, or into it as a stage. */
export interface DropTarget {
  readonly onto: string;
  readonly place: 'before' | 'after' | 'on';
  readonly step: Step;
  readonly legal: boolean;
  readonly reason: string;
  readonly hint: string;
  readonly where: readonly string[];
  readonly witness: WitnessInfo | null;
}
/** Answer to the question "drops". */
export interface DropsAnswer {
  readonly targets: readonly DropTarget[];
}
interface HoleInfo {
  readonly name: string;
  readonly choices: readonly Json[] | null;
}
export interface NestSlice {
  readonly rows: readonly NestRow[];
  readonly loops: number;
  readonly statements: number;
  readonly hidden: number;
  readonly buffers: readonly string[];
  readonly holes: readonly HoleInfo[];
  /** How many of them are chosen: the others follow from these. */
  readonly free?: number;
  /** Axes of every block, outermost first. */
  readonly axes?: Readonly<Record<string, readonly string[]>>;
  /** How buffers lie in memory, where that is not as usual. */
  readonly storage?: Readonly<Record<string, readonly string[]>>;
}
