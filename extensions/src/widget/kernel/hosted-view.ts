// A view of another widget of the kernel inside ours. The host brings its own Lumino; none is bundled, so the two
// messages that a view waits for are sent by hand.

import { hearAnyway } from './late-messages';
import type { Model } from './model';

interface LuminoLike {
  isAttached?: boolean;
  processMessage(message: object): void;
}
interface ForeignView {
  el: HTMLElement;
  luminoWidget?: LuminoLike;
  pWidget?: LuminoLike;
  remove(): void;
}
export interface HostedView {
  dispose(): void;
}

const message = (type: string): object => ({ type, isConflatable: false, conflate: () => false });

/** Show model `id` inside `place`. Null when `wanted` turned false while the view was being made. */
export async function mountView(
  host: Model,
  id: string,
  place: HTMLElement,
  wanted: () => boolean
): Promise<HostedView | null> {
  const manager = host.widget_manager;
  if (!manager?.get_model || !manager.create_view) throw new Error('this page cannot show widgets of the kernel');
  const model = await manager.get_model(id);
  await hearAnyway(manager, id); // before the view: that waits for the module, and so may messages that come meanwhile
  const view = (await manager.create_view(model)) as ForeignView;
  if (!wanted()) {
    view.remove();
    return null;
  }
  const widget = view.luminoWidget ?? view.pWidget;
  // Shown before it is attached: a plot measures its place.
  place.hidden = false;
  widget?.processMessage(message('before-attach'));
  place.append(view.el);
  widget?.processMessage(message('after-attach'));
  return {
    dispose: () => {
      // Lumino detaches a widget itself as long as it is in the document, and complains when it no longer is.
      if (widget?.isAttached && !view.el.isConnected) widget.processMessage(message('before-detach'));
      view.remove();
      view.el.remove();
    }
  };
}
