// All the room for one panel, or for the graph of a model that was just opened.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Button, Key } from '../elements/controls';
import { Icon } from '../elements/icons';
import type { Store } from '../kernel/store';
import { useEscape, useUi, type Ui } from './ui';

/** Give all the room to the panel with the focus, else to the one in the middle; again, and all panels are back. */
export function toggleWhole(ui: Ui): boolean {
  const root = ui.root.current?.getRootNode() as Document | ShadowRoot | undefined;
  const slot = root?.activeElement?.closest<HTMLElement>('[data-swb-place]');
  const own = slot && ui.root.current?.contains(slot) ? slot.dataset.swbPlace! : 'middle';
  ui.whole.value = ui.whole.peek() ? '' : own;
  ui.said.value = ui.whole.peek() ? 'One panel has all the room' : 'All panels';
  return true;
}

/** In each panel. The keyboard has W, so it is no tab stop. */
export function WholeButton({ name, title }: { name: string; title: string }) {
  const { whole } = useUi();
  return (
    <Button
      class="swb-whole"
      tabIndex={-1}
      aria-label={`${title}: all the room`}
      title="All the room for this panel (W)"
      data-swb-do="whole"
      onPress={() => {
        whole.value = name;
      }}
    >
      <Icon name="whole" size={12} />
    </Button>
  );
}

/** In the header, while a panel has all the room. */
export function AllPanels() {
  const { whole } = useUi();
  const back = (): void => {
    whole.value = '';
  };
  useEscape(whole.value !== '', back);
  if (!whole.value) return null;
  return (
    <Button class="swb-button is-all" data-swb-do="all" title="Show the other panels again" onPress={back}>
      All panels<Key>W</Key>
    </Button>
  );
}

/** Commands by which somebody turns from the model to one of its kernels. */
const BEGINNINGS: ReadonlySet<string> = new Set(['open_task', 'open_trial', 'open_default', 'apply']);

/**
 * Whether the graph and its tasks have the whole width: of a model in which nobody has done anything yet, until
 * somebody opens a task or takes a step.
 */
export function useGraphFirst(store: Store): boolean {
  const ui = useUi();
  const fresh = useSignal(true);
  useEffect(() => {
    const tell = (cmd: string): void => {
      if (BEGINNINGS.has(cmd)) fresh.value = false;
    };
    store.onlookers.add(tell);
    return () => void store.onlookers.delete(tell);
  }, []);
  const begun = (store.see('history')?.rows ?? []).some(row => row.edge !== 'start');
  return fresh.value && !begun && ui.whole.value === '' && store.see('meta')?.kind === 'model';
}
