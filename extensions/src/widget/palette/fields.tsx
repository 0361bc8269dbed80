// One input for each kind of field that a primitive may have. Which ones a form has comes from the kernel.

import type { ComponentChildren } from 'preact';
import { Button, Choices } from '../elements/controls';
import { Check, Labelled, Select, TextInput, Toggles } from '../elements/inputs';
import type { FieldInfo, Json, NestSlice, PaletteItem } from '../../shared/types';
import { isList, valueText } from '../../shared/steps';
import { capital } from '../elements/text';
import { choicesOf, optionsOf, suggested, type Draft } from './args';
import { FactorsField } from './factors-field';
import { Numbers, useTyped } from './number-field';

export interface FieldProps {
  readonly field: FieldInfo;
  readonly value: Json;
  readonly draft: Draft;
  readonly item: PaletteItem;
  readonly nest: NestSlice | null;
  /** The loop that a list of factors is about. */
  readonly loop: string;
  readonly divisors: readonly number[] | null;
  /** Whether what is no number may be left open too: few want that. */
  readonly more: boolean;
  readonly onChange: (value: Json) => void;
  /** The pointer is over a value, or over none any more. */
  readonly onOver: (value: Json | undefined) => void;
}

const labelOf = (field: FieldInfo): string => capital(field.label || field.name);

/** Most values that are allowed at once when a field is left open: more of them say too little. */
const FEW = 8;

/**
 * What the tuner may choose from at first: what the kernel suggests, else all words; of names only the one that
 * stands there.
 */
function allowed({ field, value, item }: FieldProps, options: readonly Json[]): readonly Json[] {
  const known = suggested(field, item).filter(one => options.includes(one));
  const some = known.length > 1 ? known : field.names ? [] : options;
  return [...new Set([value, ...some])].filter(one => options.includes(one)).slice(0, FEW);
}

/** Whether a field that is no number can be left open. */
export const mayStayOpen = (field: FieldInfo, nest: NestSlice | null, draft: Draft): boolean =>
  field.may_be_open &&
  !field.free &&
  (field.widget === 'checkbox' || (field.widget === 'select' && optionsOf(field, nest, draft).length > 1));

/** A field whose value may be left open: the tuner chooses among the values that are allowed. */
function MayBeOpen(props: FieldProps & { options: readonly Json[]; row?: boolean; children: ComponentChildren }) {
  const { field, value, options, row, more, children, onChange } = props;
  const open = choicesOf(value);
  return (
    <div class={`swb-field${row && !open ? ' is-row' : ''}`} role="group" aria-label={labelOf(field)}>
      <div class="swb-label">
        <span>{labelOf(field)}</span>
        {field.may_be_open && options.length > 1 && (more || open !== null || field.widget === 'number') && (
          <label class="swb-open" title="The tuner chooses among the values that you allow">
            <input
              type="checkbox"
              data-swb-leave={field.name}
              checked={open !== null}
              aria-label={`Leave open: ${labelOf(field)}`}
              onChange={event =>
                onChange(
                  event.currentTarget.checked
                    ? { hole: null, choices: allowed(props, options) }
                    : (open?.[0] ?? options[0]!)
                )
              }
            />
            leave open
          </label>
        )}
      </div>
      {open === null ? (
        children
      ) : (
        <Toggles
          label="The tuner may choose"
          class="swb-allowed"
          values={options}
          on={open}
          titleOf={(one, on) => `${on ? 'Allowed' : 'Not allowed'}: ${valueText(one)}`}
          onFlip={choices => onChange({ hole: null, choices })}
        />
      )}
    </div>
  );
}

function OneOf(props: FieldProps) {
  const { field, value, nest, draft, onChange } = props;
  const options = optionsOf(field, nest, draft);
  if (field.free) return <Text {...props} words={options} />;
  return (
    <MayBeOpen {...props} options={options}>
      <Select
        name={field.name}
        label={labelOf(field)}
        value={value}
        options={options.map(one => ({ value: one }))}
        none="choose…"
        onPick={onChange}
      />
    </MayBeOpen>
  );
}

