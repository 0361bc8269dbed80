// A listing as it is on this side: the pages that were looked at, and which row of the nest each line belongs to.

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { CodeAnswer, CodeKind, ErrorInfo } from '../../shared/types';
import { useAnswer } from '../kernel/answers';
import type { Store } from '../kernel/store';

const PAGE = 400;

export interface Listing {
  readonly kind: CodeKind;
  readonly cut: string;
  /** Lines that have come so far; its length is that of the whole listing. */
  readonly lines: readonly (string | undefined)[];
  /** Row of the nest of every line; "" for none. */
  readonly of: readonly string[];
  /** Whether another listing is on its way. */
  readonly stale: boolean;
  /** See to it that these lines come. */
  readonly need: (first: number, last: number) => void;
  /** All lines, also those that nobody looked at. */
  readonly whole: () => Promise<readonly string[]>;
}

function rowsOf({ total, rows, runs }: CodeAnswer): string[] {
  const out = new Array<string>(total).fill('');
  runs.forEach(([first, row], k) => {
    if (row >= 0) out.fill(rows[row]!, first, runs[k + 1]?.[0] ?? total);
  });
  return out;
}

/** The listing of the variant on show, once there is one, and why there is none. */
export function usePages(store: Store, kind: CodeKind): { listing: Listing | null; problem: ErrorInfo | null } {
  const node = store.see('history')?.at;
  const key = `code ${store.see('head')?.task}`;
  const wanted = useSignal(0);
  const kept = useRef<{ head: CodeAnswer; lines: (string | undefined)[]; of: string[] } | null>(null);
  const { value: head, error } = useAnswer(store, key, 'code', node === undefined ? null : { kind, node });
  const more = useAnswer(
    store,
    key,
    'code',
    head && wanted.value ? { kind: head.kind, node: head.node, from: wanted.value } : null
  ).value;
  if (!head) return { listing: null, problem: error };
  if (kept.current?.head !== head) kept.current = { head, lines: new Array<undefined>(head.total), of: rowsOf(head) };
  const { lines, of } = kept.current;
  for (const page of [head, more]) {
    if (page?.node === head.node && page.kind === head.kind)
      page.lines.forEach((line, k) => {
        lines[page.from + k] = line;
      });
  }
  const need = (first: number, last: number): void => {
    const missing = [first, last].find(at => at < lines.length && lines[at] === undefined);
    wanted.value = missing === undefined ? 0 : missing - (missing % PAGE);
  };
  const whole = async (): Promise<readonly string[]> => {
    for (
      let from = lines.findIndex(line => line === undefined);
      from >= 0;
      from = lines.findIndex(line => line === undefined)
    ) {
      const page = await store.ask('code', { kind: head.kind, node: head.node, from });
      if (page.lines.length === 0) break;
      page.lines.forEach((line, k) => {
        lines[from + k] = line;
      });
    }
    return lines as string[];
  };
  return {
    listing: {
      kind: head.kind,
      cut: head.cut,
      lines,
      of,
      stale: head.kind !== kind || head.node !== node,
      need,
      whole
    },
    problem: error
  };
}
