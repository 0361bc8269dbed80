/** The drawing of the best so far. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { VNode } from 'preact';
import { count, ms as formatMs } from './format';
import type { Point } from './curves';
import { trans } from '../words';

const HEIGHT = 250;
const PAD = { left: 52, right: 18, top: 22, bottom: 34 };
/** Room under the curve for its last value. */
const BELOW = 22;
/** Dots drawn at most; of more trials every n-th is shown, and the picture says so. */
const DOTS = 600;
/** The axis reaches from the least time to so many times it at least. */
const ROOM = 1.6;
/** Times as long as usual that a trial takes which may lie above the picture; share of the trials that lie in it. */
const FAR = 3;
const MOST = 0.9;
const CROSSES = 80;
/** So near to a dot a click means it. */
const REACH = 9;

interface ChartProps {
  title: string;
  curve: readonly Point[];
  dots: readonly Point[];
  failedAt: number[];
  trials: number;
  /** Place of the chosen trial among those of the curve, 0 for none. */
  chosen?: number;
  /** A dot was clicked. */
  choose?: (nth: number) => void;
}

interface Scale {
  x: (n: number) => number;
  y: (ms: number) => number;
}

/**
 * Where the axis ends: above the tuner's first candidate and nine tenths of all of them, where something takes many
 * times as long. Beside a nest as it was written, they would all lie on one line.
 */
function topOf(shown: readonly Point[], most: number): number {
  const own = shown.filter(({ hand }) => !hand).map(({ ms }) => ms);
  const usual = Math.max(own[0] ?? Infinity, [...own].sort((a, b) => a - b)[Math.floor(MOST * (own.length - 1))] ?? 0);
  return most > FAR * usual ? usual : most;
}

/** Best latency so far over the trials; the vertical axis is logarithmic. */
export function Chart({ title, curve, dots, failedAt, trials, chosen, choose }: ChartProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(260, Math.floor(entry!.contentRect.width))));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const empty = curve.length === 0;
  return (
    <div ref={box} class="swbl-curve">
      {empty ? (
        <p class="swbl-quiet">
          {trials ? 'No trial has a time yet, so there is no curve.' : 'No trials yet, so there is no curve.'}
        </p>
      ) : (
        <Picture {...{ title, curve, dots, failedAt, trials, chosen, choose, width }} />
      )}
    </div>
  );
}

function Picture({
  title,
  curve,
  dots,
  failedAt,
  trials,
  chosen,
  choose,
  width
}: ChartProps & { width: number }): VNode {
  const first = curve[0]!.ms;
  const best = curve.at(-1)!.ms;
  const low = curve.reduce((a, { ms }) => Math.min(a, ms), best); // timed again, the best may have got slower
  const shown = thin(dots, DOTS);
  // A curve that hardly falls gets some room, so that its axis has numbers.
  const most = [...dots, ...curve].reduce((a, { ms }) => Math.max(a, ms), first);
  const high = Math.max(topOf(dots, most) * 1.08, low * ROOM);
  const scale: Scale = {
    x: n => PAD.left + ((width - PAD.left - PAD.right) * n) / Math.max(1, trials),
    y: v => PAD.top + ((HEIGHT - PAD.top - PAD.bottom - BELOW) * Math.max(0, Math.log(high / v))) / Math.log(high / low)
  };
  const label = trans._n(
    'Best so far, %2: from %3 to %4 ms in %5 trial',
    'Best so far, %2: from %3 to %4 ms in %5 trials',
    trials,
    title,
    formatMs(first),
    formatMs(best),
    count(trials)
  );
  const end = scale.x(trials);
  const ring = dots.find(({ n }) => n === chosen);
  const pick = (event: MouseEvent): void => {
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
    const away = shown.map(({ n, ms }) =>
      Math.hypot(left + scale.x(n) - event.clientX, top + scale.y(ms) - event.clientY)
    );
    const near = away.reduce((a, b) => Math.min(a, b), REACH);
    if (near < REACH) choose?.(shown[away.indexOf(near)]!.n);
  };
  return (
    <svg width={width} height={HEIGHT} role="img" aria-label={label} onClick={pick}>
      <Axes scale={scale} low={low} high={high} trials={trials} width={width} />
      <Dots {...{ shown, scale, high, most }} above={dots.filter(({ ms }) => ms > high).length} />
      {thin(failedAt, CROSSES).map(n => (
        <path class="swbl-cross" d={`M${scale.x(n) - 3} ${PAD.top - 11}l6 6m0 -6l-6 6`} />
      ))}
      <path class="swbl-best" d={steps(curve, scale, end)} />
      {curve.map(
        ({ n, ms, why }) =>
          why && (
            <circle class="swbl-end" cx={scale.x(n)} cy={scale.y(ms)} r={3}>
              <title>{why}</title>
            </circle>
          )
      )}
      <circle class="swbl-end" cx={end} cy={scale.y(best)} r={3.5} />
      {ring && <circle class="swbl-ring" cx={scale.x(ring.n)} cy={scale.y(ring.ms)} r={5} />}
      <text class="swbl-value" x={end} y={scale.y(best) + 16} text-anchor="end">
        {formatMs(best)} ms
      </text>
    </svg>
  );
}

