// The loop nest: one row per loop and statement, with what it costs. A tree grid: arrows walk, fold and select.

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { Blank } from '../elements/blank';
import { count, plural } from '../../shared/format';
import type { NestSlice } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import { useUi } from '../shell/ui';
import { Before, Buffers, Holes } from '../nest/buffers';
import { useGlide } from '../nest/glide';
import { Head, Steps } from '../nest/header-row';
import { useMoving } from '../nest/moving';
import { Row, scaleOf, tickStyle, type Count } from '../nest/row';
import { ghosts, insideIntrinsics, ownFlops, rowOf, stepOf, visible } from '../nest/visible-rows';
import { useTabStop, useWalk } from '../nest/walk';
import { Why } from '../nest/why';

/** More rows than the grid is high; the others follow one frame later, so that the first paint is quick. */
const FIRST = 40;

function useAllRows(n: number): number {
  const all = useSignal(n <= FIRST);
  useEffect(() => {
    if (all.peek() || n <= FIRST) return;
    const frame = requestAnimationFrame(() => {
      all.value = true;
    });
    return () => cancelAnimationFrame(frame);
  }, [n > FIRST]);
  return all.value ? n : FIRST;
}

const NONE: ReadonlySet<string> = new Set();
const NO_SIGNS: ReadonlyMap<string, string> = new Map();

/** The rows on show: those of the nest, or what a step would make of them. Bars keep the scale of the nest as it is. */
function useNest({ store }: PanelProps, nest: NestSlice | null, moving: boolean) {
  const folded = useSignal<ReadonlySet<string>>(NONE);
  const task = store.see('head')?.task;
  useLayoutEffect(() => {
    folded.value = NONE;
  }, [task]); // rows of another task may have the same names
  const meta = store.see('meta');
  const real = nest?.rows ?? [];
  const preview = store.ghost.value;
  // A row is moved among those that are there; and what was said of another nest says nothing of this one.
  const ghost = moving || preview?.of !== nest ? null : preview;
  const seen = useMemo(() => (nest && ghost ? ghosts(nest, ghost.answer) : null), [nest, ghost]);
  const rows = seen?.rows ?? real;
  const parents = useMemo(() => new Set(rows.map(row => row.parent)), [rows]);
  const scale = useMemo(() => scaleOf(real, meta?.caches ?? []), [real, meta?.caches]);
  const shown = useMemo(() => visible(rows, folded.value), [rows, folded.value]);
  const signs = seen?.signs ?? NO_SIGNS;
  // Where the selected row would go away, the first of those that would come stands for it.
  const selected = rowOf(rows, store.selected.value) ?? rows.find(row => signs.get(row.id) === 'preview');
  const described = useMemo(() => insideIntrinsics(rows), [rows]);
  const flops = useMemo(() => ownFlops(rows), [rows]);
  const places = useMemo(() => new Map(rows.map((row, k) => [row.id, k + 2])), [rows]); // the head is the first row
  return {
    places,
    folded,
    rows,
    parents,
    scale,
    shown,
    selected,
    described,
    flops,
    signs,
    step: seen && ghost ? ghost.step : ''
  };
}

function Title({
  store,
  nest,
  find,
  step
}: Pick<PanelProps, 'store'> & { nest: NestSlice; find: string | null; step: string }) {
  return (
    <header class="swb-panel-head">
      <h3 class="swb-h3">Loop nest</h3>
      {find !== null && (
        <span class="swb-previews" role="status">
          find <b class="swb-mono">{find}▏</b>
        </span>
      )}
      {step && (
        <span class="swb-previews" role="status">
          preview of <b class="swb-mono">{step}</b>
        </span>
      )}
      <Holes nest={nest} choices={(store.see('head')?.holes ?? 0) - (nest.free ?? nest.holes.length)} />
      <span class="swb-faint">
        {plural(nest.loops, 'loop')} · {plural(nest.statements, 'statement')}
        <Before store={store} />
      </span>
    </header>
  );
}

function View(props: PanelProps) {
  const { store } = props;
  const ui = useUi();
  const grid = useRef<HTMLDivElement>(null);
  const nest = store.see('nest');
  const seen = useNest(props, nest, ui.moving.value !== '');
  const { places, folded, parents, scale, shown, selected, rows, described, flops, signs, step } = seen;
  const shows = useSignal<Count>('iters');
  const marked = store.marked.value;
  const drawn = useAllRows(shown.length);
  const moving = useMoving(props, nest, grid);
  const about = `${ui.id}-moving`;
  useGlide(grid, rows, shown);
  const stop = useTabStop(grid, seen);
  const { find, onClick, onKeyDown } = useWalk(store, ui, grid, seen, moving.key);
  if (!nest || nest.rows.length === 0) {
    return (
      <Blank title="No schedule is open">
        Open a task in the model or in the table of tasks, or pass a schedule: <code>Workbench(schedule)</code>
      </Blank>
    );
  }
  return (
    <section class="swb-nest" aria-label="Loop nest">
      <Title store={store} nest={nest} find={find.value} step={step} />
      <Steps store={store} history={store.see('history')} />
      <div
        ref={grid}
        class={`swb-grid${moving.row ? ' has-moving' : ''}`}
        role="treegrid"
        aria-label="Loop nest"
        aria-rowcount={rows.length + nest.hidden + 1}
        aria-describedby={moving.row ? about : undefined}
        style={`${tickStyle(scale)};--swb-step:${stepOf(rows)}px${moving.effect && `;--swb-drop:"${moving.effect.split(' est.')[0]}"`}`}
        onClick={onClick}
        onKeyDown={onKeyDown}
        onBlur={() => {
          find.value = null;
        }}
        {...moving.pointer}
      >
        <Head
          scale={scale}
          shows={shows.value}
          onSwitch={next => {
            shows.value = next;
          }}
        />
        {shown.slice(0, drawn).map(row => (
          <Row
            key={row.id}
            row={row}
            place={places.get(row.id)!}
            scale={scale}
            shows={shows.value}
            ownFlops={flops.get(row.id) ?? null}
            open={parents.has(row.id) ? !folded.value.has(row.id) : null}
            selected={row.id === selected?.id}
            stop={row.id === stop}
            marked={marked.has(row.id)}
            described={described.has(row.id)}
            sign={signs.get(row.id) ?? ''}
            look={moving.look(row.id)}
          />
        ))}
      </div>
      {moving.row && (
        <p id={about} class={`swb-moving${moving.refused ? ' is-refused' : ''}`}>
          {moving.words}
        </p>
      )}
      <Buffers nest={nest} store={store} />
      <Why store={store} />
      {nest.hidden > 0 && (
        <p class="swb-more">
          {count(nest.hidden)} more {nest.hidden === 1 ? 'row' : 'rows'}
          {' hidden: only the first '}
          {count(nest.rows.length)} are shown
        </p>
      )}
    </section>
  );
}

export default { name: 'nest', title: 'Loop nest', at: ['middle'], View } satisfies Panel;
