// The loop nest: one row per loop and statement, with what it costs. A tree grid: arrows walk, fold and select.

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { walk } from '../../shared/a11y';
import { Blank } from '../../shared/blank';
import { count, plural } from '../../shared/format';
import type { NestRow, NestSlice } from '../../shared/types';
import type { PanelProps } from '../panel';
import { focusOn, useUi } from '../ui';
import { headTicks, Row, scaleOf, tickStyle } from './nestrow';

/** Rows that no folded loop hides, in order. */
function visible(rows: readonly NestRow[], folded: ReadonlySet<string>): readonly NestRow[] {
  if (folded.size === 0) return rows;
  const hidden = new Set<string>();
  return rows.filter(row => {
    const inside = row.parent !== null && (folded.has(row.parent) || hidden.has(row.parent));
    if (inside) hidden.add(row.id);
    return !inside;
  });
}

/** Rows that only describe what an instruction around them does: no code is made of them. */
function insideIntrinsics(rows: readonly NestRow[]): ReadonlySet<string> {
  const inside = new Set<string>();
  const instructions = new Set<string>();
  for (const row of rows) {
    if (row.parent !== null && (instructions.has(row.parent) || inside.has(row.parent))) inside.add(row.id);
    if (row.kinds?.includes('intrin')) instructions.add(row.id);
  }
  return inside;
}

/** More rows than any screen shows; the others follow one frame later, so that the first paint is quick. */
const FIRST = 120;

function useAllRows(n: number): number {
  const all = useSignal(n <= FIRST);
  useEffect(() => {
    if (all.peek() || n <= FIRST) return;
    const frame = requestAnimationFrame(() => { all.value = true; });
    return () => cancelAnimationFrame(frame);
  }, [n > FIRST]);
  return all.value ? n : FIRST;
}

/** The row that a selection stands for: its own, or the statement of a selected block. */
function rowOf(rows: readonly NestRow[], id: string): NestRow | undefined {
  if (!id) return undefined;
  return rows.find(row => row.id === id) ?? rows.find(row => row.kind === 'stmt' && row.block === id);
}

function useNest({ store }: PanelProps, nest: NestSlice | null) {
  const folded = useSignal<ReadonlySet<string>>(new Set());
  const rows = nest?.rows ?? [];
  const meta = store.slice('meta').value;
  const parents = useMemo(() => new Set(rows.map(row => row.parent)), [rows]);
  const scale = useMemo(() => scaleOf(rows, meta?.caches ?? []), [rows, meta?.caches]);
  const shown = useMemo(() => visible(rows, folded.value), [rows, folded.value]);
  const selected = rowOf(rows, store.selected.value);
  const described = useMemo(() => insideIntrinsics(rows), [rows]);
  return { folded, rows, parents, scale, shown, selected, described };
}

function Head({ scale }: { scale: ReturnType<typeof scaleOf> }) {
  return (
    <div class="swb-row swb-row-head" role="row">
      <span role="columnheader">loop</span>
      <span role="columnheader" title="Iterations of one run of the loop">extent</span>
      <span role="columnheader" class="swb-col-iters" title="How often the body runs in one call; the bar is logarithmic">iterations</span>
      <span role="columnheader" class="swb-col-bytes" title="Bytes that come from further away when nothing survives from one run of the loop to the next; the bar is logarithmic">traffic</span>
      <span role="columnheader" class="swb-col-ws" title="Bytes that one run of the loop touches, and the smallest level that holds them">
        working set <span class="swb-ticks" aria-hidden="true">{headTicks(scale)}</span>
      </span>
    </div>
  );
}

const STEP = 12;
const ROOM = 96;

/** Pixels by which a row is set in: less in a deep nest, so that its innermost names keep their room. */
function stepOf(nest: NestSlice): number {
  const deepest = Math.max(1, ...nest.rows.map(row => row.depth));
  return Math.max(4, Math.min(STEP, Math.floor(ROOM / deepest)));
}

