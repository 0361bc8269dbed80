// One input for each kind of argument that a command to a tuning run may have. Which ones there are comes from the
// kernel.

import { useRef } from 'preact/hooks';
import { walk } from '../elements/controls';
import { plural } from '../../shared/format';
import { valueText } from '../../shared/steps';
import type { Args, HeadSlice, Json, OrderField, OrderInfo, SpaceInfo, TaskRow } from '../../shared/types';
import { capital } from '../elements/text';

export type OrderDraft = Readonly<Record<string, Json>>;

interface OrderFieldProps {
  readonly field: OrderField;
  readonly draft: OrderDraft;
  readonly tasks: readonly TaskRow[];
  readonly head: HeadSlice | null;
  readonly space: SpaceInfo | null;
  /** What it is now, where that is known. */
  readonly now: number | null;
  readonly onChange: (value: Json) => void;
}

/** A variant of a task's space is called a sketch, as variants are those of the tree. */
const labelOf = ({ name, names }: OrderField): string => (names === 'variant' ? 'Sketch' : capital(name));
const holeOf = (field: OrderField, draft: OrderDraft, space: SpaceInfo | null) =>
  space?.holes.find(hole => hole.name === draft[field.of ?? '']) ?? null;

/** What a form starts with: the task on show where one has to be named. */
export function blankOrder(order: OrderInfo, task: string): OrderDraft {
  const start = ({ names, required, widget }: OrderField): Json =>
    names === 'task' && required
      ? task
      : widget === 'shown'
        ? true
        : widget === 'numbers'
          ? []
          : widget === 'checkbox'
            ? false
            : '';
  return Object.fromEntries(order.fields.map(field => [field.name, start(field)]));
}

const empty = (value: Json | undefined): boolean =>
  value === '' || value === undefined || (Array.isArray(value) && value.length === 0);

/** Arguments as they are sent: what was left empty is left out. */
export const orderArgs = (order: OrderInfo, draft: OrderDraft): Args =>
  Object.fromEntries(
    order.fields.filter(field => !empty(draft[field.name])).map(field => [field.name, draft[field.name]!])
  );

/** What is still missing; empty when nothing is. */
export function orderLacks(order: OrderInfo, draft: OrderDraft): string {
  const open = order.fields.find(field => field.required && empty(draft[field.name]));
  if (open) return `still to choose: ${labelOf(open).toLowerCase()}`;
  return order.fields.every(field => empty(draft[field.name])) ? 'fill in one of the fields' : '';
}

interface Option {
  readonly value: string;
  readonly text: string;
}

function Select({
  field,
  value,
  options,
  none,
  onPick
}: {
  field: OrderField;
  value: Json;
  options: readonly Option[];
  none: string;
  onPick: (value: string) => void;
}) {
  return (
    <label class="swb-order-field" title={field.names === 'task' ? undefined : field.label}>
      <span>{labelOf(field)}</span>
      <select data-swb-arg={field.name} value={valueText(value)} onChange={event => onPick(event.currentTarget.value)}>
        {(!field.required || value === '') && <option value="">{none}</option>}
        {options.map(one => (
          <option key={one.value} value={one.value}>
            {one.text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Values({ field, draft, space, onChange }: OrderFieldProps) {
  const box = useRef<HTMLDivElement>(null);
  const values = holeOf(field, draft, space)?.values ?? [];
  const taken = (draft[field.name] ?? []) as readonly number[];
  const flip = (one: number): void =>
    onChange(taken.includes(one) ? taken.filter(old => old !== one) : [...taken, one].sort((a, b) => a - b));
  return (
    <div class="swb-order-field" role="group" aria-label={labelOf(field)} title={field.label}>
      <span>{labelOf(field)}</span>
      <div
        ref={box}
        class="swb-line"
        onKeyDown={event => {
          if (box.current) walk(event, box.current, 'button');
        }}
      >
        {values.length === 0 && <span class="swb-faint swb-order-none">choose a hole first</span>}
        {values.map((one, i) => (
          <button
            key={one}
            type="button"
            class="swb-mini"
            tabIndex={i === 0 ? 0 : -1}
            aria-pressed={taken.includes(one)}
            onClick={() => flip(one)}
          >
            {one}
          </button>
        ))}
      </div>
    </div>
  );
}

function NumberInput({ field, draft, now, onChange }: OrderFieldProps) {
  const value = draft[field.name];
  return (
    <label class="swb-order-field" title={field.label}>
      <span>
        {labelOf(field)}
        {now !== null && <span class="swb-faint"> now {String(now)}</span>}
      </span>
      <input
        type="number"
        data-swb-arg={field.name}
        step={field.widget === 'real' ? 'any' : 1}
        value={typeof value === 'number' ? value : ''}
        onInput={event => {
          const n = event.currentTarget.valueAsNumber;
          onChange(Number.isFinite(n) ? n : '');
        }}
      />
    </label>
  );
}

export function OrderInput(props: OrderFieldProps) {
  const { field, draft, tasks, head, space, onChange } = props;
  const value = draft[field.name] ?? '';
  const toNumber = (text: string): void => onChange(text === '' ? '' : Number(text));
  if (field.names === 'task') {
    if (field.required && tasks.length < 2) return null; // there is no other
    const options = tasks.map(row => ({ value: row.key, text: row.name }));
    return <Select {...props} value={value} options={options} none="all tasks" onPick={onChange} />;
  }
  if (field.names === 'hole') {
    const options = (space?.holes ?? []).map(hole => ({
      value: hole.name,
      text: `${hole.name}  (${plural(hole.values.length, 'value')})`
    }));
    return (
      <Select {...props} value={value} options={options} none={field.required ? 'choose…' : 'none'} onPick={onChange} />
    );
  }
  if (field.names === 'variant') {
    const options = (space?.variants ?? []).map(one => ({ value: String(one.id), text: `${one.id}: ${one.label}` }));
    return <Select {...props} value={value} options={options} none="none" onPick={toNumber} />;
  }
  if (field.widget === 'numbers') return <Values {...props} />;
  const hole = holeOf(field, draft, space);
  if (field.of) {
    const options = (hole?.values ?? []).map(one => ({ value: String(one), text: String(one) }));
    return (
      <Select
        {...props}
        value={value}
        options={options}
        none={hole ? 'choose…' : 'choose a hole first'}
        onPick={toNumber}
      />
    );
  }
  switch (field.widget) {
    case 'shown':
      return (
        <div class="swb-order-field" title={field.label}>
          <span>Schedule</span>
          <span class="swb-order-text">the one on show{head?.step && `, ${head.step}`}</span>
        </div>
      );
    case 'checkbox':
      return (
        <label class="swb-check" title={field.label}>
          <input
            type="checkbox"
            data-swb-arg={field.name}
            checked={value === true}
            onChange={event => onChange(event.currentTarget.checked)}
          />
          {labelOf(field)}
        </label>
      );
    case 'text':
      return (
        <label class="swb-order-field" title={field.label}>
          <span>{labelOf(field)}</span>
          <input
            data-swb-arg={field.name}
            value={valueText(value)}
            onInput={event => onChange(event.currentTarget.value)}
          />
        </label>
      );
    default:
      return <NumberInput {...props} />;
  }
}
