// The table of the chosen records. It is as long as they are many, and holds the rows on the screen only.

import { useEffect, useRef } from 'preact/hooks';
import { plural } from '../shared/format';
import type { Table } from './protocol';
import type { View } from './view';

export const ROW = 22;
const SPARE = 12;
/** Browsers draw nothing taller than some 33 million pixels. */
const TALLEST = 20_000_000;

/** Of `n` rows, which is the first at a height, and where a row stands. */
export function ladder(n: number): { height: number; rowAt: (top: number) => number; topOf: (row: number) => number } {
  const height = Math.min(TALLEST, n * ROW);
  const part = n ? height / (n * ROW) : 1;
  return { height, rowAt: top => Math.floor(top / (ROW * part)), topOf: row => row * ROW * part };
}

const LEFT = new Set(['status', 'run', 'task', 'device']);

export function Records({ view }: { view: View }) {
  const { store } = view;
  const table = store.see('table');
  const box = useRef<HTMLDivElement>(null);
  const n = table?.n ?? 0;
  const { height, rowAt, topOf } = ladder(n);
  useEffect(() => {
    if (box.current && table?.first === 0) box.current.scrollTop = 0;
  }, [table?.sort, table?.descending, n]);
  if (!table) return null;
  const look = (): void => {
    const element = box.current!;
    const shown = Math.ceil(element.clientHeight / ROW);
    const row = rowAt(element.scrollTop);
    const { first, records } = table;
    const needs = row < first || row + shown > first + records.length;
    if (needs && n > records.length) store.set({ first: Math.max(0, row - SPARE), count: shown + 2 * SPARE });
  };
  const at = table.records.indexOf(view.record.value ?? -1);
  const show = (to: number): void => {
    const record = table.records[to];
    if (record === undefined) return;
    void view.open(record);
    const element = box.current!;
    const top = topOf(table.first + to);
    const room = element.clientHeight - 2 * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + room) element.scrollTop = top - room;
  };
  const keys = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? ROW) / ROW) - 2);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key];
    if (by === undefined && event.key !== 'Home' && event.key !== 'End') return;
    event.preventDefault();
    event.stopPropagation();
    if (by !== undefined) show(at < 0 ? 0 : Math.max(0, Math.min(table.records.length - 1, at + by)));
    else box.current!.scrollTop = event.key === 'Home' ? 0 : height;
  };
  return (
    <section class="swx-records" aria-label="Records">
      <div class="swx-head">
        <h3 class="swb-h3">
          Records <span class="swb-faint">{plural(n, 'row')}, arrows go through them</span>
        </h3>
      </div>
      <div
        ref={box}
        class="swx-scroll"
        tabIndex={0}
        onScroll={look}
        onKeyDown={keys}
        role="grid"
        aria-rowcount={n}
        aria-label="Records"
      >
        <Rows table={table} view={view} height={height} topOf={topOf} />
      </div>
    </section>
  );
}

interface RowsProps {
  readonly table: Table;
  readonly view: View;
  readonly height: number;
  readonly topOf: (row: number) => number;
}

function Rows({ table, view, height, topOf }: RowsProps) {
  const { store } = view;
  const above = topOf(table.first);
  const below = Math.max(0, height - above - table.records.length * ROW);
  const order = (name: string): void =>
    store.set({ sort: name, descending: table.sort === name ? !table.descending : false, first: 0 });
  return (
    <table>
      <thead>
        <tr>
          {table.columns.map(one => (
            <th
              key={one.name}
              class={LEFT.has(one.name) ? 'is-left' : undefined}
              aria-sort={one.name === table.sort ? (table.descending ? 'descending' : 'ascending') : undefined}
            >
              <button type="button" title={`Order by ${one.title}`} onClick={() => order(one.name)}>
                {one.title}
                {one.name === table.sort && <i>{table.descending ? '↓' : '↑'}</i>}
              </button>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {above > 0 && <tr style={{ height: above }} aria-hidden />}
        {table.rows.map((row, i) => {
          const record = table.records[i]!;
          return (
            <tr
              key={i}
              data-swx-record={record}
              aria-rowindex={table.first + i + 1}
              aria-selected={record === view.record.value}
              onClick={() => void view.open(record)}
            >
              {row.map((text, k) => {
                const name = table.columns[k]!.name;
                const bad = name === 'status' && text !== 'ok';
                return (
                  <td key={name} class={`${LEFT.has(name) ? 'is-left' : ''}${bad ? ' swb-careful' : ''}`} title={text}>
                    {text || '–'}
                  </td>
                );
              })}
            </tr>
          );
        })}
        {below > 0 && <tr style={{ height: below }} aria-hidden />}
      </tbody>
    </table>
  );
}
