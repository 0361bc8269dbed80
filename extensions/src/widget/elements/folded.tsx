// A part of the screen that costs something: nothing of it is asked for before it is opened.

import type { ComponentChildren } from 'preact';
import { useSignal } from '@preact/signals';
import type { PanelProps } from '../panel';
import { Button } from './controls';

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
  const open = useSignal(false);
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
