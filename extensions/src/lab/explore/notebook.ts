/** A notebook that explores a log, the file's or the text that was pasted, or several files beside it. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { showErrorMessage } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import { chooseKernel, reason, writeNotebook } from '../notebooks';
import { trans } from '../words';

export type Source = { readonly path: string } | { readonly text: string };
type Sources = Source | { readonly paths: readonly string[] };

/** Make the notebook in a folder, show it and run it. */
export async function exploreInNotebook(app: JupyterFrontEnd, source: Sources, folder: string): Promise<void> {
  const { contents, kernelspecs } = app.serviceManager;
  try {
    await kernelspecs.ready;
    const name = chooseKernel(kernelspecs.specs, 'python3');
    const kernelspec = { name, display_name: kernelspecs.specs?.kernelspecs[name]?.display_name ?? name };
    const what =
      'path' in source ? PathExt.basename(source.path) : 'text' in source ? trans.__('Pasted log') : trans.__('Logs');
    const code = (text: string): object => ({
      cell_type: 'code',
      source: text,
      metadata: { trusted: true },
      outputs: [],
      execution_count: null
    });
    const notebook = {
      cells: [code(opened(source)), code('wb.LogExplorer(log)')] as never[],
      metadata: { kernelspec },
      nbformat: 4,
      nbformat_minor: 4
    };
    const path = await writeNotebook(contents, folder, `${what} explored`, notebook);
    const args = { path, factory: 'Notebook', kernel: { name } };
    const panel = (await app.commands.execute('docmanager:open', args)) as NotebookPanel;
    await panel.context.ready;
    await panel.sessionContext.ready;
    void NotebookActions.runAll(panel.content, panel.sessionContext);
  } catch (error) {
    await showErrorMessage(trans.__('The log cannot be explored in a notebook'), reason(error));
  }
}

/** Python's lines that open the log; texts of JSON are texts of Python as well. */
function opened(source: Sources): string {
  if ('path' in source) {
    return `import workbench as wb\n\nlog = wb.logs.open(${JSON.stringify(PathExt.basename(source.path))})`;
  }
  if ('paths' in source) {
    const names = source.paths.map(path => JSON.stringify(PathExt.basename(path)));
    return `import workbench as wb\n\nlog = [${names.join(', ')}]`;
  }
  const lines = source.text
    .trimEnd()
    .split('\n')
    .map(line => `    ${JSON.stringify(line + '\n')}\n`);
  return `import workbench as wb\n\ntext = (\n${lines.join('')})\nlog = wb.logs.parse(text)`;
}
