// What can be done with the selection.

import type { EstimateInfo } from './charts';
import type { Args, Json } from './json';
import type { NestRow } from './nest';
import type { ReplayStep } from './variants';

type FieldWidget = 'select' | 'multiselect' | 'factors' | 'size' | 'number' | 'checkbox' | 'text';
export interface FieldInfo {
  readonly name: string;
  readonly widget: FieldWidget;
  readonly label: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly may_be_open: boolean;
  readonly default?: Json;
  /** Words that it may hold; where it names something, `names` says what. */
  readonly options?: readonly Json[];
  readonly names?: 'loop' | 'block' | 'buffer' | 'nest' | 'axis';
  /** The field that an axis or factors are about. */
  readonly of?: string;
  /** Anything else than the options may be written too. */
  readonly free?: boolean;
}
export interface PrimitiveInfo {
  readonly name: string;
  readonly category: string;
  readonly summary: string;
  readonly returns: string;
  readonly fields: readonly FieldInfo[];
}
/** Two iterations that a step would bring into conflict, and the element that they meet in. */
export interface WitnessInfo {
  readonly kind: 'write-write' | 'twice' | 'read-before-write';
  readonly buffer: string;
  readonly element: readonly number[];
  readonly first: Readonly<Record<string, number>>;
  readonly second: Readonly<Record<string, number>>;
  /** Whose iterations they are. */
  readonly blocks: readonly [string, string];
  /** Numbers that were assumed for what is open. */
  readonly filling?: Readonly<Record<string, number>>;
  /** The value as the program is written, and the values that could come out instead. */
  readonly effect?: { readonly order: number; readonly otherwise: readonly number[] };
}
export interface Step {
  readonly primitive: string;
  readonly args: Args;
}
/** Answer to `step`: the last step of a variant, which one it is (from 1), and the row that it was about. */
export interface StepAnswer {
  readonly row: string;
  readonly place: number;
  readonly step: Step;
}
/** A step on offer: legal where the primitive is, else the one that its reason is about. */
interface QuickMove {
  readonly args: Args;
  readonly label: string;
}
export interface PaletteItem {
  /** Name of the primitive. */
  readonly id: string;
  readonly legal: boolean;
  readonly reason: string;
  readonly hint: string;
  readonly where: readonly string[];
  readonly witness: WitnessInfo | null;
  readonly quick: readonly QuickMove[];
  readonly divisors: readonly number[] | null;
}
export interface PaletteSlice {
  readonly at: string;
  /** What "$" stands for in the texts of the rows, as they travel; "" where it stands for itself. */
  readonly name?: string;
  readonly about: string;
  readonly rows: readonly PaletteItem[];
}
/** Whether a step is legal: the same words that the palette uses. */
export interface Verdict {
  readonly legal: boolean;
  readonly code: string;
  readonly reason: string;
  readonly hint: string;
  readonly where: readonly string[];
  readonly witness: WitnessInfo | null;
}
/** What a step would do, before it is taken. */
export interface PreviewAnswer {
  readonly verdict: Verdict;
  readonly makes: readonly string[];
  /** Rows that are new or changed: whole ones, of which only what changes travels. */
  readonly rows: readonly NestRow[];
  /** Ids of the nest after the step. */
  readonly order: readonly string[];
  readonly gone: readonly string[];
  readonly ws: readonly { readonly row: string; readonly before: number | null; readonly after: number | null }[];
  readonly estimate: EstimateInfo | null;
  /**
   * The same of the schedule as it is, without the step; null where the step is not legal, or nothing can be
   * estimated.
   */
  readonly before: EstimateInfo | null;
  /** What came of the steps after one that is changed; none for a step that is no change. */
  readonly later?: readonly ReplayStep[];
}
/** A legal way to what a refused step was meant to do: one step, and those to take right after it. */
export interface Offer {
  /** The first one; none for the default schedule. */
  readonly step?: Step;
  /** Taken after `step`, in this order: only with them is it what was meant. */
  readonly then?: readonly Step[];
  /** Steps to take back before, by their places in the trace. */
  readonly without?: readonly number[];
  /** All of them in words: "reorder(k, j), then vectorize(j)". */
  readonly label: string;
  /** A command in the place of steps; without either it is the default schedule. */
  readonly act?: 'open_trial' | 'goto';
  readonly args?: Readonly<Record<string, unknown>>;
  /** Estimated milliseconds after all of them; null where no estimate is at hand. The fastest offer comes first. */
  readonly est: number | null;
}
/** Answer to the question "witness": why a step is not legal, and legal steps that do what was meant. */
export interface WitnessAnswer {
  readonly verdict: Verdict;
  readonly instead: readonly Offer[];
}