/** Names in an order that matters: taken ones with their place, the others to add. */
function Several({ field, value, nest, draft, onChange }: FieldProps) {
  const taken = isList(value) ? value.map(valueText) : [];
  const free = optionsOf(field, nest, draft).filter(one => !taken.includes(one));
  const swap = (i: number, j: number): void => {
    const next = [...taken];
    [next[i], next[j]] = [next[j]!, next[i]!];
    onChange(next);
  };
  return (
    <fieldset class="swb-field">
      <legend>{labelOf(field)}</legend>
      <ol class="swb-several">
        {taken.map((one, i) => (
          <li key={one}>
            <span class="swb-mono swb-cut" title={one}>
              {one}
            </span>
            <Button
              class="swb-mini"
              aria-label={`${one}: one place earlier`}
              title="Earlier"
              reason={i === 0 ? 'it is the first' : ''}
              onPress={() => swap(i, i - 1)}
            >
              ↑
            </Button>
            <Button
              class="swb-mini"
              aria-label={`${one}: one place later`}
              title="Later"
              reason={i === taken.length - 1 ? 'it is the last' : ''}
              onPress={() => swap(i, i + 1)}
            >
              ↓
            </Button>
            <Button
              class="swb-mini"
              aria-label={`${one}: leave out`}
              title="Leave out"
              onPress={() => onChange(taken.filter(name => name !== one))}
            >
              ×
            </Button>
          </li>
        ))}
      </ol>
      {free.length > 0 && (
        <Select
          name={field.name}
          label={`${labelOf(field)}: add one`}
          value=""
          options={free.map(one => ({ value: one }))}
          none="add…"
          onPick={one => onChange([...taken, one])}
        />
      )}
    </fieldset>
  );
}

const SIZES: readonly number[] = [4, 8, 16, 32];

/** A number, the name of an open number, or several whose product is meant. */
function Size({ field, value, nest, onChange }: FieldProps) {
  const parse = (text: string): Json => {
    const parts = text
      .split(/[×*,\s]+/)
      .filter(Boolean)
      .map(part => (/^\d+$/.test(part) ? Number(part) : part.replace(/^\?/, '')));
    return parts.length > 1 ? parts : (parts[0] ?? '');
  };
  const typed = useTyped(isList(value) ? value.map(valueText).join(' × ') : valueText(value), input =>
    onChange(parse(input.value))
  );
  const holes = nest?.holes ?? [];
  return (
    <fieldset class="swb-field">
      <legend>{labelOf(field)}</legend>
      <div class="swb-line">
        <Choices
          label={labelOf(field)}
          values={SIZES}
          value={typeof value === 'number' ? value : null}
          onPick={onChange}
        />
        <input
          class="swb-size"
          aria-label={`${labelOf(field)}: another size, or open numbers`}
          title="A number, an open number, or several with × between them"
          {...typed}
        />
      </div>
      {holes.length > 0 && (
        <div class="swb-line">
          {holes.map(hole => (
            <Button
              key={hole.name}
              class="swb-mini is-wide"
              aria-pressed={hole.name === value}
              title={`As large as the open number ${hole.name}`}
              onPress={() => onChange(hole.name)}
            >
              ?{hole.name}
            </Button>
          ))}
        </div>
      )}
    </fieldset>
  );
}

/** A number; those that the kernel suggests are at hand. */
function Whole(props: FieldProps) {
  const { field, value, item, onChange } = props;
  const numbers = suggested(field, item)
    .filter((one): one is number => typeof one === 'number')
    .sort((a, b) => a - b);
  if (field.free) return <Text {...props} />;
  return (
    <MayBeOpen {...props} options={numbers} row={numbers.length < 2}>
      <div class="swb-line">
        <Numbers label={labelOf(field)} values={numbers} value={value} onPick={onChange} />
      </div>
    </MayBeOpen>
  );
}

/** A word; a number stands for itself where the field holds numbers too. */
function Text({ field, value, words, onChange }: FieldProps & { words?: readonly string[] }) {
  const numbers = field.widget === 'number';
  return (
    <Labelled label={labelOf(field)}>
      <TextInput
        name={field.name}
        value={value}
        words={words}
        onText={text => onChange(numbers && /^-?\d+$/.test(text) ? Number(text) : text)}
      />
    </Labelled>
  );
}

export function FieldInput(props: FieldProps) {
  switch (props.field.widget) {
    case 'select':
      return <OneOf {...props} />;
    case 'multiselect':
      return <Several {...props} />;
    case 'factors':
      return <FactorsField {...props} />;
    case 'size':
      return <Size {...props} />;
    case 'number':
      return <Whole {...props} />;
    case 'checkbox':
      return (
        <MayBeOpen {...props} options={[false, true]}>
          <Check name={props.field.name} value={props.value} onChange={props.onChange}>
            Yes
          </Check>
        </MayBeOpen>
      );
    default:
      return <Text {...props} />;
  }
}
