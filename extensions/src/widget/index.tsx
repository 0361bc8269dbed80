// Entry of the widget: one store per model, any number of views of it.

import { newId } from './kernel/ids';
import { render } from 'preact';
import { Frame } from './shell/frame';
import { hearAnyway } from './kernel/late-messages';
import type { Model } from './kernel/model';
import { register, roots, type Mount } from './kernel/roots';
import { Store } from './kernel/store';
import { watchTheme } from './shell/theme';

/** Hosts whose models have no key give every model a module of its own. */
let only = '';

function initialize({ model }: { model: Model }): () => void {
  const key = model.get('key') || (only ||= newId());
  let store: Store | undefined;
  const { theme, stop } = watchTheme(next => {
    void store?.do('theme', { theme: next }).catch(() => undefined);
  });
  const made = (store = new Store(model, theme));
  hearAnyway(model.widget_manager, key).catch(() => undefined);
  const views = new Set<HTMLElement>();
  const mount: Mount = (panel, el) => {
    views.add(el);
    render(<Frame store={made} model={model} panel={panel} />, el);
    return () => {
      views.delete(el);
      render(null, el);
    };
  };
  const unregister = register(key, { mount, store: made });
  return () => {
    unregister();
    for (const el of views) render(null, el);
    made.dispose();
    stop();
  };
}

export default {
  initialize,
  render({ model, el }: { model: Model; el: HTMLElement }): (() => void) | undefined {
    const root = roots().get(model.get('key') || only);
    return root?.mount(model.get('panel') || 'all', el);
  }
};
