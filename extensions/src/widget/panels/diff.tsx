// What differs between two variants: their numbers, and the lines of their code that are not the same.

import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { Blank } from '../elements/blank';
import { plural } from '../../shared/format';
import type { CodeKind, DiffAnswer, DiffRow } from '../../shared/types';
import { useAnswer } from '../kernel/answers';
import type { Panel, PanelProps } from '../panel';
import { panelOf } from '../elements/tabs';
import { useUi } from '../shell/ui';
import { pairOf, useMarksOf } from '../variants/compare';
import { Forms, Problem } from '../code/forms';
import { Facts } from '../code/diff-facts';
import { Text } from '../code/lines';
import { useWindow } from '../code/window';

type Pair = readonly [number, number];

const SAYS: Readonly<Record<string, string>> = { '-': 'gone', '+': 'new', '~': 'changed', ' ': 'same' };

/** What is said of a line, without the eyes on it. */
const words = ({ mark, left, right, skip }: DiffRow): string =>
  skip
    ? `${plural(skip, 'line')} the same`
    : `${SAYS[mark]}: ${[left, right]
        .map(side => side?.[1].trim())
        .filter(Boolean)
        .join(' → ')}`;

/** Lines are indented half as deep as in the listing: two of them share the width. */
const indentHalf = (line: string): string => line.replace(/^ +/, blanks => blanks.slice(blanks.length / 2));

/** Letters of a line that stands in its half uncut. */
const SHORT = 36;

/** One side of a row: a line with its number, or nothing. */
function Half({ of: side, kind }: { of: DiffRow['left']; kind: CodeKind }) {
  if (!side) return <span class="swb-none" />;
  const [line, text] = side;
  return (
    <span class="swb-side" title={text}>
      <span class="swb-ln">{line + 1}</span>
      <Text line={indentHalf(text)} kind={kind} />
    </span>
  );
}

/** Pixels below which two lines beside each other are too short to read. */
const NARROW = 700;

/** Whether there is too little room for two columns. */
function useNarrow(of: RefObject<HTMLElement>): boolean {
  const narrow = useSignal(false);
  useLayoutEffect(() => {
    const look = (): void => {
      narrow.value = of.current!.clientWidth < NARROW;
    };
    const sizes = new ResizeObserver(look);
    sizes.observe(of.current!);
    look();
    return () => sizes.disconnect();
  }, []);
  return narrow.value;
}

/** A changed line as two: what it was and, below, what it is. */
const unified = (rows: readonly DiffRow[]): readonly DiffRow[] =>
  rows.flatMap(one =>
    one.mark === '~'
      ? [
          { ...one, mark: '-' as const, right: null },
          { ...one, mark: '+' as const, left: null }
        ]
      : [one]
  );

interface RowsProps {
  answer: DiffAnswer;
  narrow: boolean;
  stale: boolean;
  onRow: (row: string) => void;
}

function Rows({ answer, narrow, stale, onRow }: RowsProps) {
  const { kind } = answer;
  const lines = useMemo(() => (narrow ? unified(answer.rows) : answer.rows), [answer, narrow]);
  const changed = (k: number): boolean => (lines[k]?.mark ?? ' ') !== ' ';
  const stops = lines.map((_, k) => k).filter(k => changed(k) && !changed(k - 1));
  const { at, from, to, reveal, idOf, box, all, part } = useWindow(lines.length, {
    stops,
    moved: line => onRow(lines[line]?.row ?? '')
  });
  useLayoutEffect(() => reveal(stops[0] ?? 0), [lines]);
  const { mark, left, right } = lines[at]!;
  const [before, after] = [left, right].map(side => (mark === ' ' ? '' : (side?.[1].trim() ?? '')));
  const short = answer.changed === 1 && [before, after].every(line => (line ?? '').length <= SHORT); // it is all there, right above
  const told = short
    ? []
    : before === after
      ? [['moved', after]]
      : [
          ['before', before],
          ['after', after]
        ];
  return (
    <>
      <div
        {...box}
        class={`swb-lines is-diff${narrow ? ' is-unified' : ''}${stale ? ' is-stale' : ''}`}
        aria-label="Changed rows"
        aria-busy={stale || undefined}
      >
        <div {...all}>
          <div {...part}>
            {lines.slice(from, to).map((one, k) => (
              <div
                key={from + k}
                role="option"
                id={idOf(from + k)}
                class={`swb-text is-${SAYS[one.mark]}`}
                data-line={from + k}
                data-of={one.row}
                data-mark={one.skip ? undefined : one.mark}
                aria-selected={from + k === at}
                aria-posinset={from + k + 1}
                aria-setsize={lines.length}
                aria-label={words(one)}
              >
                {one.skip ? (
                  <span class="swb-gap">{words(one)}</span>
                ) : (
                  <>
                    <span class="swb-mark">{one.mark === '-' ? '−' : one.mark}</span>
                    <Half of={one.left} kind={kind} />
                    <Half of={one.right} kind={kind} />
                  </>
                )}
              </div>
            ))}
          </div>
        </div>
      </div>
      <p class="swb-more" role="status">
        {plural(answer.changed, 'changed row')}
        {answer.cut && `; ${answer.cut}`}
      </p>
      <div class="swb-diff-here" aria-hidden>
        {told.map(
          ([name, line]) =>
            line && (
              <p key={name}>
                <span class="swb-faint">{name}</span> <Text line={line} kind={kind} />
              </p>
            )
        )}
      </div>
    </>
  );
}

