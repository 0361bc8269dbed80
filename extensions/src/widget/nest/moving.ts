// Moving a row: dragged with the pointer, or by keyboard. Both choose among the same places, which the kernel has
// judged.

import { useSignal } from '@preact/signals';
import { useEffect, useRef, type MutableRef } from 'preact/hooks';
import { milliseconds, times } from '../../shared/format';
import type { DropTarget, ErrorInfo, NestSlice, PreviewAnswer } from '../../shared/types';
import { stepText } from '../../shared/steps';
import { usePreview } from '../palette/preview';
import { showWhy } from '../palette/witness';
import type { PanelProps } from '../panel';
import { useEscape, useUi } from '../shell/ui';
import { sentence } from '../elements/text';
import { noKernel } from '../kernel/link-words';

const THRESHOLD = 4;
const EDGE = 24;
const PACE = 8;
const STILL = 'button, .swb-twist';
const PLACES = { before: 'before', after: 'inside', on: 'into' } as const;

export interface Moving {
  /** Row that is being moved; "" when none is. */
  readonly row: string;
  /** What is to be said about the chosen place. */
  readonly words: string;
  /** What that would do to the estimate; "" while nobody knows. */
  readonly effect: string;
  readonly refused: boolean;
  /** How a row is drawn as a place to drop on. */
  readonly look: (id: string) => string;
  /** Keys of the moving mode; true when one was meant for it. */
  readonly key: (key: string) => boolean;
  readonly pointer: Pick<
    PointerEvents,
    'onPointerDown' | 'onPointerMove' | 'onPointerUp' | 'onPointerCancel' | 'onClickCapture'
  >;
}
interface PointerEvents {
  onPointerDown: (event: PointerEvent) => void;
  onPointerMove: (event: PointerEvent) => void;
  onPointerUp: () => void;
  onPointerCancel: () => void;
  onClickCapture: (event: Event) => void;
}

const callOf = ({ step }: DropTarget): string => stepText(step.primitive, step.args);

function wordsOf(name: string, targets: readonly DropTarget[] | null, at: DropTarget | undefined): string {
  if (!targets) return `Looking where ${name} can go…`;
  if (at?.legal) return `${PLACES[at.place]} ${at.onto}: ${callOf(at)}`;
  if (at) return `Not ${PLACES[at.place]} ${at.onto}: ${sentence(at.reason)} ${sentence(at.hint)}`;
  return targets.length
    ? `${name} stays where it is. ↑ ↓ choose a place, Enter drops, Esc gives up.`
    : `${name} cannot be moved.`;
}

/** What the chosen place would do to the estimated time, as soon as it is known. */
function effectOf(answer: PreviewAnswer | undefined): string {
  const [before, after] = [answer?.before?.ms, answer?.estimate?.ms];
  return before == null || after == null
    ? ''
    : `≈ ${milliseconds(before)} → ${milliseconds(after)} ms est., ${times(before, after)}`;
}

