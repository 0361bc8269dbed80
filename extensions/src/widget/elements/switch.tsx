// A few buttons of which one is pressed.

interface SwitchProps<T> {
  label: string;
  values: readonly (readonly [value: T, text: string, title?: string])[];
  value: T;
  class?: string;
  onPick: (value: T) => void;
}

export const Switch = <T,>({ label, values, value, class: name = '', onPick }: SwitchProps<T>) => (
  <div class={`swb-switch ${name}`} role="group" aria-label={label}>
    {values.map(([one, text, title]) => (
      <button key={text} aria-pressed={one === value} title={title} onClick={() => onPick(one)}>
        {text}
      </button>
    ))}
  </div>
);
