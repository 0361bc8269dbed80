// A part of the screen that costs something: nothing of it is asked for before it is opened.

import type { ComponentChildren } from 'preact';
import { signal, type Signal } from '@preact/signals';
import type { PanelProps } from '../panel';
import { useUi, type Ui } from '../shell/ui';
import { Button } from './controls';

/** What is open in a view: it is still open when somebody comes back from another task, or another screen. */
const opened = new WeakMap<Ui, Map<string, Signal<boolean>>>();

function useOpen(name: string): Signal<boolean> {
  const ui = useUi();
  const all = opened.get(ui) ?? new Map<string, Signal<boolean>>();
  opened.set(ui, all);
  const one = all.get(name) ?? signal(false);
  all.set(name, one);
  return one;
}

interface FoldedProps {
  /** The panel's name: where it stands alone, it is open. */
  name: string;
  /** What it is called, and what the line says that opens it. */
  label: string;
  says: string;
  model: PanelProps['model'];
  children: () => ComponentChildren;
}

export function Folded({ name, label, says, model, children }: FoldedProps) {
  const open = useOpen(name);
  const shown = open.value || model.get('panel') === name;
  return (
    <section class={`swb-tasks swb-folded swb-${name.replaceAll('_', '-')}`} aria-label={label}>
      <Button
        class="swb-link"
        aria-expanded={shown}
        data-swb-do={name}
        onPress={() => {
          open.value = !open.value;
        }}
      >
        {shown ? '▼' : '►'} {says}
      </Button>
      {shown && children()}
    </section>
  );
}
