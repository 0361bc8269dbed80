/** A kernel that answers questions about a model or a view, and runs the notebook afterwards. */
import { Kernel, KernelMessage, type ServiceManager } from '@jupyterlab/services';
import { chooseKernel, reason, Told } from '../notebooks';
import { trans } from '../words';

/** What the kernel says of an error: `WorkbenchError.to_json`. */
interface KernelError {
  readonly message: string;
  readonly hint?: string;
}

export class ModelKernel {
  private connection: Kernel.IKernelConnection | null = null;
  private disposed = false;

  constructor(private services: ServiceManager.IManager) {}

  /** Start it in a folder. */
  async start(folder: string): Promise<void> {
    const { kernelspecs, kernels } = this.services;
    await kernelspecs.ready;
    const options = { name: chooseKernel(kernelspecs.specs), path: folder };
    let connection: Kernel.IKernelConnection;
    try {
      // Comms of a kernel have one connection: the notebook's, whose widgets need them.
      connection = await kernels.startNew(options, { handleComms: false });
    } catch (error) {
      throw new Told(
        trans.__('No kernel could be started: %1.', reason(error)),
        trans.__('Does a notebook with this kernel start? Its error message says more.')
      );
    }
    if (this.disposed) return void kernels.shutdown(connection.id);
    this.connection = connection;
  }

  get model(): Kernel.IModel | undefined {
    return this.connection?.model;
  }

  /** Call a function of `workbench.session.model_form`, which answers in JSON. */
  async ask<T>(call: string): Promise<T> {
    let said = '';
    const future = this.connection!.requestExecute({
      code: `from workbench.session import model_form as _form\nprint(_form.${call})`,
      store_history: false
    });
    future.onIOPub = message => {
      if (KernelMessage.isStreamMsg(message) && message.content.name === 'stdout') said += message.content.text;
    };
    const { content } = await future.done.catch(() => {
      throw new Told(
        trans.__('The kernel died while it read the file.'),
        trans.__('Perhaps the memory was not enough: close other notebooks, and open the file again.')
      );
    });
    if (content.status !== 'ok') {
      const error = content as Partial<KernelMessage.IReplyErrorContent>;
      const missing = error.ename === 'ModuleNotFoundError' || error.ename === 'ImportError';
      throw missing
        ? new Told(
            trans.__('The kernel “%1” has no Schedule Workbench: %2.', this.connection!.name, error.evalue ?? ''),
            trans.__('Install it where this kernel runs: python -m pip install schedule-workbench')
          )
        : new Told(
            error.ename
              ? trans.__('The kernel could not read the file: %1 %2.', error.ename, error.evalue ?? '')
              : trans.__('The kernel could not read the file: it was interrupted.'),
            trans.__('Open the file again.')
          );
    }
    const answer = JSON.parse(said.trim().split('\n').pop() ?? '') as T & { error?: KernelError };
    if (answer.error) throw new Told(answer.error.message, answer.error.hint ?? '');
    return answer;
  }

  /** Let it go on without this connection. */
  release(): void {
    this.connection?.dispose();
    this.connection = null;
    this.disposed = true;
  }

  /** End it. */
  dispose(): void {
    const id = this.connection?.id;
    this.release();
    if (id) void this.services.kernels.shutdown(id).catch(() => undefined); // it has ended already
  }
}
