// A row of tabs: arrows walk, the open one is the tab stop, and what it shows is its panel.

import type { ComponentChildren } from 'preact';
import { useUi, type Ui } from '../shell/ui';

type Name = 'screens' | 'middle' | 'code';

interface TabsProps<T extends string> {
  name: Name;
  label: string;
  tabs: readonly (readonly [T, ComponentChildren])[];
  open: T;
  onPick: (tab: T) => void;
}

const idOf = (ui: Ui, name: Name): string => `${ui.id}-${name}`;

/** What makes an element the panel of the open one of these tabs. */
export const panelOf = (ui: Ui, name: Name, open: string) =>
  ({ role: 'tabpanel', id: idOf(ui, name), 'aria-labelledby': `${idOf(ui, name)}-${open}` }) as const;

export function Tabs<T extends string>({ name, label, tabs, open, onPick }: TabsProps<T>) {
  const id = idOf(useUi(), name);
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = tabs.findIndex(([tab]) => tab === open);
    const to: Readonly<Record<string, number>> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 };
    const next = to[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const list = event.currentTarget as HTMLElement;
    onPick(tabs.at(next % tabs.length)![0]);
    requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected=true]')?.focus());
  };
  return (
    <div class="swb-tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map(([tab, text]) => (
        <button
          key={tab}
          role="tab"
          id={`${id}-${tab}`}
          data-swb-tab={tab}
          aria-selected={tab === open}
          aria-controls={tab === open ? id : undefined}
          tabIndex={tab === open ? 0 : -1}
          onClick={({ currentTarget }) => {
            onPick(tab);
            // What the tabs show may put them in their place anew, which takes the focus from them.
            requestAnimationFrame(() => {
              if (document.activeElement === document.body) currentTarget.focus({ preventScroll: true });
            });
          }}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
