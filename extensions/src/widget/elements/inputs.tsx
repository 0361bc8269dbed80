// Inputs of declared forms: those of primitives and those of commands to a run.

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { walk } from './controls';
import type { Json } from '../../shared/types';
import { valueText } from '../../shared/steps';

export interface Option {
  readonly value: string;
  readonly text?: string;
}

/** An input with what it is called above it; `now` is its value at present, where that is known. */
export function Labelled({
  label,
  title,
  now = null,
  children
}: {
  label: string;
  title?: string;
  now?: number | null;
  children: ComponentChildren;
}) {
  return (
    <label class="swb-field" title={title}>
      <span>
        {label}
        {now !== null && <span class="swb-faint"> now {String(now)}</span>}
      </span>
      {children}
    </label>
  );
}

interface SelectProps {
  name: string;
  label?: string;
  value: Json;
  options: readonly Option[];
  /** Text of the entry for no choice; it is there while nothing is chosen, and where nothing need be. */
  none: string;
  optional?: boolean;
  onPick: (value: string) => void;
}

export function Select({ name, label, value, options, none, optional, onPick }: SelectProps) {
  const text = valueText(value);
  return (
    <select data-swb-arg={name} aria-label={label} value={text} onChange={event => onPick(event.currentTarget.value)}>
      {(optional || text === '') && <option value="">{none}</option>}
      {text !== '' && !options.some(one => one.value === text) && <option value={text}>{text}</option>}
      {options.map(one => (
        <option key={one.value} value={one.value}>
          {one.text ?? one.value}
        </option>
      ))}
    </select>
  );
}

interface TogglesProps<V extends Json> {
  label: string;
  class?: string;
  values: readonly V[];
  on: readonly V[];
  titleOf?: (value: V, on: boolean) => string;
  /** The values that are on after a press, in the order of `values`. */
  onFlip: (on: readonly V[]) => void;
}

/** Some of a few values; arrows go from one to the next. */
export function Toggles<V extends Json>({
  label,
  class: more = 'swb-line',
  values,
  on,
  titleOf,
  onFlip
}: TogglesProps<V>) {
  const box = useRef<HTMLDivElement>(null);
  return (
    <div
      ref={box}
      class={more}
      role="group"
      aria-label={label}
      onKeyDown={event => {
        if (box.current) walk(event, box.current, 'button');
      }}
    >
      {values.map((one, i) => (
        <button
          key={valueText(one)}
          type="button"
          class="swb-mini is-wide"
          tabIndex={i === 0 ? 0 : -1}
          aria-pressed={on.includes(one)}
          title={titleOf?.(one, on.includes(one))}
          onClick={() => onFlip(values.filter(old => (old === one) !== on.includes(old)))}
        >
          {valueText(one)}
        </button>
      ))}
    </div>
  );
}

let lists = 0;

/** Any text; `words` are on offer. */
export function TextInput({
  name,
  value,
  words = [],
  onText
}: {
  name: string;
  value: Json;
  words?: readonly string[];
  onText: (text: string) => void;
}) {
  const id = useRef('');
  id.current ||= `swb-words-${++lists}`;
  return (
    <>
      <input
        data-swb-arg={name}
        list={words.length ? id.current : undefined}
        value={valueText(value)}
        onInput={event => onText(event.currentTarget.value)}
      />
      {words.length > 0 && (
        <datalist id={id.current}>
          {words.map(one => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </>
  );
}

export function Check({
  name,
  title,
  value,
  children,
  onChange
}: {
  name: string;
  title?: string;
  value: Json;
  children: ComponentChildren;
  onChange: (value: boolean) => void;
}) {
  return (
    <label class="swb-check" title={title}>
      <input
        type="checkbox"
        data-swb-arg={name}
        checked={value === true}
        onChange={event => onChange(event.currentTarget.checked)}
      />
      {children}
    </label>
  );
}
