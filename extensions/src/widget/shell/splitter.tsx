// What stands between two areas: drag it, or move it with the arrow keys. A double click or Enter takes it back.

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { LIMITS, resize, room, within, type Part } from './room';

/** What a part is called, the element whose size it is, and whether the part lies beyond the splitter. */
const PARTS: Readonly<Record<Part, readonly [label: string, of: string, beyond?: boolean]>> = {
  left: ['Width of the model', '.swb-area-left'],
  right: ['Width of the primitives', '.swb-area-palette', true],
  drawing: ['Height of the graph', '.swb-slot']
};
/** Pixels for a press of an arrow key, and with Shift. */
const STEP = 16;
const STRIDE = 96;

export function Splitter({ part }: { part: Part }) {
  const [label, of, beyond] = PARTS[part];
  const box = useRef<HTMLDivElement>(null);
  const grip = useRef<{ from: number; size: number } | null>(null);
  const usual = useSignal(0);
  const flat = part === 'drawing';
  const [least, most] = LIMITS[part];
  const measured = (): number => {
    const found = box.current?.parentElement?.querySelector<HTMLElement>(`:scope > ${of}`);
    return (flat ? found?.offsetHeight : found?.offsetWidth) ?? 0;
  };
  const learn = (): void => {
    usual.value = measured();
  };
  useLayoutEffect(learn, []);
  const place = (event: PointerEvent): number => (flat ? event.clientY : event.clientX);
  const move = (by: number): void => resize(part, measured() + (beyond ? -by : by));
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = event.shiftKey ? STRIDE : STEP;
    const [back, on] = flat ? ['ArrowUp', 'ArrowDown'] : ['ArrowLeft', 'ArrowRight'];
    if (event.key === back) move(-by);
    else if (event.key === on) move(by);
    else if (event.key === 'Home') resize(part, least);
    else if (event.key === 'End') resize(part, most);
    else if (event.key === 'Enter') resize(part, null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={box}
      class={`swb-splitter is-${part}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      title={`${label}: drag, or arrow keys; double click for the usual one`}
      aria-orientation={flat ? 'horizontal' : 'vertical'}
      aria-valuemin={least}
      aria-valuemax={most}
      aria-valuenow={room.value[part] ?? within(part, usual.value)}
      onKeyDown={onKeyDown}
      onFocus={learn}
      onDblClick={() => resize(part, null)}
      onPointerDown={event => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        grip.current = { from: place(event), size: measured() };
      }}
      onPointerMove={event => {
        if (!grip.current) return;
        const by = place(event) - grip.current.from;
        if (by) resize(part, grip.current.size + (beyond ? -by : by));
      }}
      onLostPointerCapture={() => {
        grip.current = null;
      }}
    />
  );
}
