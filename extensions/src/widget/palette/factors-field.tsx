// Factors of a loop: divisors first, any number by hand, or left open for the tuner. The outermost takes what is left.

import { Button } from '../elements/controls';
import type { Json } from '../../shared/types';
import { divisors as divisorsOf, innerOf, isHole, OPEN, splitParts } from './args';
import type { FieldProps } from './fields';
import { Numbers } from './number-field';

interface OneProps {
  label: string;
  value: Json;
  options: readonly number[];
  mayBeOpen: boolean;
  onChange: (value: Json) => void;
  onOver: (value: Json | undefined) => void;
  onRemove?: () => void;
}

/** Divisors that have a button; the slider has them all. */
const BUTTONS = 14;

function Factor({ label, value, options, mayBeOpen, onChange, onOver, onRemove }: OneProps) {
  const open = isHole(value);
  const number = typeof value === 'number' ? value : null;
  const at = options.indexOf(number ?? NaN);
  const over = (event: Event): void => {
    const radio = (event.target as Element).closest<HTMLElement>('[role=radio]');
    onOver(radio ? Number(radio.dataset.value) : undefined);
  };
  return (
    <div class="swb-factor" role="group" aria-label={label}>
      {onRemove && (
        <div class="swb-line">
          <span class="swb-mono">{label}</span>
          <Button class="swb-mini" aria-label={`Remove ${label}`} title="Remove this loop" onPress={onRemove}>
            ×
          </Button>
        </div>
      )}
      <div class="swb-line" onMouseOver={over} onMouseLeave={() => onOver(undefined)}>
        <Numbers
          label={`Extent of ${label}`}
          any={`Extent of ${label}, any number`}
          values={options.slice(0, BUTTONS)}
          steps={options}
          value={value}
          off={open}
          min={1}
          onPick={onChange}
        />
      </div>
      {options.length > 2 && (
        <input
          class={`swb-slider${at < 0 ? ' is-off' : ''}`}
          type="range"
          min={0}
          max={options.length - 1}
          step={1}
          value={Math.max(0, at)}
          aria-label={`Extent of ${label}, by its divisors`}
          aria-valuetext={at < 0 ? 'no divisor' : String(number)}
          onInput={event => onChange(options[event.currentTarget.valueAsNumber]!)}
        />
      )}
      {mayBeOpen && (
        <label class="swb-check">
          <input
            type="checkbox"
            data-swb-open
            checked={open}
            onChange={event => onChange(event.currentTarget.checked ? OPEN : (options.find(n => n > 1) ?? 1))}
          />
          <span>
            Leave <span class="swb-mono">{label}</span> open to the tuner
            {open && options.length > 1 && `, ${options.length} ways`}
          </span>
        </label>
      )}
    </div>
  );
}

export function FactorsField({ field, value, draft, nest, loop, divisors, onChange, onOver }: FieldProps) {
  const found = nest?.rows.find(row => row.kind === 'loop' && row.name === loop)?.extent;
  const extent = typeof found === 'number' ? found : null;
  const inner = innerOf(value, extent);
  const set = (next: readonly Json[]): void => onChange([null, ...next]);
  const place = (i: number, next: Json): readonly Json[] => inner.map((old, j) => (j === i ? next : old));
  const choices = (i: number): readonly number[] => {
    const others = inner
      .filter((one, j): one is number => j !== i && typeof one === 'number')
      .reduce((a, b) => a * b, 1);
    if (inner.length === 1 && divisors?.length) return divisors;
    return extent !== null && extent % others === 0 ? divisorsOf(extent / others) : [];
  };
  return (
    <div class="swb-field" role="group" aria-label={field.label}>
      {(field.of ?? 'loop') !== 'loop' && (
        <div class="swb-label">
          <span>
            Extent of <span class="swb-mono">{loop}.1</span>
          </span>
        </div>
      )}
      {inner.map((one, i) => (
        <Factor
          key={i}
          label={`${loop}.${i + 1}`}
          value={one}
          options={choices(i)}
          mayBeOpen={field.may_be_open}
          onChange={next => set(place(i, next))}
          onOver={next => onOver(next === undefined ? undefined : [null, ...place(i, next)])}
          onRemove={inner.length > 1 ? () => set(inner.filter((_, j) => j !== i)) : undefined}
        />
      ))}
      <p class="swb-equation" aria-live="polite">
        {loop}
        {' → '}
        {splitParts(loop, extent, inner, draft.tail).map((part, i) => (
          <span key={part.name}>
            {i > 0 && (i > inner.length ? ' + ' : ' × ')}
            {part.name} <b class={part.size === '?' ? 'swb-hole' : ''}>{part.size}</b>
          </span>
        ))}
      </p>
      <Button class="swb-link" data-swb-more onPress={() => set([...inner, 1])}>
        Add another loop
      </Button>
    </div>
  );
}