export function NestPanel(props: PanelProps) {
  const { store } = props;
  const ui = useUi();
  const grid = useRef<HTMLDivElement>(null);
  const nest = store.slice('nest').value;
  const { folded, parents, scale, shown, selected, rows, described } = useNest(props, nest);
  const marked = store.marked.value;
  const drawn = useAllRows(shown.length);
  const inShown = selected && shown.includes(selected) ? selected : undefined;
  const stop = inShown?.id ?? shown[0]?.id;

  const had = grid.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    // A row that went away must not take the keyboard with it.
    if (had && stop !== undefined && !grid.current?.contains(document.activeElement)) element(stop)?.focus();
  });
  useLayoutEffect(() => {
    // The focus follows the selection only when it is in the nest already.
    const box = grid.current;
    if (!box?.contains(document.activeElement) || document.activeElement === box) return;
    if (inShown) element(inShown.id)?.focus({ preventScroll: false });
  }, [inShown?.id]);
  useEffect(() => {
    if (!selected || inShown) return;
    const open = new Set(folded.peek());
    for (let at = selected.parent; at !== null; at = rows.find(row => row.id === at)?.parent ?? null) open.delete(at);
    folded.value = open;
  }, [selected?.id]);

  if (!nest || nest.rows.length === 0) {
    return (
      <Blank title="No schedule is open">
        Open a task in the model or in the table of tasks, or pass a schedule: <code>Workbench(schedule)</code>
      </Blank>
    );
  }
  const element = (id: string): HTMLElement | null => grid.current?.querySelector(`[data-row="${CSS.escape(id)}"]`) ?? null;
  const fold = (id: string, close: boolean): void => {
    const next = new Set(folded.peek());
    if (close) next.add(id);
    else next.delete(id);
    folded.value = next;
  };
  const pick = (row: NestRow | undefined): void => {
    if (!row) return;
    store.select(row.id);
    element(row.id)?.focus();
  };
  const onClick = (event: MouseEvent): void => {
    const target = event.target as Element;
    const id = target.closest<HTMLElement>('[data-row]')?.dataset.row;
    if (id === undefined) return;
    if (target.closest('.swb-twist') && parents.has(id)) fold(id, !folded.peek().has(id));
    else pick(rows.find(row => row.id === id));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const id = (event.target as Element).closest<HTMLElement>('[data-row]')?.dataset.row;
    const at = shown.findIndex(row => row.id === id);
    const row = shown[at];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const open = parents.has(row.id) && !folded.peek().has(row.id);
    switch (event.key) {
      case 'ArrowDown': pick(shown[at + 1]); break;
      case 'ArrowUp': pick(shown[at - 1]); break;
      case 'Home': pick(shown[0]); break;
      case 'End': pick(shown[shown.length - 1]); break;
      case 'ArrowLeft': open ? fold(row.id, true) : pick(shown.find(one => one.id === row.parent)); break;
      case 'ArrowRight': open ? pick(shown[at + 1]) : parents.has(row.id) && fold(row.id, false); break;
      case ' ': pick(row); break;
      case 'Enter': pick(row); focusOn(ui, '.swb-pal [data-swb-legal], .swb-pal [data-swb-item]'); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="swb-nest" aria-label="Loop nest">
      <header class="swb-panel-head">
        <h3 class="swb-h3">Loop nest</h3>
        <Holes nest={nest} choices={(store.slice('head').value?.holes ?? 0) - nest.holes.length} />
        <span class="swb-faint">{plural(nest.loops, 'loop')} · {plural(nest.statements, 'statement')}</span>
      </header>
      <div ref={grid} class="swb-grid" role="treegrid" aria-label="Loop nest" style={`${tickStyle(scale)};--swb-step:${stepOf(nest)}px`} aria-rowcount={nest.rows.length + nest.hidden + 1}
        onClick={onClick} onKeyDown={onKeyDown}>
        <Head scale={scale} />
        {shown.slice(0, drawn).map(row => (
          <Row key={row.id} row={row} scale={scale} open={parents.has(row.id) ? !folded.value.has(row.id) : null}
            selected={row.id === selected?.id} marked={marked.has(row.id)} stop={row.id === stop} described={described.has(row.id)} />
        ))}
      </div>
      <Buffers nest={nest} {...props} />
      {nest.hidden > 0 && <p class="swb-more">{count(nest.hidden)} more {nest.hidden === 1 ? 'row' : 'rows'} hidden: only the first {count(nest.rows.length)} are shown</p>}
    </section>
  );
}

/** Buffers can be selected too: some primitives act on them. */
function Buffers({ store, nest }: PanelProps & { nest: NestSlice }) {
  const box = useRef<HTMLDivElement>(null);
  const { buffers } = nest;
  if (buffers.length === 0) return null;
  const at = store.selected.value;
  const stop = buffers.includes(at) ? at : buffers[0];
  return (
    <div ref={box} class="swb-buffers" role="group" aria-label="Buffers" onKeyDown={event => { if (box.current) walk(event, box.current, 'button'); }}>
      <span class="swb-faint">Buffers</span>
      {buffers.map(name => (
        <button key={name} type="button" class="swb-mini is-wide" data-buffer={name} aria-pressed={name === at ? 'true' : 'false'} tabIndex={name === stop ? 0 : -1}
          title={[`Select buffer ${name}`, ...(nest.storage?.[name] ?? [])].join('\n')} onClick={() => store.select(name)}>{name}
          {nest.storage?.[name]?.map(one => <small key={one} class="swb-stored"> {one}</small>)}</button>
      ))}
    </div>
  );
}

/** What is left open: numbers, which the nest shows as "?", and choices, of which it shows the first. */
function Holes({ nest, choices }: { nest: NestSlice; choices: number }) {
  const { holes } = nest;
  const names = holes.map(hole => `?${hole.name}${hole.choices ? ` of ${hole.choices.join(', ')}` : ''}`).join('; ');
  return (
    <>
      {holes.length > 0 && <span class="swb-hole" title={`Left open for the tuner: ${names}`}>{plural(holes.length, 'open number')}</span>}
      {choices > 0 && <span class="swb-hole" title="Left open for the tuner; the nest shows the first choice that is legal">{plural(choices, 'open choice')}</span>}
    </>
  );
}
