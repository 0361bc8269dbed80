// Any number of variants in a table: times measured in turns, their machine code, what misses the simulated caches.

import { useSignal } from '@preact/signals';
import { Button } from '../elements/controls';
import { Folded } from '../elements/folded';
import { SteppedWork } from '../elements/stepped-work';
import { bytes, count, milliseconds, plural } from '../../shared/format';
import type { ComparedRow, ComparisonSlice, HistorySlice } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';

/** A column of numbers: what it is called and means, and the number of a row. */
type Column = readonly [
  name: string,
  title: string,
  of: (row: ComparedRow) => number | null,
  show: Show,
  from?: 'm' | 'l'
];
type Show = (value: number | null) => string;

const factor: Show = ratio => (ratio === null ? '' : `${ratio.toFixed(2)}×`);
const columnsOf = (levels: readonly string[]): readonly Column[] => [
  ['ms in turns', 'Median of a call, measured in turns with the others', row => row.ms, milliseconds],
  [
    'of the fastest',
    'Time over that of the fastest, median over the rounds in which both ran',
    row => row.ratio,
    factor
  ],
  ['code', 'Bytes of all instructions', row => row.nbytes, bytes, 'm'],
  ['registers', 'Vector registers that occur in the code', row => row.registers, count, 'm'],
  [
    'vector spills',
    'Instructions of one iteration of the worst innermost loop that keep a vector register on the stack, or take it from there',
    row => row.spills,
    count
  ],
  [
    'scalar spills',
    'The same of addresses and counters: other operands on the stack',
    row => row.scalar_spills,
    count,
    'm'
  ],
  ...levels.map((level, k): Column => [
    `${level} misses`,
    `Misses of ${level}, simulated`,
    row => row.misses[k] ?? null,
    count,
    'l'
  ])
];

interface TableProps extends PanelProps {
  slice: ComparisonSlice;
  at: number;
}

function Table({ store, slice: { levels, rows }, at }: TableProps) {
  const sort = useSignal('ms in turns');
  const columns = columnsOf(levels);
  const [sorted, , by] = columns.find(([name]) => name === sort.value) ?? columns[0]!; // levels may go
  const lines = [...rows].sort((a, b) => (by(a) ?? Infinity) - (by(b) ?? Infinity));
  const from = (part?: string): string => (part ? `swb-from-${part}` : '');
  const cell = (row: ComparedRow, name: string, part?: string): string =>
    name === 'of the fastest' && row.known !== 'apart' ? 'swb-faint' : from(part);
  return (
    <div class="swb-tasks-scroll" tabIndex={0} role="group" aria-label="Variants in a table">
      <table aria-label="Variants in a table">
        <thead>
          <tr>
            <th scope="col" class="swb-l">
              variant
            </th>
            {columns.map(([name, title, , , part]) => (
              <th
                key={name}
                scope="col"
                class={from(part)}
                title={title}
                aria-sort={name === sorted ? 'ascending' : undefined}
              >
                <Button
                  class="swb-link"
                  onPress={() => {
                    sort.value = name;
                  }}
                >
                  {name}
                  {name === sorted && ' ▲'}
                </Button>
              </th>
            ))}
            <th scope="col" class="swb-l">
              outcome
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map(row => (
            <tr key={row.id}>
              <td class="swb-l">
                <Button class="swb-link" onPress={() => store.act('goto', { step: row.id })}>
                  v{row.id}
                </Button>
                {row.id === at && <span class="swb-faint"> on show</span>}
                {row.status !== 'ok' && <b class="swb-careful"> {row.status.replaceAll('_', ' ')}</b>}
              </td>
              {columns.map(([name, , of, show, part]) => (
                <td key={name} class={cell(row, name, part)}>
                  {show(of(row))}
                </td>
              ))}
              <td class="swb-l swb-faint swb-outcome">{row.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Which variants are compared: a box for each that can be measured. */
function Choice({
  history,
  picked,
  onPick
}: {
  history: HistorySlice;
  picked: ReadonlySet<number>;
  onPick: (ids: Iterable<number>) => void;
}) {
  const closed = history.rows.filter(row => !row.holes).map(row => row.id);
  const toggle = (id: number): void => onPick(picked.has(id) ? [...picked].filter(one => one !== id) : [...picked, id]);
  return (
    <fieldset class="swb-choice" aria-label="Variants to compare">
      <Button
        class="swb-link"
        reason={picked.size === closed.length ? 'all are chosen' : ''}
        onPress={() => onPick(closed)}
      >
        all
      </Button>
      <Button class="swb-link" reason={picked.size ? '' : 'none is chosen'} onPress={() => onPick([])}>
        none
      </Button>
      {history.rows.map(row => (
        <label key={row.id} title={row.holes ? 'numbers are open' : row.text}>
          <input
            type="checkbox"
            checked={picked.has(row.id)}
            disabled={row.holes > 0}
            onChange={() => toggle(row.id)}
          />
          {` v${row.id} ${row.name}`}
        </label>
      ))}
    </fieldset>
  );
}

/** Those that were measured; where these are too few, all that can be. */
function usual(history: HistorySlice): readonly number[] {
  const closed = history.rows.filter(row => !row.holes);
  const measured = closed.filter(row => row.ms !== null);
  return (measured.length < 2 ? closed : measured).map(row => row.id);
}

function Body(props: PanelProps) {
  const { store } = props;
  const mine = useSignal<readonly number[] | null>(null); // until somebody chooses, the usual ones
  const slice = store.see('comparison');
  const history = store.see('history');
  if (!slice || !history) return null;
  const picked = new Set(mine.value ?? usual(history));
  const chosen = history.rows.filter(row => !row.holes && picked.has(row.id)).map(row => row.id);
  const said = slice.rows.filter(row => row.note || row.error);
  return (
    <>
      <Choice
        history={history}
        picked={new Set(chosen)}
        onPick={ids => {
          mine.value = [...ids];
        }}
      />
      <SteppedWork
        store={store}
        slice={slice}
        name="compare-variants"
        label="Comparison of variants"
        begin={`Compare ${plural(chosen.length, 'variant')}`}
        reason={chosen.length < 2 ? 'it takes two at least' : ''}
        onBegin={() => store.act('compare_variants', { nodes: chosen })}
        onCancel={() => store.act('cancel_comparison')}
      />
      {slice.rows.length > 0 ? (
        <Table {...props} slice={slice} at={history.at} />
      ) : (
        <p class="swb-tasks-tip">
          Times in turns, bytes of code, vector registers, spills, misses of simulated caches.
        </p>
      )}
      {said.map(row => (
        <p key={row.id} class="swb-tasks-tip">
          v{row.id}: {[row.error, row.note].filter(Boolean).join('; ')}
        </p>
      ))}
    </>
  );
}

function View(props: PanelProps) {
  if (!props.store.see('history')?.rows.length) return null;
  const task = props.store.see('head')?.task; // another one has other variants of the same numbers
  return (
    <Folded name="comparison" label="Comparison" says="Variants in a table" model={props.model}>
      {() => <Body key={task} {...props} />}
    </Folded>
  );
}

export default { name: 'comparison', title: 'Comparison', at: ['bottom'], View } satisfies Panel;
