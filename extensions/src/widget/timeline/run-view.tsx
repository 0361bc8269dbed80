// One recorded run: tracks that can be zoomed and walked through, the arena below, and what is known of a call.

import type { Signal } from '@preact/signals';
import { Canvas, drag, useSize } from '../../explorer/canvas';
import { bytes, count, micro, milliseconds, percent } from '../../shared/format';
import type { TimelineAnswer } from '../../shared/types';
import { arena, callAt, heightOf, LEFT, MAP_HEIGHT, timeAt, tracks, type Range } from './drawing';

export interface Look {
  /** What of the time is drawn, for all runs; null for all of it. */
  readonly range: Signal<Range | null>;
  /** The call that is picked in the run of this number. */
  readonly picked: Signal<{ readonly number: number; readonly call: number } | null>;
  /** The task whose calls stand out; null for none. */
  readonly lit: Signal<number | null>;
}

const SHORTEST = 500;

/** The range after zooming around a time, inside of what there is. */
export function zoomed(range: Range, at: number, factor: number, all: number): Range | null {
  const length = Math.max(SHORTEST, (range.to - range.from) * factor);
  if (length >= all) return null;
  const from = at - ((at - range.from) * length) / (range.to - range.from);
  return moved({ from, to: from + length }, 0, all);
}

function moved({ from, to }: Range, by: number, all: number): Range {
  const length = to - from;
  const start = Math.min(Math.max(0, from + by), Math.max(0, all - length));
  return { from: start, to: start + length };
}

interface RunProps {
  readonly run: TimelineAnswer;
  /** The longest run, in nanoseconds: all are drawn on one scale. */
  readonly all: number;
  readonly look: Look;
  readonly map: boolean;
  readonly theme: string;
  readonly name: (task: number) => string;
  readonly onOpen: (task: number) => void;
}

function useKeys({ run, all, look, onOpen }: RunProps, range: Range, call: number) {
  const pick = (next: number): void => {
    const at = Math.min(run.names.length - 1, Math.max(0, next));
    look.picked.value = { number: run.number, call: at };
    const [from, to] = [run.stamps[at]!, run.stamps[at + 1]!];
    if (look.range.value && (from < range.from || to > range.to))
      look.range.value = moved(range, (from + to - range.from - range.to) / 2, all);
  };
  const middle = (): number =>
    call < 0 ? (range.from + range.to) / 2 : (run.stamps[call]! + run.stamps[call + 1]!) / 2;
  const keys: Record<string, () => void> = {
    ArrowRight: () => pick(call + 1),
    ArrowLeft: () => pick(call < 0 ? run.names.length - 1 : call - 1),
    '+': () => (look.range.value = zoomed(range, middle(), 0.5, all)),
    '-': () => (look.range.value = zoomed(range, middle(), 2, all)),
    Home: () => (look.range.value = null),
    Enter: () => call >= 0 && onOpen(run.task[call]!)
  };
  return (event: KeyboardEvent): void => {
    const act = keys[event.key === '=' ? '+' : event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
}

export function RunView(props: RunProps) {
  const { run, all, look, map, theme } = props;
  const [box, size] = useSize<HTMLDivElement>();
  const range = look.range.value ?? { from: 0, to: all };
  const picked = look.picked.value?.number === run.number ? look.picked.value.call : -1;
  const onKeyDown = useKeys(props, range, picked);
  const at = (x: number): number => callAt(run.stamps, timeAt(x, range, size.width));
  const hover = (call: number): void => {
    if (call >= 0) look.picked.value = { number: run.number, call };
  };
  const says = `Run with ${run.name} schedules: ${run.names.length} calls on ${run.threads} threads. Left and Right walk through the calls, plus and minus zoom, Home shows all, Enter opens the task.`;
  return (
    <div
      ref={box}
      class="swb-run"
      tabIndex={0}
      role="application"
      aria-label={says}
      data-run={run.name}
      data-lit={look.lit.value ?? undefined}
      onKeyDown={onKeyDown}
      onPointerMove={event => {
        if (!event.buttons) hover(at(event.offsetX));
      }}
      onPointerDown={event => {
        if (event.offsetX < LEFT || !look.range.value) return;
        const start = range;
        const perPixel = (start.to - start.from) / Math.max(1, size.width - LEFT);
        const pan = (now: { x: number }, from: { x: number }): void => {
          if (now.x !== from.x) look.range.value = moved(start, (from.x - now.x) * perPixel, all);
        };
        drag(event, pan, pan);
      }}
      onDblClick={event => {
        const time = timeAt(event.offsetX, range, size.width);
        look.range.value = zoomed(range, time, event.shiftKey ? 4 : 0.25, all);
      }}
      onWheel={event => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        const time = timeAt(event.offsetX, range, size.width);
        look.range.value = zoomed(range, time, event.deltaY > 0 ? 1.25 : 0.8, all);
      }}
    >
      <div style={{ height: `${heightOf(run)}px` }}>
        <Canvas
          size={{ width: size.width, height: heightOf(run) }}
          draw={tracks(run, range, picked, look.lit.value)}
          on={[run, range.from, range.to, picked, look.lit.value, theme]}
        />
      </div>
      {map && (
        <div style={{ height: `${MAP_HEIGHT}px` }}>
          <Canvas
            size={{ width: size.width, height: MAP_HEIGHT }}
            draw={arena(run, range, picked)}
            on={[run, range.from, range.to, picked, theme]}
          />
        </div>
      )}
    </div>
  );
}

/** So many times its median, or less than one over it, is far from it. Chosen: `network_runs.FAR`. */
const FAR = 1.25;

/** How near a call comes to what limits it; of one that is beyond, why. */
function Roof({ run, call }: { run: TimelineAnswer; call: number }) {
  const share = run.roof_share[call];
  const roof = run.roof[call]!;
  if (share == null || !roof) return null;
  if (share > 1) return <span>{run.above[call]}</span>;
  return (
    <span>
      {percent(share)} of {roof === 'compute' ? 'the peak of arithmetic' : `what ${roof} delivers`}
    </span>
  );
}

/** What is known of the picked call. */
export function Readout({ run, call, name }: { run: TimelineAnswer; call: number; name: (task: number) => string }) {
  const speed = run.gflops[call];
  const ns = run.stamps[call + 1]! - run.stamps[call]!;
  const times = ns / 1e6 / Math.max(1e-9, run.ms[call]!);
  const { memory: m } = run;
  const made = m.names.filter((_, i) => m.first[i] === call);
  return (
    <p class="swb-run-readout" role="status">
      <b class="swb-cut" title={run.names[call]}>
        {name(run.task[call]!) || run.names[call]}
      </b>
      <span>
        {run.name}, call {count(call)}: {micro(ns / 1e6)} µs here, median {micro(run.ms[call])} µs
      </span>
      {(times > FAR || times < 1 / FAR) && <b class="swb-careful">{times.toFixed(2)}× its median</b>}
      <b>{percent(run.share[call])}</b>
      {run.gaps[call]! > 0 && <span>gaps {micro(run.gaps[call]! / 1e6)} µs</span>}
      <span>{bytes(run.bytes[call])}</span>
      {speed != null && <span>{milliseconds(speed)} GFLOP/s</span>}
      {run.gbytes[call] != null && <span>{milliseconds(run.gbytes[call])} GB/s</span>}
      <Roof run={run} call={call} />
      <span>{bytes(m.live[call])} live</span>
      {made.length > 0 && <span class="swb-cut">makes {made.join(', ')}</span>}
      {!run.tuned[call] && run.task[call]! >= 0 && <span class="swb-faint">default schedule</span>}
    </p>
  );
}
