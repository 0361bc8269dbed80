// One row of the nest, and the scales of its bars. A row is drawn again only when something about it changed.

import { bytes, compact, count, flop } from '../../shared/format';
import { memo } from '../elements/memo';
import type { Cache, ChipKind, NestRow } from '../../shared/types';
import { Icon } from '../elements/icons';

export interface Scale {
  readonly iters: readonly [number, number];
  readonly flops: readonly [number, number];
  readonly bytes: readonly [number, number];
  readonly ws: readonly [number, number];
  /** Caches that get a tick, with their place from 0 to 1. */
  readonly ticks: readonly { readonly name: string; readonly at: number }[];
}

const SMALLEST = 64;
const log = (value: number, [low, high]: readonly [number, number]): number =>
  high > low ? Math.min(1, Math.max(0, Math.log(value / low) / Math.log(high / low))) : 1;
const known = (values: readonly (number | null)[]): number[] => values.filter((v): v is number => v !== null && v > 0);
const span = (values: readonly number[]): readonly [number, number] =>
  values.length ? [Math.min(...values) / 2, Math.max(...values)] : [1, 2];

export function scaleOf(rows: readonly NestRow[], caches: readonly Cache[]): Scale {
  const loops = rows.filter(row => row.kind === 'loop');
  const ticked = caches.filter(cache => cache.name === 'L1' || cache.name === 'L2');
  const high = Math.max(SMALLEST * 2, ...ticked.map(cache => cache.bytes * 8), ...known(loops.map(row => row.ws)));
  const ws = [SMALLEST, high] as const;
  return {
    iters: [1, Math.max(2, ...known(loops.map(row => row.iters)))],
    flops: span(known(loops.map(row => row.flops))),
    bytes: span(known(loops.map(row => row.bytes))),
    ws,
    ticks: ticked.map(cache => ({ name: cache.name, at: log(cache.bytes, ws) }))
  };
}

const place = (at: number): { left: string } => ({ left: `${(100 * at).toFixed(1)}%` });
export const headTicks = (scale: Scale) =>
  scale.ticks.map(tick => (
    <b key={tick.name} style={place(tick.at)}>
      {tick.name}
    </b>
  ));

const part = (value: number, scale: readonly [number, number]): string =>
  value > 0 ? `${Math.max(4, 100 * log(value, scale)).toFixed(1)}%` : '0';

/**
 * A bar is the background of one element: a nest has many rows. What is inside the loops of an open row is drawn
 * fainter.
 */
function Bar({
  of,
  own = of,
  scale,
  name = ''
}: {
  of: number | null;
  own?: number | null;
  scale: readonly [number, number];
  name?: string;
}) {
  return (
    <i
      class={`swb-barbox${name}`}
      style={of === null ? undefined : `--swb-at:${part(of, scale)};--swb-own:${part(own ?? 0, scale)}`}
      aria-hidden
    />
  );
}

/** Places of the ticks, for the style of the whole grid. */
export const tickStyle = (scale: Scale): string =>
  scale.ticks.map(tick => `--swb-${tick.name}:${(100 * tick.at).toFixed(1)}%`).join(';');

const RUNS: readonly (readonly [RegExp, string, string])[] = [
  [/^parallel/, 'parallel', 'Iterations run on several cores'],
  [/^vectorize/, 'vectorize', 'Iterations run as lanes of vector instructions'],
  [/^unroll/, 'unroll', 'Iterations are written out one after the other'],
  [/^(block|v?thread)/, 'bind', 'Iterations are parts of a device; a processor runs them in turn']
];
const ABOUT: Readonly<Record<string, string>> = {
  intrin: 'An instruction computes this loop; the loops inside describe what it does',
  note: 'A note on the loop',
  unit: 'One unit: later steps move it as a whole. What one run reads and writes',
  buffer: 'Lives inside this loop'
};

/**
 * Icon of a chip, and what it means in a sentence. A state that was recorded without kinds shows what its text tells.
 */
function iconOf(text: string, kind: ChipKind | undefined): readonly [string, string] {
  if (kind !== undefined && kind !== 'run') return [kind, ABOUT[kind] ?? ''];
  const [, icon, about] = RUNS.find(([start]) => start.test(text)) ?? ['', 'buffer', ''];
  return [icon, about];
}

const REDUCTIONS = new Set(['sum', 'product', 'max', 'min']);

function Chip({ text, kind, reduce }: { text: string; kind: ChipKind | undefined; reduce: boolean }) {
  if (reduce && REDUCTIONS.has(text)) {
    return (
      <span class="swb-sum" title="The iterations meet in one element: their order matters">
        {text}
      </span>
    );
  }
  const [icon, about] = iconOf(text, kind);
  return (
    <span class={`swb-chip is-${icon}`} title={about ? `${text}\n${about}` : text}>
      <Icon name={icon} size={10} />
      <span>{text}</span>
    </span>
  );
}

/** Text in which open numbers stand out. */
function WithHoles({ text }: { text: string }) {
  if (!text.includes('?')) return <>{text}</>;
  return (
    <>
      {text.split(/(\?[\w.]*)/).map((part, i) =>
        i % 2 ? (
          <span key={i} class="swb-hole">
            {part}
          </span>
        ) : (
          part
        )
      )}
    </>
  );
}

