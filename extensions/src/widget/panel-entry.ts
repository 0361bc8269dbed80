// The module of a single panel: it waits for its workbench on the same page and lets that draw the panel here.

import type { Model } from './kernel/model';
import { onRoots, roots, type RootEntry } from './kernel/roots';

const PATIENCE = 3000;
const MISSING =
  'This panel belongs to a workbench that is not on this page yet: run the cell that makes the workbench.';

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const key = model.get('key') ?? '';
  const place = document.createElement('div');
  el.append(place);
  let shown: RootEntry | undefined;
  let unmount: (() => void) | undefined;
  const look = (): void => {
    const root = roots().get(key);
    if (root === shown) return;
    unmount?.();
    shown = root;
    if (root) place.textContent = '';
    unmount = root?.mount(model.get('panel') ?? 'nest', place);
  };
  const late = setTimeout(() => {
    if (!shown) place.textContent = MISSING;
  }, PATIENCE);
  const stop = onRoots(look);
  look();
  if (!shown) wake(model);
  return () => {
    clearTimeout(late);
    stop();
    unmount?.();
    place.remove();
  };
}

/** The workbench itself may not be displayed anywhere; asking for its model makes the host load it. */
function wake(model: Model): void {
  const id = (model.get('root') ?? '').replace(/^IPY_MODEL_/, '');
  if (id) model.widget_manager?.get_model?.(id).catch(() => undefined);
}

export default { render };