export function useMoving(
  { store }: PanelProps,
  nest: NestSlice | null,
  grid: MutableRef<HTMLDivElement | null>
): Moving {
  const ui = useUi();
  const targets = useSignal<readonly DropTarget[] | null>(null);
  const over = useSignal('');
  const asked = useRef<Promise<readonly DropTarget[]>>();
  const press = useRef<{ id: string; x: number; y: number } | null>(null);
  const dragged = useRef(false);
  const rolling = useRef(0);
  const row = ui.moving.value;
  const at = targets.value?.find(one => one.onto === over.value);
  const name = nest?.rows.find(one => one.id === row)?.name ?? row;
  const seen = usePreview(store, row && at?.legal ? at.step : null);
  const effect = effectOf(seen?.answer);
  const words = row && [wordsOf(name, targets.value, at), effect].filter(Boolean).join(' · ');

  const end = (): void => {
    press.current = null;
    rolling.current = 0;
    ui.moving.value = '';
  };
  useEffect(() => {
    over.value = '';
    targets.value = null;
    if (!row) return;
    const fail = (error: ErrorInfo): readonly DropTarget[] => {
      if (ui.moving.peek() === row && error.code !== 'superseded') {
        end();
        store.problem.value = error;
      }
      return [];
    };
    const why = noKernel(store);
    if (why) {
      fail({ code: '', message: sentence(why), where: [], hint: '' });
      return;
    }
    asked.current = store.ask('drops', { row }).then(answer => answer.targets, fail);
    void asked.current.then(found => {
      if (ui.moving.peek() === row) targets.value = found;
    });
  }, [row]);
  const last = useRef(nest);
  useEffect(() => {
    if (last.current !== nest) end();
    last.current = nest;
  }, [nest]);
  useEffect(
    () => () => {
      ui.moving.value = '';
    },
    []
  );
  useEscape(row !== '', end);
  useEffect(() => {
    if (words) ui.said.value = words;
  }, [words]);

  const drop = (): void => {
    const onto = over.peek();
    const take = (found: readonly DropTarget[]): void => {
      if (ui.moving.peek() !== row) return;
      end();
      const target = found.find(one => one.onto === onto);
      if (!target) return;
      if (!target.legal) {
        ui.said.value = `${wordsOf(name, found, target)} ${showWhy(store, ui, target.step, target, true)}`;
      } else store.act('apply', { step: target.step });
    };
    if (targets.peek()) take(targets.peek()!);
    else void asked.current?.then(take);
  };
  const step = (by: number): void => {
    const found = targets.peek();
    if (!found) return;
    const rows = nest?.rows.map(one => one.id) ?? [];
    const places = [...new Set([...found.map(one => one.onto), row])].sort((a, b) => rows.indexOf(a) - rows.indexOf(b));
    const next = places[Math.max(0, Math.min(places.length - 1, places.indexOf(over.peek() || row) + by))]!;
    over.value = next === row ? '' : next;
    rowElement(grid.current, next)?.scrollIntoView({ block: 'nearest' });
  };
  const key = (name: string): boolean => {
    if (!row) return false;
    if (name === 'Enter' || name === ' ') drop();
    else if (name in STEPS) step(STEPS[name]!);
    else return false;
    return true;
  };
  /** At an edge the nest scrolls by itself, as long as the pointer stays there. */
  const roll = (): void => {
    if (!press.current || !rolling.current || !grid.current) return;
    grid.current.scrollTop += rolling.current;
    requestAnimationFrame(roll);
  };
  const pointer: PointerEvents = {
    onPointerDown: event => {
      const target = event.target as Element;
      const id = target.closest<HTMLElement>('[data-row]:not(.is-ghost)')?.dataset.row;
      dragged.current = false;
      press.current =
        id === undefined || event.button || event.pointerType === 'touch' || target.closest(STILL)
          ? null
          : { id, x: event.clientX, y: event.clientY };
    },
    onPointerMove: event => {
      if (!event.buttons) press.current = null; // let go where the nest does not hear of it
      const from = press.current;
      const box = grid.current;
      if (!from || !box) return;
      if (!dragged.current) {
        if (Math.hypot(event.clientX - from.x, event.clientY - from.y) < THRESHOLD) return;
        dragged.current = true;
        box.setPointerCapture(event.pointerId);
        ui.moving.value = from.id;
      }
      const { top, bottom } = box.getBoundingClientRect();
      const edge = event.clientY < top + EDGE ? -PACE : event.clientY > bottom - EDGE ? PACE : 0;
      if (edge && !rolling.current) requestAnimationFrame(roll);
      rolling.current = edge;
      const below = (box.getRootNode() as Document | ShadowRoot).elementFromPoint(event.clientX, event.clientY);
      over.value = below?.closest<HTMLElement>('[data-row]')?.dataset.row ?? '';
    },
    onPointerUp: () => {
      press.current = null;
      if (dragged.current && row) drop();
    },
    onPointerCancel: end,
    onClickCapture: event => {
      if (dragged.current) event.stopPropagation();
      dragged.current = false;
    }
  };
  const look = (id: string): string => {
    if (!row) return '';
    if (id === row) return ' is-moving';
    const target = targets.value?.find(one => one.onto === id);
    if (!target) return '';
    return `${target.legal ? ' is-place' : ''}${id === over.value ? ` is-${target.place}${target.legal ? '' : ' is-refused'}` : ''}`;
  };
  return { row, words, effect, refused: at?.legal === false, look, key, pointer };
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowRight: 1,
  ArrowUp: -1,
  ArrowLeft: -1,
  Home: -Infinity,
  End: Infinity
};

export const rowElement = (box: HTMLElement | null, id: string): HTMLElement | null =>
  box?.querySelector(`[data-row="${CSS.escape(id)}"]`) ?? null;
