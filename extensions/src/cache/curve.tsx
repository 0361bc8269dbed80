// Misses of the first level over the run: a line for each film, and where the run stands.

import { Canvas, font, useSize, type Draw } from '../explorer/canvas';
import { compact } from '../shared/format';
import type { Pictures } from './pictures';

const HEIGHT = 92;
const [LEFT, RIGHT, TOP, FOOT] = [52, 90, 8, 18];
const LABEL = 13;
const DASHES = [[], [5, 3]];

export function Curve({ films, at, theme }: { films: readonly Pictures[]; at: readonly number[]; theme: string }) {
  const [box, size] = useSize<HTMLDivElement>();
  const draw: Draw = (context, { width, height }, colours) => {
    const most = Math.max(1, ...films.map(f => f.misses(f.count - 1)));
    const x = (share: number): number => LEFT + share * (width - LEFT - RIGHT);
    const y = (misses: number): number => height - FOOT - (misses / most) * (height - TOP - FOOT);
    context.font = font;
    context.strokeStyle = colours.line;
    context.strokeRect(x(0), TOP, x(1) - x(0), height - TOP - FOOT);
    context.fillStyle = colours.faint;
    context.textAlign = 'right';
    context.fillText(compact(most), LEFT - 6, TOP + 8);
    context.fillText('0', LEFT - 6, height - FOOT);
    context.textAlign = 'left';
    context.fillText('start', x(0), height - 4);
    context.textAlign = 'right';
    context.fillText(
      films.some(film => film.info.part < 1) ? 'end of what is run' : 'end of the run',
      x(1),
      height - 4
    );
    context.textAlign = 'left';
    // Names stand at the ends of their lines, and below the upper one where lines end at one place.
    const ends = films.map(film => Math.max(TOP + 8, y(film.misses(film.count - 1)) + 4));
    const top = ends.indexOf(Math.min(...ends));
    films.forEach((film, k) => {
      context.strokeStyle = k === 0 && films.length > 1 ? colours.bad : colours.accent;
      context.lineWidth = 1.5;
      context.setLineDash(DASHES[k] ?? []);
      context.beginPath();
      const total = Math.max(1, film.info.total);
      for (let i = 0; i < film.count; i++) context.lineTo(x(film.time(i) / total), y(film.misses(i)));
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = colours.ink;
      context.fillText(
        film.info.name.slice(0, 14),
        x(1) + 6,
        k === top ? ends[k]! : Math.max(ends[k]!, ends[top]! + LABEL)
      );
    });
    films.forEach((film, k) => {
      const place = x(at[k]! / Math.max(1, film.info.total));
      context.strokeStyle = colours.ink;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(place, TOP);
      context.lineTo(place, height - FOOT);
      context.stroke();
    });
  };
  return (
    <div class="swc-curve" ref={box} style={{ height: `${HEIGHT}px` }}>
      <Canvas size={size} draw={draw} on={[films, at.join(), theme]} />
    </div>
  );
}
