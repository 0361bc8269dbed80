/** A tile of the launcher: a fresh copy of the tours in a new folder. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, ICommandPalette, showDialog } from '@jupyterlab/apputils';
import { PageConfig, PathExt, URLExt } from '@jupyterlab/coreutils';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { ILauncher } from '@jupyterlab/launcher';
import { ServerConnection } from '@jupyterlab/services';
import { workbenchIcon, workbenchIconUrl } from './icon';
import { chooseKernel, reason, Told, writeFolder, type Notebook } from './notebooks';
import { trans } from './words';

const COMMAND = 'schedule-workbench:tour';
const NAME = 'Schedule Workbench tour';
/** Shipped with the Python package beside this script; they link to each other by these names. */
const PLACE = 'schedule-workbench/static';
const TOURS = [
  '01_tour_1_see_a_network.ipynb',
  '01_tour_2_shape_a_nest.ipynb',
  '01_tour_3_tune_and_take_away.ipynb'
] as const;

export function addTour(
  app: JupyterFrontEnd,
  launcher: ILauncher | null,
  palette: ICommandPalette | null,
  browser: IDefaultFileBrowser | null
): void {
  app.commands.addCommand(COMMAND, {
    label: args => (args.isPalette ? trans.__('Open the Schedule Workbench Tour') : trans.__('Workbench Tour')),
    caption: trans.__('Three notebooks of ten minutes each: see a network, shape a nest, tune it; in a new folder'),
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
      args: {
        type: 'object',
        properties: { cwd: { type: 'string', description: trans.__('Where the new folder is made') } }
      }
    }
  });
  launcher?.add({ command: COMMAND, category: 'Notebook', rank: 20, kernelIconUrl: workbenchIconUrl });
  palette?.addItem({ command: COMMAND, category: trans.__('Schedule Workbench'), args: { isPalette: true } });
}

async function openTour(app: JupyterFrontEnd, cwd: string): Promise<unknown> {
  const { contents, kernelspecs, serverSettings } = app.serviceManager;
  const all = new Map<string, Notebook>();
  for (const file of TOURS) all.set(file, await fetchTour(serverSettings, file));
  await kernelspecs.ready;
  const name = chooseKernel(kernelspecs.specs, all.get(TOURS[0])?.metadata.kernelspec?.name);
  const display = kernelspecs.specs?.kernelspecs[name]?.display_name ?? name;
  for (const { metadata } of all.values()) metadata.kernelspec = { name, display_name: display };
  const path = PathExt.join(await writeFolder(contents, cwd, NAME, all), TOURS[0]);
  return app.commands.execute('docmanager:open', { path, factory: 'Notebook', kernel: { name } });
}

async function fetchTour(settings: ServerConnection.ISettings, file: string): Promise<Notebook> {
  const url = URLExt.join(PageConfig.getOption('fullLabextensionsUrl'), PLACE, file);
  const hint = trans.__(
    'Is the Python package schedule-workbench still installed where JupyterLab runs? Install it again, and reload this page.'
  );
  let notebook: Notebook;
  try {
    const response = await ServerConnection.makeRequest(
      new URL(url, settings.baseUrl).href,
      { cache: 'no-store' },
      settings
    );
    if (!response.ok) {
      throw new Error(trans.__('the server answered %1 %2', response.status, response.statusText));
    }
    notebook = (await response.json()) as Notebook;
  } catch (error) {
    throw new Told(trans.__('The tour could not be fetched: %1.', reason(error)), hint);
  }
  if (!Array.isArray(notebook?.cells) || notebook.nbformat !== 4) {
    throw new Told(trans.__('The tour that the server sent is no notebook.'), hint);
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
    title: trans.__('The tour cannot be opened'),
    body: reason(error) + '.' + hint,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}
