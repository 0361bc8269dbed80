// Commands that must not wait for the running cell. Where a click would reach the kernel between two cells only, or
// behind the handler of another widget, they are sent to a thread of their own (a subshell), which the front end asks
// for.

import { newId } from './ids';
import type { Kernel, Model } from './model';

const URGENT = new Set(['pause', 'resume', 'stop', 'cancel']);
/** A kernel whose control thread does not answer is asked the usual way. */
const PATIENCE = 2000;

export class UrgentLine {
  #thread: Promise<string> | undefined;

  constructor(readonly model: Model) {}

  /** Send the message of a command; it overtakes the running cell where it has to and the kernel can. */
  send(cmd: string, message: object): void {
    const kernel = URGENT.has(cmd) ? kernelOf(this.model) : undefined;
    if (!kernel) {
      this.model.send(message);
      return;
    }
    this.#thread ??= threadOf(kernel);
    this.#thread
      .then(id => kernel.sendShellMessage!(carrying(kernel, id, String(this.model.get('key')), message), false, true))
      .catch(() => {
        this.#thread = undefined;
        this.model.send(message);
      });
  }

  dispose(): void {
    const kernel = kernelOf(this.model);
    this.#thread?.then(id => kernel?.requestDeleteSubshell!({ subshell_id: id })).catch(() => undefined);
    this.#thread = undefined;
  }
}

/** The kernel, if it has threads to offer. */
function kernelOf(model: Model): Kernel | undefined {
  try {
    const kernel = model.widget_manager?.kernel;
    return kernel?.supportsSubshells && kernel.sendShellMessage ? kernel : undefined;
  } catch {
    return undefined;
  }
}

/** Make a thread: the control channel answers while a cell runs. */
async function threadOf(kernel: Kernel): Promise<string> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), PATIENCE);
  });
  try {
    return (await Promise.race([kernel.requestCreateSubshell!({}).done, late])).content.subshell_id;
  } finally {
    clearTimeout(timer);
  }
}

/** The message as the widget's comm would send it, addressed to a thread. */
function carrying(kernel: Kernel, thread: string, comm: string, message: object): object {
  // Pages that came over plain HTTP have no crypto.randomUUID.
  const header = {
    msg_id: `${kernel.clientId}-${Date.now()}-${newId()}`,
    msg_type: 'comm_msg',
    session: kernel.clientId,
    username: '',
    version: '5.4',
    date: new Date().toISOString(),
    subshell_id: thread
  };
  const content = { comm_id: comm, data: { method: 'custom', content: message } };
  return { header, parent_header: {}, metadata: {}, content, channel: 'shell', buffers: [] };
}
