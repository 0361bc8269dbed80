// Whether the kernel behind a model can still answer, as far as the host lets us see.

import type { Heard, Kernel, Model } from './model';

export type Life = 'alive' | 'restarting' | 'restarted' | 'dead' | 'gone';
const GONE = new Set(['dead', 'terminating']);
const RESTARTS = new Set(['restarting', 'autorestarting']);

/** Follow the kernel's status and the comm; returns the function that stops. `busy` is true while a cell runs. */
export function watchLife(model: Model, onLife: (life: Life) => void, onBusy: (busy: boolean) => void): () => void {
  const kernel = safe(() => model.widget_manager?.kernel) ?? null;
  let restarting = false;
  let live = safe(() => model.comm_live) ?? true;

  const status = (_: unknown, value: string): void => {
    if (RESTARTS.has(value)) restarting = true;
    if (GONE.has(value)) onLife('dead');
    else if (RESTARTS.has(value)) onLife('restarting');
    else if (restarting) onLife('restarted');
    if (!kernel?.iopubMessage) onBusy(value === 'busy');
  };
  // Clicks make the kernel busy for a moment as well, on a thread of their own: only a cell's own status tells of a
  // cell.
  const heard = (_: unknown, message: Heard): void => {
    if (message.header.msg_type !== 'status' || message.parent_header.msg_type !== 'execute_request') return;
    onBusy(message.content.execution_state === 'busy');
  };
  const disposed = (): void => onLife('gone');
  // The event does not say which way it went; hosts that hide the property announce only a change.
  const comm = (): void => {
    live = safe(() => model.comm_live) ?? !live;
    onLife(live ? 'alive' : restarting ? 'restarted' : 'gone');
  };

  connect(kernel, status, disposed);
  safe(() => kernel?.iopubMessage?.connect(heard));
  model.on('comm_live_update', comm);
  if (kernel?.status) status(null, kernel.status);
  if (!live) onLife('gone');
  return () => {
    safe(() => kernel?.statusChanged?.disconnect(status));
    safe(() => kernel?.iopubMessage?.disconnect(heard));
    safe(() => kernel?.disposed?.disconnect(disposed));
    model.off('comm_live_update', comm);
  };
}

function connect(kernel: Kernel | null, status: (s: unknown, v: string) => void, disposed: () => void): void {
  safe(() => kernel?.statusChanged?.connect(status));
  safe(() => kernel?.disposed?.connect(disposed));
}

/** Hosts may throw from a getter of an object that was disposed; that is the same as not having it. */
function safe<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
