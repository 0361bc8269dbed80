// The name of an axis of the parallel coordinates: it is dragged to another place, and has the keys of the axis.

import { useEffect, useRef } from 'preact/hooks';
import type { JSX } from 'preact';
import { byKey } from './axis';
import { drag } from './canvas';
import type { Axis } from './protocol';
import type { View } from './view';

interface NameProps {
  readonly axis: Axis;
  readonly at: number;
  readonly x: (i: number) => number;
  readonly gap: number;
  readonly close: boolean;
  readonly view: View;
  readonly names: readonly string[];
  readonly onMove: (names: readonly string[]) => void;
}

const moved = (names: readonly string[], from: number, to: number): readonly string[] => {
  const left = names.filter((_, i) => i !== from);
  return [...left.slice(0, to), names[from]!, ...left.slice(to)];
};

export function AxisName({ axis, at, x, gap, close, view, names, onMove }: NameProps) {
  const { store } = view;
  const brush = store.brushes.value[axis.name];
  const button = useRef<HTMLButtonElement>(null);
  const down = (event: JSX.TargetedPointerEvent<HTMLButtonElement>): void => {
    let to = at;
    const nearest = (by: number): number => {
      const goal = x(at) + by;
      return names.map((_, i) => Math.abs(x(i) - goal)).reduce((best, d, i, all) => (d < all[best]! ? i : best), 0);
    };
    drag(
      event,
      (now, from) => {
        to = nearest(now.x - from.x);
        event.currentTarget?.classList.toggle('is-held', to !== at);
      },
      (now, from) => {
        to = nearest(now.x - from.x);
        if (to !== at) onMove(moved(names, at, to));
      }
    );
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey) return;
    const side = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    let done = true;
    if (side && event.altKey) {
      const to = Math.max(0, Math.min(names.length - 1, at + side));
      if (to !== at) {
        onMove(moved(names, at, to));
        view.focusAxis.value = axis.name;
      }
    } else if (side) {
      const all = button.current!.closest('.swx-names')!.querySelectorAll<HTMLElement>('[data-swx-axis]');
      all[Math.max(0, Math.min(all.length - 1, at + side))]?.focus();
    } else if (event.key === 'l' || event.key === 'L') view.toggleLog(axis.name);
    else if (event.key === 'x' || event.key === 'X') onMove(names.filter(name => name !== axis.name));
    else {
      const next = byKey(axis, brush, event.key, event.shiftKey);
      if (next === undefined) done = false;
      else store.brush({ [axis.name]: next });
    }
    if (!done) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const wanted = view.focusAxis.value === axis.name;
  useEffect(() => {
    if (!wanted) return;
    button.current?.focus();
    view.focusAxis.value = '';
  }, [wanted]);
  const stop = view.stopAxis.value;
  return (
    <div class={`swx-axis${close ? (at % 2 ? ' is-low' : ' is-high') : ''}`} style={{ left: x(at) }}>
      <button
        ref={button}
        type="button"
        class="swx-axis-name"
        style={{ maxWidth: close ? 2 * gap - 6 : gap - 6 }}
        data-swx-axis={axis.name}
        tabIndex={stop === axis.name || (!names.includes(stop) && at === 0) ? 0 : -1}
        title={`${axis.title}. Drag to another place; arrows up and down choose a range, L changes the scale, X takes the axis away`}
        aria-label={`Axis ${axis.title}${brush ? ', a range is chosen' : ''}`}
        onPointerDown={down}
        onKeyDown={keys}
        onFocus={() => {
          view.stopAxis.value = axis.name;
        }}
      >
        {axis.title}
      </button>
      <span class="swx-axis-tools">
        {axis.positive && (
          <button
            type="button"
            tabIndex={-1}
            title={axis.log ? 'Equal steps are equal factors' : 'Equal steps are equal differences'}
            onClick={() => view.toggleLog(axis.name)}
          >
            {axis.log ? 'log' : 'lin'}
          </button>
        )}
        <button
          type="button"
          tabIndex={-1}
          title="Take this axis away"
          onClick={() => onMove(names.filter(name => name !== axis.name))}
        >
          ×
        </button>
      </span>
    </div>
  );
}
