// The best so far by evaluation and by time: a curve for each run and task.

import { Switch } from '../widget/elements/switch';
import { Canvas, Head, useSize, type Draw } from './canvas';
import { placeOf } from './axis';
import type { BestSoFar, Curve, Steps } from './protocol';
import { fitted, frameOf, grid, type Frame } from './scatter';
import type { View } from './view';

const HEIGHT = 250;

function steps(context: CanvasRenderingContext2D, f: Frame, s: BestSoFar, points: Steps, end: number): void {
  const { x, y } = points;
  if (!x.length) return;
  const at = (i: number): [number, number] => [f.x(placeOf(s.x, x[i]!)), f.y(placeOf(s.y, y[i]!))];
  context.beginPath();
  let [, height] = at(0);
  context.moveTo(...at(0));
  for (let i = 1; i < x.length; i++) {
    const [right, next] = at(i);
    context.lineTo(right, height);
    context.lineTo(right, next);
    height = next;
  }
  context.lineTo(f.x(placeOf(s.x, end)), height);
  context.stroke();
  context.fillStyle = context.strokeStyle;
  if (x.length <= 60) for (let i = 0; i < x.length; i++) context.fillRect(at(i)[0] - 1.5, at(i)[1] - 1.5, 3, 3);
}

const changes = (curve: Curve): boolean => curve.all.x.length !== curve.chosen.x.length;

const picture =
  (s: BestSoFar): Draw =>
  (context, size, c) => {
    const f = frameOf(size);
    grid(context, size, f, s.x, s.y, c);
    context.lineWidth = 1.25;
    context.strokeStyle = c.rest;
    for (const curve of s.curves) if (changes(curve)) steps(context, f, s, curve.all, curve.end);
    context.lineWidth = 1.75;
    s.curves.forEach((curve, i) => {
      context.strokeStyle = s.curves.length > 1 ? c.hues[i % c.hues.length]! : c.accent;
      steps(context, f, s, curve.chosen, curve.end);
    });
    if (s.curves.length < 2) return;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    s.curves.forEach((curve, i) => {
      const text = fitted(context, curve.name, size.width * 0.6);
      const y = 16 + 14 * i;
      context.lineWidth = 3;
      context.strokeStyle = c.under;
      context.strokeText(text, f.x(1) - 4, y);
      context.fillStyle = c.hues[i % c.hues.length]!;
      context.fillText(text, f.x(1) - 4, y);
    });
    context.textAlign = 'left';
  };

export function Best({ view }: { view: View }) {
  const { store } = view;
  const s = store.see('best');
  const [place, size] = useSize<HTMLDivElement>();
  if (!s) return null;
  return (
    <section class="swx-chart" aria-label="Best so far">
      <Head title="Best so far">
        {s.more > 0 && <span class="swb-faint">and {s.more} shorter ones</span>}
        {s.can_time && (
          <Switch
            label="Over what"
            values={[
              [false, 'Evaluations'],
              [true, 'Time']
            ]}
            value={s.by_time}
            onPick={by_time => store.set({ by_time })}
          />
        )}
      </Head>
      <div ref={place} class="swx-plot" style={{ height: HEIGHT }} data-swx="best">
        <Canvas size={size} draw={picture(s)} on={[s, store.theme.value]} />
      </div>
    </section>
  );
}
