// One input for each kind of field that a primitive may have. Which ones a form has comes from the kernel.

import { Button, Choices } from '../../shared/a11y';
import type { FieldInfo, Json, NestSlice } from '../../shared/types';
import { valueText } from '../describe';
import { optionsOf } from './args';
import { FactorsField } from './factors';

export interface FieldProps {
  readonly field: FieldInfo;
  readonly value: Json;
  readonly nest: NestSlice | null;
  /** The loop that a list of factors is about. */
  readonly loop: string;
  readonly divisors: readonly number[] | null;
  readonly onChange: (value: Json) => void;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const labelOf = (field: FieldInfo): string => capital(field.label || field.name);

function Select({ field, value, nest, onChange }: FieldProps) {
  const options = optionsOf(field, nest);
  const known = options.includes(String(value));
  return (
    <label class="swb-field"><span>{labelOf(field)}</span>
      <select value={String(value)} onChange={event => onChange(event.currentTarget.value)}>
        {!known && <option value={String(value)}>{value === '' ? 'choose…' : valueText(value)}</option>}
        {options.map(one => <option key={one} value={one}>{one}</option>)}
      </select>
    </label>
  );
}

/** Names in an order that matters: taken ones with their place, the others to add. */
function Several({ field, value, nest, onChange }: FieldProps) {
  const taken = Array.isArray(value) ? value.map(String) : [];
  const free = optionsOf(field, nest).filter(one => !taken.includes(one));
  const swap = (i: number, j: number): void => {
    const next = [...taken];
    [next[i], next[j]] = [next[j]!, next[i]!];
    onChange(next);
  };
  return (
    <fieldset class="swb-field"><legend>{labelOf(field)}</legend>
      <ol class="swb-several">
        {taken.map((one, i) => (
          <li key={one}><span class="swb-mono swb-cut" title={one}>{one}</span>
            <Button class="swb-mini" aria-label={`${one}: one place earlier`} title="Earlier" reason={i === 0 ? 'it is the first' : ''} onPress={() => swap(i, i - 1)}>↑</Button>
            <Button class="swb-mini" aria-label={`${one}: one place later`} title="Later" reason={i === taken.length - 1 ? 'it is the last' : ''} onPress={() => swap(i, i + 1)}>↓</Button>
            <Button class="swb-mini" aria-label={`${one}: leave out`} title="Leave out" onPress={() => onChange(taken.filter(name => name !== one))}>×</Button>
          </li>
        ))}
      </ol>
      {free.length > 0 && (
        <select aria-label={`${labelOf(field)}: add one`} value="" onChange={event => { onChange([...taken, event.currentTarget.value]); event.currentTarget.value = ''; }}>
          <option value="">add…</option>
          {free.map(one => <option key={one} value={one}>{one}</option>)}
        </select>
      )}
    </fieldset>
  );
}

const SIZES: readonly number[] = [4, 8, 16, 32];

/** A number, the name of an open number, or several whose product is meant. */
function Size({ field, value, nest, onChange }: FieldProps) {
  const parse = (text: string): Json => {
    const parts = text.split(/[×*,\s]+/).filter(Boolean).map(part => (/^\d+$/.test(part) ? Number(part) : part.replace(/^\?/, '')));
    return parts.length > 1 ? parts : (parts[0] ?? '');
  };
  const text = Array.isArray(value) ? value.map(String).join(' × ') : String(value);
  const holes = nest?.holes ?? [];
  return (
    <fieldset class="swb-field"><legend>{labelOf(field)}</legend>
      <div class="swb-line">
        <Choices label={labelOf(field)} values={SIZES} value={typeof value === 'number' ? value : null} onPick={onChange} />
        <input class="swb-size" aria-label={`${labelOf(field)}: another size, or open numbers`} value={text}
          title="A number, an open number, or several with × between them" onChange={event => onChange(parse(event.currentTarget.value))} />
      </div>
      {holes.length > 0 && <div class="swb-line">{holes.map(hole => <Button key={hole.name} class="swb-mini is-wide" onPress={() => onChange(hole.name)}>?{hole.name}</Button>)}</div>}
    </fieldset>
  );
}

function Whole({ field, value, onChange }: FieldProps) {
  return (
    <label class="swb-field is-row"><span>{labelOf(field)}</span>
      <input type="number" step={1} value={typeof value === 'number' ? value : ''}
        onInput={event => { const n = event.currentTarget.valueAsNumber; onChange(Number.isInteger(n) ? n : ''); }} />
    </label>
  );
}

function Check({ field, value, onChange }: FieldProps) {
  return <label class="swb-check"><input type="checkbox" checked={value === true} onChange={event => onChange(event.currentTarget.checked)} />{labelOf(field)}</label>;
}

function Text({ field, value, onChange }: FieldProps) {
  return <label class="swb-field"><span>{labelOf(field)}</span><input value={String(value)} onInput={event => onChange(event.currentTarget.value)} /></label>;
}

export function FieldInput(props: FieldProps) {
  switch (props.field.widget) {
    case 'select': return <Select {...props} />;
    case 'multiselect': return <Several {...props} />;
    case 'factors': return <FactorsField {...props} />;
    case 'size': return <Size {...props} />;
    case 'number': return <Whole {...props} />;
    case 'checkbox': return <Check {...props} />;
    default: return <Text {...props} />;
  }
}
