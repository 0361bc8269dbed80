/** The launcher tile: a fresh copy of the tour in the current folder. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, ICommandPalette, showDialog } from '@jupyterlab/apputils';
import { PageConfig, PathExt, URLExt } from '@jupyterlab/coreutils';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { ILauncher } from '@jupyterlab/launcher';
import { Contents, ServerConnection } from '@jupyterlab/services';
import { workbenchIcon, workbenchIconUrl } from './icon';

const COMMAND = 'schedule-workbench:tour';
const NAME = 'Schedule Workbench tour';
/** Shipped with the Python package beside this script. */
const SOURCE = 'schedule-workbench/static/01_tour.ipynb';
const MOST_NAMES = 1000;

interface Notebook {
  cells: { cell_type: string; outputs?: unknown[]; execution_count?: number | null }[];
  metadata: { kernelspec?: { name: string; display_name?: string }; [key: string]: unknown };
  nbformat: number;
  [key: string]: unknown;
}

/** Something that the user is told in a dialog. */
class TourError extends Error {
  constructor(message: string, readonly hint: string) {
    super(message);
  }
}

export function addTour(
  app: JupyterFrontEnd, launcher: ILauncher | null, palette: ICommandPalette | null, browser: IDefaultFileBrowser | null
): void {
  app.commands.addCommand(COMMAND, {
    label: args => (args.isPalette ? 'Open the Schedule Workbench Tour' : 'Schedule Workbench'),
    caption: 'A first look in five minutes: opens a new notebook in the current folder',
    icon: args => (args.isPalette ? undefined : workbenchIcon),
    execute: async args => {
      const cwd = typeof args.cwd === 'string' ? args.cwd : browser?.model.path ?? '';
      try {
        return await openTour(app, cwd);
      } catch (error) {
        await tell(error);
      }
    },
    describedBy: { args: { type: 'object', properties: { cwd: { type: 'string', description: 'Folder of the new notebook' } } } }
  });
  launcher?.add({ command: COMMAND, category: 'Notebook', rank: 20, kernelIconUrl: workbenchIconUrl });
  palette?.addItem({ command: COMMAND, category: 'Schedule Workbench', args: { isPalette: true } });
}

async function openTour(app: JupyterFrontEnd, cwd: string): Promise<unknown> {
  const { contents, kernelspecs } = app.serviceManager;
  const notebook = await fetchTour(app.serviceManager.serverSettings);
  await kernelspecs.ready;
  const name = chooseKernel(notebook, Object.keys(kernelspecs.specs?.kernelspecs ?? {}), kernelspecs.specs?.default);
  notebook.metadata.kernelspec = { name, display_name: kernelspecs.specs?.kernelspecs[name]?.display_name ?? name };
  const path = await write(contents, cwd, notebook);
  return app.commands.execute('docmanager:open', { path, factory: 'Notebook', kernel: { name } });
}

async function fetchTour(settings: ServerConnection.ISettings): Promise<Notebook> {
  const url = URLExt.join(PageConfig.getOption('fullLabextensionsUrl'), SOURCE);
  const hint = 'Is the Python package schedule-workbench still installed where JupyterLab runs? Install it again, and reload this page.';
  let notebook: Notebook;
  try {
    const response = await ServerConnection.makeRequest(new URL(url, settings.baseUrl).href, { cache: 'no-store' }, settings);
    if (!response.ok) {
      throw new Error(`the server answered ${response.status} ${response.statusText}`);
    }
    notebook = (await response.json()) as Notebook;
  } catch (error) {
    throw new TourError(`The tour could not be fetched: ${reason(error)}.`, hint);
  }
  if (!Array.isArray(notebook?.cells) || notebook.nbformat !== 4) {
    throw new TourError('The tour that the server sent is no notebook.', hint);
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

function chooseKernel(notebook: Notebook, known: string[], standard: string | undefined): string {
  const wanted = notebook.metadata.kernelspec?.name;
  const name = wanted !== undefined && known.includes(wanted) ? wanted : standard;
  if (!name) {
    throw new TourError('The server offers no kernel that could run the tour.', 'Install a Python kernel: python -m pip install ipykernel');
  }
  return name;
}

/** Write under a new name, then rename: renaming refuses to replace a file, saving would not. */
async function write(contents: Contents.IManager, cwd: string, notebook: Notebook): Promise<string> {
  let made: Contents.IModel;
  try {
    made = await contents.newUntitled({ path: cwd, type: 'notebook' });
  } catch (error) {
    const hint = 'Is the folder still there, and may you write in it? Choose another folder in the file browser.';
    throw new TourError(`No notebook can be made in the folder "${cwd || '/'}": ${reason(error)}.`, hint);
  }
  try {
    await contents.save(made.path, { type: 'notebook', format: 'json', content: notebook });
    for (let i = 0; i < MOST_NAMES; i++) {
      const path = PathExt.join(PathExt.dirname(made.path), `${NAME}${i ? ` ${i}` : ''}.ipynb`);
      try {
        return (await contents.rename(made.path, path)).path;
      } catch (error) {
        if (!(error instanceof ServerConnection.ResponseError && error.response.status === 409)) {
          throw error;
        }
      }
    }
    throw new Error(`there are ${MOST_NAMES} notebooks of that name already`);
  } catch (error) {
    await contents.delete(made.path).catch(() => undefined); // the first error is the one to tell
    throw new TourError(`The tour's notebook could not be written: ${reason(error)}.`, 'Is the disk full, or the folder read-only?');
  }
}

function reason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}

async function tell(error: unknown): Promise<void> {
  const hint = error instanceof TourError ? `\n\n${error.hint}` : '';
  await showDialog({
    title: 'The tour cannot be opened',
    body: reason(error) + '.' + hint,
    buttons: [Dialog.okButton({ label: 'Close' })]
  });
}
