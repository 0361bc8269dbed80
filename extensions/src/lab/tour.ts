/** A tile of the launcher: a fresh copy of the tour in the current folder. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, ICommandPalette, showDialog } from '@jupyterlab/apputils';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { ILauncher } from '@jupyterlab/launcher';
import { ServerConnection } from '@jupyterlab/services';
import { workbenchIcon, workbenchIconUrl } from './icon';
import { chooseKernel, reason, Told, writeNotebook, type Notebook } from './notebooks';

const COMMAND = 'schedule-workbench:tour';
const NAME = 'Schedule Workbench tour';
/** Shipped with the Python package beside this script. */
const SOURCE = 'schedule-workbench/static/01_tour.ipynb';

export function addTour(
  app: JupyterFrontEnd,
  launcher: ILauncher | null,
  palette: ICommandPalette | null,
  browser: IDefaultFileBrowser | null
): void {
  app.commands.addCommand(COMMAND, {
    label: args => (args.isPalette ? 'Open the Schedule Workbench Tour' : 'Workbench Tour'),
    caption: 'A first look in five minutes: opens a new notebook in the current folder',
    icon: args => (args.isPalette ? undefined : workbenchIcon),
    execute: async args => {
      const cwd = typeof args.cwd === 'string' ? args.cwd : (browser?.model.path ?? '');
      try {
        return await openTour(app, cwd);
      } catch (error) {
        await tell(error);
      }
    },
    describedBy: {
      args: { type: 'object', properties: { cwd: { type: 'string', description: 'Folder of the new notebook' } } }
    }
  });
  launcher?.add({ command: COMMAND, category: 'Notebook', rank: 20, kernelIconUrl: workbenchIconUrl });
  palette?.addItem({ command: COMMAND, category: 'Schedule Workbench', args: { isPalette: true } });
}

async function openTour(app: JupyterFrontEnd, cwd: string): Promise<unknown> {
  const { contents, kernelspecs } = app.serviceManager;
  const notebook = await fetchTour(app.serviceManager.serverSettings);
  await kernelspecs.ready;
  const name = chooseKernel(kernelspecs.specs, notebook.metadata.kernelspec?.name);
  notebook.metadata.kernelspec = { name, display_name: kernelspecs.specs?.kernelspecs[name]?.display_name ?? name };
  const path = await writeNotebook(contents, cwd, NAME, notebook);
  return app.commands.execute('docmanager:open', { path, factory: 'Notebook', kernel: { name } });
}

async function fetchTour(settings: ServerConnection.ISettings): Promise<Notebook> {
  const url = URLExt.join(PageConfig.getOption('fullLabextensionsUrl'), SOURCE);
  const hint =
    'Is the Python package schedule-workbench still installed where JupyterLab runs? Install it again, and reload this page.';
  let notebook: Notebook;
  try {
    const response = await ServerConnection.makeRequest(
      new URL(url, settings.baseUrl).href,
      { cache: 'no-store' },
      settings
    );
    if (!response.ok) {
      throw new Error(`the server answered ${response.status} ${response.statusText}`);
    }
    notebook = (await response.json()) as Notebook;
  } catch (error) {
    throw new Told(`The tour could not be fetched: ${reason(error)}.`, hint);
  }
  if (!Array.isArray(notebook?.cells) || notebook.nbformat !== 4) {
    throw new Told('The tour that the server sent is no notebook.', hint);
  }
  notebook.metadata ??= {};
  for (const cell of notebook.cells) {
    if (cell.cell_type === 'code') {
      cell.outputs = [];
      cell.execution_count = null;
    }
  }
  return notebook;
}

async function tell(error: unknown): Promise<void> {
  const hint = error instanceof Told ? `\n\n${error.hint}` : '';
  await showDialog({
    title: 'The tour cannot be opened',
    body: reason(error) + '.' + hint,
    buttons: [Dialog.okButton({ label: 'Close' })]
  });
}
