/** A table that scrolls, and rows of it that can be chosen: by a click anywhere, by keyboard through a button. */
import type { ComponentChildren, Ref, VNode } from 'preact';

export interface Column {
  name: string;
  number?: boolean;
  title?: string;
}

interface TableProps {
  label: string;
  columns: readonly Column[];
  box?: Ref<HTMLDivElement>;
  children: ComponentChildren;
}

export function Table({ label, columns, box, children }: TableProps): VNode {
  return (
    <div ref={box} class="swbl-scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="swbl-table">
        <thead>
          <tr>
            {columns.map(({ name, number, title }) => (
              <th scope="col" class={number ? 'swbl-num' : undefined} title={title}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        {children}
      </table>
    </div>
  );
}

/** The rows of a table that can be chosen. */
export function Choices({ children }: { children: ComponentChildren }): VNode {
  return (
    <tbody class="swbl-rows" onKeyDown={move}>
      {children}
    </tbody>
  );
}

export function Choice({ on, toggle, children }: ChosenProps): VNode {
  return (
    <tr class={on ? 'swbl-on' : ''} onClick={toggle}>
      {children}
    </tr>
  );
}

interface ChosenProps {
  on: boolean;
  toggle: () => void;
  label?: string;
  title?: string;
  children: ComponentChildren;
}

/** What chooses a row by keyboard; the row itself hears the pointer. */
export function ChoiceButton({ on, toggle, label, title, children }: ChosenProps): VNode {
  return (
    <button
      class="swbl-task"
      aria-pressed={on}
      aria-label={label}
      title={title}
      onClick={event => {
        event.stopPropagation();
        toggle();
      }}
    >
      {children}
    </button>
  );
}

/** Arrow keys go from row to row. */
function move(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) {
    return;
  }
  const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLButtonElement>('.swbl-task')];
  const at = buttons.indexOf(event.target as HTMLButtonElement);
  if (at >= 0) {
    event.preventDefault();
    buttons[at + step]?.focus();
  }
}
