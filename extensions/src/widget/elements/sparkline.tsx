// A small line of best latencies, smaller is lower; the last point is marked while the task is being tuned.

const W = 56;
const H = 14;

export function Spark({ values, live }: { values: readonly number[]; live: boolean }) {
  const known = values.filter(value => Number.isFinite(value) && value > 0);
  if (known.length === 0) return null;
  const logs = known.map(Math.log);
  const low = Math.min(...logs);
  const span = Math.max(...logs) - low || 1;
  const x = (i: number): number => (known.length > 1 ? 2 + (i / (known.length - 1)) * (W - 6) : W - 4);
  const y = (v: number): number => H - 3 - ((v - low) / span) * (H - 6);
  const d = logs.map((v, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join('');
  const last = logs.length - 1;
  const dot = live || known.length === 1;
  return (
    <svg class={`swb-spark${live ? ' is-live' : ''}`} width={W} height={H} aria-hidden>
      <path d={d} fill="none" stroke="currentColor" stroke-width="1.2" />
      {dot && <circle cx={x(last)} cy={y(logs[last] ?? 0)} r="2" fill="currentColor" />}
    </svg>
  );
}
