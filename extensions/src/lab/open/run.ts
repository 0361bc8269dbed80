/** A new notebook on a kernel that has read a file: it is shown, run, and the kernel is its own from then on. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import { writeNotebook } from '../notebooks';
import type { ModelKernel } from './kernel';

export interface Made {
  readonly title: string;
  readonly cells: readonly { cell_type: 'markdown' | 'code'; source: string }[];
}

export async function runNotebook(
  app: JupyterFrontEnd,
  kernel: ModelKernel,
  folder: string,
  title: string,
  made: Made['cells']
): Promise<void> {
  const { contents, kernelspecs } = app.serviceManager;
  const { name, id } = kernel.model!;
  const cells = made.map(cell => ({
    ...cell,
    metadata: {},
    ...(cell.cell_type === 'code' ? { outputs: [], execution_count: null } : {})
  }));
  const kernelspec = { name, display_name: kernelspecs.specs?.kernelspecs[name]?.display_name ?? name };
  const target = await writeNotebook(contents, folder, title, {
    cells,
    metadata: { kernelspec },
    nbformat: 4,
    nbformat_minor: 4
  });
  const panel = (await app.commands.execute('docmanager:open', {
    path: target,
    factory: 'Notebook',
    kernel: { id, name }
  })) as NotebookPanel;
  await panel.context.ready;
  await panel.sessionContext.ready;
  kernel.release(); // it is the notebook's now
  void NotebookActions.runAll(panel.content, panel.sessionContext);
}