interface DotsProps {
  shown: readonly Point[];
  scale: Scale;
  high: number;
  most: number;
  above: number;
}

/** A dot for each trial; what lies above the picture is marked at its edge, and counted. */
function Dots({ shown, scale, high, most, above }: DotsProps): VNode {
  return (
    <>
      {shown.map(({ n, ms }) =>
        ms > high ? (
          <path class="swbl-dot" data-above d={`M${scale.x(n)} ${PAD.top - 3}l3 5h-6z`}>
            <title>{trans.__('%1 ms, above the picture', formatMs(ms))}</title>
          </path>
        ) : (
          <circle class="swbl-dot" cx={scale.x(n)} cy={scale.y(ms)} r={1.8} />
        )
      )}
      {above > 0 && (
        <g class="swbl-axes">
          <text x={PAD.left} y={PAD.top - 10}>
            {trans._n(
              '▲ %2 trial above, up to %3 ms',
              '▲ %2 trials above, up to %3 ms',
              above,
              count(above),
              formatMs(most)
            )}
          </text>
        </g>
      )}
    </>
  );
}

function Axes({
  scale,
  low,
  high,
  trials,
  width
}: {
  scale: Scale;
  low: number;
  high: number;
  trials: number;
  width: number;
}): VNode {
  const right = width - PAD.right;
  const base = HEIGHT - PAD.bottom;
  return (
    <g class="swbl-axes">
      {logTicks(low, high).map(v => (
        <>
          <line x1={PAD.left} x2={right} y1={scale.y(v)} y2={scale.y(v)} />
          <text x={PAD.left - 8} y={scale.y(v) + 4} text-anchor="end">
            {Number(v.toPrecision(3))}
          </text>
        </>
      ))}
      <line class="swbl-base" x1={PAD.left} x2={right} y1={base} y2={base} />
      {linearTicks(trials).map(n => (
        <text x={scale.x(n)} y={base + 16} text-anchor="middle">
          {count(n)}
        </text>
      ))}
      <text x={right} y={HEIGHT - 3} text-anchor="end">
        trials
      </text>
    </g>
  );
}

function steps(curve: readonly Point[], { x, y }: Scale, end: number): string {
  const parts = curve.map(({ n, ms }, i) => (i ? `H${x(n)}V${y(ms)}` : `M${x(n)} ${y(ms)}`));
  return `${parts.join('')}H${end}`;
}

function thin<T>(all: readonly T[], most: number): readonly T[] {
  const step = Math.ceil(all.length / most) || 1;
  return all.filter((_, i) => i % step === 0);
}

/** Round numbers between two bounds: the coarsest set that has three, or the finest. */
function logTicks(low: number, high: number): number[] {
  let ticks: number[] = [];
  for (const steps of [
    [1],
    [1, 2, 5],
    [1, 1.5, 2, 3, 5, 7],
    [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]
  ]) {
    ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      ticks.push(...steps.map(step => step * 10 ** power).filter(v => v >= low && v <= high));
    }
    if (ticks.length >= 3) {
      break;
    }
  }
  return ticks;
}

function linearTicks(trials: number): number[] {
  const raw = trials / 5;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, raw)));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw) ?? 1;
  const out: number[] = [];
  for (let n = 0; n <= trials; n += step) {
    out.push(n);
  }
  return out;
}
