// What is open, what is going on, and what has to be said.

import type { EstimateInfo } from './charts';
import type { ExportInfo, Named } from './export';
import type { PrimitiveInfo } from './palette';
import type { OrderInfo } from './tuning';
import type { ReplayReport } from './variants';

export interface ErrorInfo {
  readonly code: string;
  readonly message: string;
  readonly where: readonly string[];
  readonly hint: string;
}

export interface Cache {
  readonly name: string;
  readonly bytes: number;
}

export interface MetaSlice {
  readonly version: string;
  readonly kind: 'model' | 'task' | 'schedule' | 'tuning' | 'log';
  readonly title: string;
  readonly target: string;
  readonly threads: number | null;
  readonly peak_gflops: number | null;
  /** Of all threads at the same time; else it is one core's, taken times their number. */
  readonly peak_measured?: boolean;
  /** Peaks of products of narrow numbers that have an instruction of their own; null until they are measured. */
  readonly peaks?: Readonly<Record<string, number | null>>;
  readonly caches: readonly Cache[];
  /** Bytes of a cache line. */
  readonly line: number;
  readonly primitives: readonly PrimitiveInfo[];
  readonly orders?: readonly OrderInfo[];
  readonly panels: readonly string[];
  readonly exports?: readonly ExportInfo[];
  readonly tables?: readonly Named[];
  readonly drawings?: readonly Named[];
}

/** Why a time is not to be trusted, and what is known of it, in milliseconds: "≥ 0.137". */
export interface Doubt {
  readonly ms: string;
  readonly text: string;
}

export interface HeadSlice {
  readonly task: number | null;
  readonly name: string;
  readonly weight: number | null;
  readonly flops: number | null;
  readonly step: string;
  readonly ms: number | null;
  /** None where it was timed once. */
  readonly spread: number | null;
  readonly gflops: number | null;
  readonly doubt?: Doubt | null;
  /** Why there is this time and no longer another one. */
  readonly remark?: string;
  /** What the kernel found in the caches, in words. */
  readonly caches?: string;
  /** Which faster variant takes the same time in turns. */
  readonly same?: string;
  readonly peak_share: number | null;
  /** Element type of the numbers that the task multiplies. */
  readonly product?: string;
  /** Why it is faster than the peak, where it is. */
  readonly above?: string;
  readonly best_ms: number | null;
  readonly best_by: 'hand' | 'tuner' | 'template' | null;
  /** Why the best became slower with the last change, where it did. */
  readonly best_why?: string;
  readonly best_sure?: 'compared' | 'again' | 'once' | 'disturbed' | '';
  readonly est: EstimateInfo | null;
  readonly holes: number;
  /** Where the time of a variant by hand is kept, where that matters. */
  readonly logged?: string;
}

export interface SelectionSlice {
  readonly id: string;
}

export interface Note extends Omit<ErrorInfo, 'message'> {
  readonly level: 'info' | 'warn' | 'error';
  readonly text: string;
  readonly replay?: ReplayReport;
}
/** How busy the machine is, and with what; without a text where it is quiet. */
interface LoadInfo {
  readonly text: string;
  readonly whose: string;
  readonly about: string;
}
export interface StatusSlice {
  readonly busy: string;
  readonly note: Note | null;
  readonly log: string;
  readonly load?: LoadInfo | null;
}
