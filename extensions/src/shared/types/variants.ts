// The states of the schedule on show. The slice is called `history`.

export interface HistoryRow {
  readonly id: number;
  readonly text: string;
  readonly primitive: string;
  readonly ms: number | null;
  readonly spread: number | null;
  readonly gflops: number | null;
  readonly status: string;
  readonly error: string;
  readonly undone: boolean;
  readonly holes: number;
  readonly by: 'hand' | 'tuner';
}
export interface HistorySlice {
  readonly rows: readonly HistoryRow[];
  readonly at: number;
  readonly can_undo: boolean;
  readonly can_redo: boolean;
  readonly can_back: boolean;
  readonly auto: boolean;
}
