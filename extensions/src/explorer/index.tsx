// Entry of the explorer of logs: one store per model, any number of views of it.

import { render } from 'preact';
import { hearAnyway } from '../widget/kernel/late-messages';
import type { Model } from '../widget/kernel/model';
import { watchTheme } from '../widget/shell/theme';
import { Frame } from './frame';
import { ExplorerStore } from './store';

const stores = new WeakMap<Model, ExplorerStore>();
let only: ExplorerStore | undefined;

function initialize({ model }: { model: Model }): () => void {
  const { theme, stop } = watchTheme(() => undefined);
  const store = (only = new ExplorerStore(model, theme));
  stores.set(model, store);
  hearAnyway(model.widget_manager, model.get('key') ?? '').catch(() => undefined);
  return () => {
    store.dispose();
    stop();
  };
}

export default {
  initialize,
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    // Hosts may give each view a model object of its own; a module of its own they give to each model.
    render(<Frame store={stores.get(model) ?? only!} />, el);
    return () => render(null, el);
  }
};