function View({ store }: PanelProps) {
  const ui = useUi();
  const kind = ui.code.value;
  const history = store.see('history');
  const task = store.see('head')?.task;
  const all = useSignal(false);
  const inside = useSignal(false);
  const box = useRef<HTMLElement>(null);
  const narrow = useNarrow(box);
  const selected = store.see('nest')?.rows.find(row => row.kind === 'loop' && row.id === store.selected.value)?.id;
  const row = inside.value ? selected : undefined;
  useMarksOf(ui, task);
  const pair = pairOf(ui, history);
  const [a, b] = pair ?? [0, 0];
  const { value: answer, error } = useAnswer(
    store,
    `diff ${task}`,
    'diff',
    pair && { a, b, kind, ...(all.value ? { all: true } : {}), ...(row ? { row } : {}) }
  );
  const ours = answer?.a === a && answer.b === b;
  if (!history || !pair)
    return (
      <section ref={box}>
        <Blank title="There is nothing to compare with">Take a step, or mark two variants.</Blank>
      </section>
    );
  const choice = (label: string, id: number, to: (id: number) => Pair) => (
    <select
      aria-label={label}
      value={id}
      onChange={event => {
        ui.compare.value = to(Number(event.currentTarget.value));
      }}
    >
      {history.rows.map(row => (
        <option key={row.id} value={row.id}>
          v{row.id} {row.name || row.text}
        </option>
      ))}
    </select>
  );
  return (
    <section ref={box} class="swb-diff" aria-label="Diff">
      <header class="swb-panel-head">
        <Forms />
        <span class="swb-diff-pair">
          {choice('Before', a, id => [id, b])} → {choice('After', b, id => [a, id])}
        </span>
        <label class="swb-diff-only">
          <input
            type="checkbox"
            checked={!all.value}
            onChange={() => {
              all.value = !all.peek();
            }}
          />
          {' changed rows only'}
        </label>
        {selected && (
          <label class="swb-diff-only" title="Only the lines of the selected loop and of what it holds">
            <input
              type="checkbox"
              checked={inside.value}
              onChange={() => {
                inside.value = !inside.peek();
              }}
            />
            {' only in '}
            <b class="swb-mono">{selected}</b>
          </label>
        )}
      </header>
      <Facts store={store} history={history} pair={pair} answer={ours ? answer : null} />
      <div {...panelOf(ui, 'code', kind)}>
        {error ? (
          <Problem of={error} />
        ) : !answer ? (
          <Blank title="Comparing…">The kernel is asked what differs.</Blank>
        ) : answer.rows.length === 0 ? (
          <Blank title="No line differs">
            {row
              ? `Nothing in ${row} is another; elsewhere it may be.`
              : a === b
                ? 'These are the same variant.'
                : 'Another form of the code may differ.'}
          </Blank>
        ) : (
          <Rows
            answer={answer}
            narrow={narrow}
            stale={!ours || answer.kind !== kind}
            onRow={id => {
              if (
                !row &&
                store
                  .slice('nest')
                  .peek()
                  ?.rows.some(one => one.id === id)
              )
                store.select(id);
            }}
          />
        )}
      </div>
    </section>
  );
}

export default { name: 'diff', title: 'Diff', at: ['middle'], View } satisfies Panel;
