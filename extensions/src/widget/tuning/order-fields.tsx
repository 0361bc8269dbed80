// One input for each kind of argument that a command to a tuning run may have. Which ones there are comes from the
// kernel.

import { plural } from '../../shared/format';
import { Check, Labelled, Select, TextInput, Toggles, type Option } from '../elements/inputs';
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

/** What a select offers, and its words for no choice; null where the field takes something else. */
function offered(
  field: OrderField,
  { tasks, space, draft }: OrderFieldProps
): [options: readonly Option[], none: string] | null {
  switch (field.names) {
    case 'task':
      return [tasks.map(row => ({ value: row.key, text: row.name })), 'all tasks'];
    case 'hole': {
      const text = (hole: SpaceInfo['holes'][number]) => `${hole.name}  (${plural(hole.values.length, 'value')})`;
      const none = field.required ? 'choose…' : 'none';
      return [(space?.holes ?? []).map(hole => ({ value: hole.name, text: text(hole) })), none];
    }
    case 'variant':
      return [(space?.variants ?? []).map(one => ({ value: String(one.id), text: `${one.id}: ${one.label}` })), 'none'];
  }
  if (!field.of || field.widget === 'numbers') return null;
  const hole = holeOf(field, draft, space);
  return [(hole?.values ?? []).map(one => ({ value: String(one) })), hole ? 'choose…' : 'choose a hole first'];
}

function Values({ field, draft, space, onChange }: OrderFieldProps) {
  const values = holeOf(field, draft, space)?.values ?? [];
  return (
    <div class="swb-field" role="group" aria-label={labelOf(field)} title={field.label}>
      <span>{labelOf(field)}</span>
      {values.length === 0 && <span class="swb-faint swb-order-text">choose a hole first</span>}
      <Toggles
        label={labelOf(field)}
        values={values}
        on={(draft[field.name] ?? []) as readonly number[]}
        onFlip={onChange}
      />
    </div>
  );
}

export function OrderInput(props: OrderFieldProps) {
  const { field, draft, tasks, head, now, onChange } = props;
  const { name, names, required, widget, label: title } = field;
  const value = draft[name] ?? '';
  if (names === 'task' && required && tasks.length < 2) return null; // there is no other
  const choice = offered(field, props);
  if (choice) {
    const [options, none] = choice;
    const word = names === 'task' || names === 'hole'; // all others are numbers
    const pick = (text: string): void => onChange(word || text === '' ? text : Number(text));
    return (
      <Labelled label={labelOf(field)} title={names === 'task' ? undefined : title}>
        <Select {...{ name, value, options, none }} optional={!required} onPick={pick} />
      </Labelled>
    );
  }
  switch (widget) {
    case 'numbers':
      return <Values {...props} />;
    case 'shown':
      return (
        <div class="swb-field" title={title}>
          <span>Schedule</span>
          <span class="swb-order-text">the one on show{head?.step && `, ${head.step}`}</span>
        </div>
      );
    case 'checkbox':
      return <Check {...{ name, title, value, onChange }}>{labelOf(field)}</Check>;
    case 'text':
      return (
        <Labelled label={labelOf(field)} title={title}>
          <TextInput {...{ name, value }} onText={onChange} />
        </Labelled>
      );
    default:
      return (
        <Labelled label={labelOf(field)} title={title} now={now}>
          <input
            type="number"
            data-swb-arg={name}
            step={widget === 'real' ? 'any' : 1}
            value={typeof value === 'number' ? value : ''}
            onInput={({ currentTarget: { valueAsNumber: n } }) => onChange(Number.isFinite(n) ? n : '')}
          />
        </Labelled>
      );
  }
}
