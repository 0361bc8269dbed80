// One input for each kind of field that a primitive may have. Which ones a form has comes from the kernel.

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { Button, Choices, walk } from '../elements/controls';
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
  const box = useRef<HTMLDivElement>(null);
  const open = choicesOf(value);
  const flip = (one: Json): void => {
    const next = open!.includes(one)
      ? open!.filter(old => old !== one)
      : options.filter(old => old === one || open!.includes(old));
    onChange({ hole: null, choices: next });
  };
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
        <div
          ref={box}
          class="swb-allowed"
          role="group"
          aria-label="The tuner may choose"
          onKeyDown={event => {
            if (box.current) walk(event, box.current, 'button');
          }}
        >
          {options.map((one, i) => (
            <button
              key={valueText(one)}
              type="button"
              class="swb-mini is-wide"
              tabIndex={i === 0 ? 0 : -1}
              aria-pressed={open.includes(one)}
              title={`${open.includes(one) ? 'Allowed' : 'Not allowed'}: ${valueText(one)}`}
              onClick={() => flip(one)}
            >
              {valueText(one)}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function Select(props: FieldProps) {
  const { field, value, nest, draft, onChange } = props;
  const options = optionsOf(field, nest, draft);
  if (field.free) return <Words {...props} options={options} />;
  const known = options.includes(valueText(value));
  return (
    <MayBeOpen {...props} options={options}>
      <select
        aria-label={labelOf(field)}
        value={valueText(value)}
        onChange={event => onChange(event.currentTarget.value)}
      >
        {!known && <option value={valueText(value)}>{value === '' ? 'choose…' : valueText(value)}</option>}
        {options.map(one => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </MayBeOpen>
  );
}

let lists = 0;

/** Any word, with a few on offer. */
function Words({ field, value, options, onChange }: FieldProps & { options: readonly string[] }) {
  const id = useRef('');
  id.current ||= `swb-words-${++lists}`;
  return (
    <label class="swb-field">
      <span>{labelOf(field)}</span>
      <input list={id.current} value={valueText(value)} onInput={event => onChange(event.currentTarget.value)} />
      <datalist id={id.current}>
        {options.map(one => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
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
        <select
          aria-label={`${labelOf(field)}: add one`}
          value=""
          onChange={event => {
            onChange([...taken, event.currentTarget.value]);
            event.currentTarget.value = '';
          }}
        >
          <option value="">add…</option>
          {free.map(one => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
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
  if (field.free) return <NumberOrWord {...props} />;
  return (
    <MayBeOpen {...props} options={numbers} row={numbers.length < 2}>
      <div class="swb-line">
        <Numbers label={labelOf(field)} values={numbers} value={value} onPick={onChange} />
      </div>
    </MayBeOpen>
  );
}

function NumberOrWord({ field, value, onChange }: FieldProps) {
  return (
    <label class="swb-field">
      <span>{labelOf(field)}</span>
      <input
        value={valueText(value)}
        onInput={event => {
          const text = event.currentTarget.value;
          onChange(/^-?\d+$/.test(text) ? Number(text) : text);
        }}
      />
    </label>
  );
}

function Check(props: FieldProps) {
  const { value, onChange } = props;
  return (
    <MayBeOpen {...props} options={[false, true]}>
      <label class="swb-check">
        <input type="checkbox" checked={value === true} onChange={event => onChange(event.currentTarget.checked)} />
        Yes
      </label>
    </MayBeOpen>
  );
}

function Text({ field, value, onChange }: FieldProps) {
  return (
    <label class="swb-field">
      <span>{labelOf(field)}</span>
      <input value={valueText(value)} onInput={event => onChange(event.currentTarget.value)} />
    </label>
  );
}

export function FieldInput(props: FieldProps) {
  switch (props.field.widget) {
    case 'select':
      return <Select {...props} />;
    case 'multiselect':
      return <Several {...props} />;
    case 'factors':
      return <FactorsField {...props} />;
    case 'size':
      return <Size {...props} />;
    case 'number':
      return <Whole {...props} />;
    case 'checkbox':
      return <Check {...props} />;
    default:
      return <Text {...props} />;
  }
}
