// The program as it was written, and beside it the default schedule, which the table of tasks is about.

import { milliseconds } from '../../shared/format';
import type { HistorySlice } from '../../shared/types';

export const MODEL = 'By a model of the machine; nothing was run';

/** What the program as it was written is called before its time; "" of what came of it. */
export function startOf(history: HistorySlice | null): string {
  const row = history?.rows.find(one => one.id === history.at);
  return row?.edge === 'start' ? row.text : '';
}

/** Beside the program as it was written: what the table of tasks says, which is about the default schedule. */
export function Default({ usual }: { usual: number | null }) {
  return usual === null ? null : (
    <span title={MODEL}>
      default ≈ <b data-swb-value="default">{milliseconds(usual)}</b> ms
    </span>
  );
}
