// Entry of the cache view: one store per model, any number of views of it.

import { render } from 'preact';
import type { Model } from '../widget/kernel/model';
import { watchTheme } from '../widget/shell/theme';
import { Frame } from './frame';
import { modelSource } from './model-source';
import { CacheStore } from './store';

const stores = new WeakMap<Model, CacheStore>();
let only: CacheStore | undefined;

function initialize({ model }: { model: Model }): () => void {
  const { theme, stop } = watchTheme(() => undefined);
  const source = modelSource(model);
  const store = (only = new CacheStore(source, theme));
  stores.set(model, store);
  return () => {
    store.stop();
    source.dispose();
    stop();
  };
}

export default {
  initialize,
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    render(<Frame store={stores.get(model) ?? only!} />, el);
    return () => render(null, el);
  }
};
