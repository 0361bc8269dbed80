// A row of tabs: arrows walk, the open one is the tab stop.

import type { ComponentChildren } from 'preact';

interface TabsProps<T extends string> {
  label: string;
  tabs: readonly (readonly [T, ComponentChildren])[];
  open: T;
  onPick: (tab: T) => void;
}

export function Tabs<T extends string>({ label, tabs, open, onPick }: TabsProps<T>) {
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (!by) return;
    event.preventDefault();
    const list = event.currentTarget as HTMLElement;
    const at = tabs.findIndex(([tab]) => tab === open);
    onPick(tabs[(at + by + tabs.length) % tabs.length]![0]);
    requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected=true]')?.focus());
  };
  return (
    <div class="swb-tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map(([tab, text]) => (
        <button key={tab} type="button" role="tab" data-swb-tab={tab} aria-selected={tab === open ? 'true' : 'false'}
          tabIndex={tab === open ? 0 : -1} onClick={() => onPick(tab)}>{text}</button>
      ))}
    </div>
  );
}
