// What the kernel says to a model whose page was slow.
//
// anywidget gives a model's module two seconds to load. On a page that is busy for longer (a reload with many widgets
// is enough) it drops whatever the kernel sends to that model, for good, although the module itself is there in the
// end.

import type { WidgetManager } from './model';

type Handler = (message: unknown) => Promise<unknown> | undefined;
interface HostModel {
  readonly comm?: { on_msg?(handler: Handler): void };
  _handle_comm_msg?: Handler;
}

/** Give messages that anywidget refuses to what every widget of the host handles them with. */
export async function hearAnyway(manager: WidgetManager | undefined, id: string): Promise<void> {
  const model = (await manager?.get_model?.(id)) as HostModel | undefined;
  const usual = model && inherited(model);
  if (!usual) return;
  model.comm?.on_msg?.(message =>
    Promise.resolve(model._handle_comm_msg!(message)).catch(() => usual.call(model, message))
  );
}

/** The method below the one that waits for the module. */
function inherited(model: HostModel): Handler | undefined {
  let owner: HostModel | null = model;
  while (owner && !Object.hasOwn(owner, '_handle_comm_msg')) owner = Object.getPrototypeOf(owner) as HostModel | null;
  return owner ? (Object.getPrototypeOf(owner) as HostModel)._handle_comm_msg : undefined;
}
