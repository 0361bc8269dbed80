// A number in a form: some on offer as buttons, any other typed.

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Choices } from '../elements/controls';
import type { Json } from '../../shared/types';

interface NumbersProps {
  label: string;
  /** What the input is called beside the buttons. */
  any?: string;
  values: readonly number[];
  /** Those that arrows go through in the input, in order; the buttons' if not said. */
  steps?: readonly number[];
  value: Json;
  /** Left open: no number stands there. */
  off?: boolean;
  min?: number;
  /** The number, or "" where what is typed is none. */
  onPick: (value: number | '') => void;
}

/**
 * What is being typed stays as it is, also empty, when an answer draws the form anew; what was not typed is replaced
 * by it.
 */
export function useTyped(text: string | number, onText: (input: HTMLInputElement) => void) {
  const typed = useSignal<string | null>(null);
  const ref = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (typed.peek() === null && ref.current?.matches(':focus')) ref.current.select();
  }, [text]);
  return {
    ref,
    value: typed.value ?? text,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
      typed.value = currentTarget.value;
      onText(currentTarget);
    },
    onBlur: () => {
      typed.value = null;
    }
  };
}

export function Numbers({ label, any = label, values, steps = values, value, off, min, onPick }: NumbersProps) {
  const number = typeof value === 'number' ? value : null;
  const typed = useTyped(number ?? '', ({ valueAsNumber: n }) =>
    onPick(Number.isInteger(n) && n >= (min ?? n) ? n : '')
  );
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = number ?? 0;
    const next =
      event.key === 'ArrowUp'
        ? steps.find(one => one > at)
        : event.key === 'ArrowDown' && steps.filter(one => one < at).pop();
    if (!next) return;
    event.preventDefault();
    typed.onBlur();
    onPick(next);
  };
  return (
    <>
      {values.length > 1 && <Choices label={label} values={values} value={number} off={off} onPick={onPick} />}
      <input
        class="swb-size"
        type="number"
        min={min}
        step={1}
        aria-label={any}
        placeholder={off ? '?' : ''}
        {...typed}
        onKeyDown={onKeyDown}
      />
    </>
  );
}