function words(row: NestRow): string {
  if (row.kind !== 'loop') return [row.kind === 'init' ? 'first value' : 'statement', row.text].join(': ');
  const ws = row.ws === null ? '' : `working set ${bytes(row.ws)}${row.level ? ` in ${row.level}` : ''}`;
  const iters = row.iters === null ? '' : `${compact(row.iters)} iterations`;
  return [
    `loop ${row.name}`,
    `extent ${typeof row.extent === 'string' ? 'open number ' : ''}${row.extent}`,
    ...row.chips,
    iters,
    ws
  ]
    .filter(Boolean)
    .join(', ');
}

const LEVEL_WORDS: Readonly<Record<string, string>> = { reg: 'Fits the vector registers', RAM: 'Fits no cache' };

const ofThese = (open: boolean | null, own: number | null, print: (n: number | null) => string): string =>
  open && own !== null ? `, of these ${print(own)} by statements right in this loop` : '';

/** What the second column of numbers shows. */
export type Count = 'iters' | 'flops';

function Costs({ row, scale, open, shows, ownFlops }: Pick<RowProps, 'row' | 'scale' | 'open' | 'shows' | 'ownFlops'>) {
  const iters = shows === 'iters';
  const own = open ? (row.own ?? row.bytes) : row.bytes;
  const counts =
    row.iters === null
      ? 'Depends on an open number'
      : `${count(row.iters)} iterations, ${flop(row.flops)}${ofThese(open, ownFlops, flop)}`;
  return (
    <>
      <span
        class="swb-num"
        role="gridcell"
        title={typeof row.extent === 'string' ? `Open number: ${row.extent}` : undefined}
      >
        {typeof row.extent === 'string' ? <WithHoles text={row.extent} /> : count(row.extent)}
      </span>
      <span class="swb-num swb-col-iters" role="gridcell" title={counts}>
        {iters ? compact(row.iters) : flop(row.flops).replace(/FLOP$/, '')}
        {iters ? (
          <Bar of={row.iters} scale={scale.iters} />
        ) : (
          <Bar of={row.flops} own={open ? ownFlops : row.flops} scale={scale.flops} />
        )}
      </span>
      <span
        class="swb-num swb-col-bytes"
        role="gridcell"
        title={row.bytes === null ? 'Depends on an open number' : `${bytes(row.bytes)}${ofThese(open, own, bytes)}`}
      >
        {bytes(row.bytes)}
        <Bar of={row.bytes} own={own} scale={scale.bytes} />
      </span>
      <span class="swb-num swb-col-ws" role="gridcell">
        {bytes(row.ws)}
        <Bar of={row.ws} scale={scale.ws} name=" is-ticked" />
        <span
          class={`swb-level${row.level ? ` is-${row.level}` : ''}`}
          title={row.level ? (LEVEL_WORDS[row.level] ?? `Fits ${row.level}`) : undefined}
        >
          {row.level ?? ''}
        </span>
      </span>
    </>
  );
}

interface RowProps {
  row: NestRow;
  /** Which row of the grid it is, with the head and those that are folded away. */
  place: number;
  scale: Scale;
  shows: Count;
  ownFlops: number | null;
  /** Whether a row with others inside shows them; null for one without. */
  open: boolean | null;
  selected: boolean;
  /** The row that Tab leads to. */
  stop: boolean;
  /** A reason is about it. */
  marked: boolean;
  /** It describes what an instruction around it does. */
  described: boolean;
  /** What a step that is not taken yet would do to it, in a word. */
  sign: string;
  /** Classes that it has while a row is moved. */
  look: string;
}

export const Row = memo(function Row({
  row,
  place,
  scale,
  shows,
  ownFlops,
  open,
  selected,
  stop,
  marked,
  described,
  sign,
  look
}: RowProps) {
  const loop = row.kind === 'loop';
  const title = loop
    ? undefined
    : `${row.text}\nexecuted ${count(row.iters)} times, ${flop(row.flops)}, ${bytes(row.bytes)} loaded and stored`;
  const looks = `is-${row.kind}${marked ? ' is-marked' : ''}${described ? ' is-described' : ''}${sign === 'preview' ? ' is-ghost' : ''}${look}`;
  return (
    <div
      class={`swb-row ${looks}`}
      role="row"
      data-row={row.id}
      tabIndex={stop ? 0 : -1}
      aria-label={`${sign && `${sign}: `}${words(row)}`}
      aria-rowindex={place}
      aria-level={row.depth + 1}
      aria-expanded={open ?? undefined}
      aria-selected={selected}
    >
      <span
        class="swb-cell-name"
        role="gridcell"
        title={title}
        style={row.depth ? `--swb-depth:${row.depth}` : undefined}
      >
        <span class="swb-twist" aria-hidden>
          {open === null ? '' : open ? '▼' : '►'}
        </span>
        {loop ? (
          <b class="swb-loop swb-cut" title={`${row.name}\nDrag it, or press M, to move it`}>
            {row.name}
          </b>
        ) : (
          <span class="swb-code swb-cut">
            <WithHoles text={row.text} />
          </span>
        )}
        {row.chips.map((chip, i) => (
          <Chip key={chip} text={chip} kind={row.kinds?.[i]} reduce={row.reduce} />
        ))}
        {sign && <span class="swb-sum swb-previews">{sign}</span>}
      </span>
      {loop && <Costs row={row} scale={scale} open={open} shows={shows} ownFlops={ownFlops} />}
    </div>
  );
});
