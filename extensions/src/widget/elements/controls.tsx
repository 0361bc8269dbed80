// Small parts that make every control reachable and honest: a disabled button that says why, groups that arrows walk.

import type { ComponentChildren, JSX } from 'preact';

interface ButtonProps extends Omit<JSX.HTMLAttributes<HTMLButtonElement>, 'onClick' | 'icon'> {
  /** Why it cannot be pressed now; empty when it can. It stays focusable, so that the reason can be read. */
  reason?: string;
  onPress?: () => void;
  type?: 'button' | 'submit';
  children?: ComponentChildren;
}

export function Button({ reason = '', onPress, title, type = 'button', class: name, children, ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      class={name ?? 'swb-button'}
      aria-disabled={reason ? 'true' : undefined}
      title={reason ? `Not now: ${reason}` : title}
      onClick={() => {
        if (!reason) onPress?.();
      }}
    >
      {children}
    </button>
  );
}

/** A word with an explanation. The keyboard reaches it, and the style shows it there. */
export const Explained = ({ says, children }: { says: string; children: ComponentChildren }) => (
  <abbr tabIndex={0} title={says}>
    {children}
  </abbr>
);

export const Key = ({ children }: { children: string }) => (
  <kbd class="swb-key" aria-hidden>
    {children}
  </kbd>
);

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Where an arrow, Home or End leads from position `at` of `n`; null for other keys. */
export function arrow(key: string, at: number, n: number): number | null {
  if (n === 0) return null;
  if (key === 'Home') return 0;
  if (key === 'End') return n - 1;
  const by = STEPS[key];
  return by === undefined ? null : Math.min(n - 1, Math.max(0, at + by));
}

/** Move the focus among the elements of `selector` inside `box`; true when the key was one of ours. */
export function walk(event: KeyboardEvent, box: Element, selector: string): boolean {
  const all = [...box.querySelectorAll<HTMLElement>(selector)].filter(one => one.checkVisibility?.() ?? true);
  const at = all.indexOf((event.target as Element).closest<HTMLElement>(selector)!);
  const next = at < 0 ? null : arrow(event.key, at, all.length);
  if (next === null) return false;
  event.preventDefault();
  event.stopPropagation();
  all[next]?.focus();
  return true;
}

interface ChoiceProps {
  label: string;
  values: readonly number[];
  value: number | null;
  off?: boolean;
  onPick: (value: number) => void;
}

/** A row of numbers of which one is taken; one tab stop, arrows choose. */
export function Choices({ label, values, value, off, onPick }: ChoiceProps) {
  const stop = value !== null && values.includes(value) ? value : values[0];
  const onKeyDown = (event: KeyboardEvent): void => {
    const radio = (event.target as Element).closest<HTMLElement>('[role=radio]');
    const at = radio ? values.indexOf(Number(radio.dataset.value)) : -1;
    const next = at < 0 ? null : arrow(event.key, at, values.length);
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    onPick(values[next]!);
    (radio?.parentElement?.children[next] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class={`swb-choices${off ? ' is-off' : ''}`} role="radiogroup" aria-label={label} onKeyDown={onKeyDown}>
      {values.map(one => (
        <button
          key={one}
          type="button"
          role="radio"
          aria-checked={one === value && !off}
          data-value={one}
          tabIndex={one === stop ? 0 : -1}
          onClick={() => onPick(one)}
        >
          {one}
        </button>
      ))}
    </div>
  );
}
