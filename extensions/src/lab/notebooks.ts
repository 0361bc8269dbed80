/** New notebooks that are ready to run. */
import { PathExt } from '@jupyterlab/coreutils';
import { Contents, KernelSpec, ServerConnection } from '@jupyterlab/services';
import { trans } from './words';

const MOST_NAMES = 1000;

export interface Notebook {
  cells: { cell_type: string; outputs?: unknown[]; execution_count?: number | null }[];
  metadata: { kernelspec?: { name: string; display_name?: string }; [key: string]: unknown };
  nbformat: number;
  [key: string]: unknown;
}

/** Something that the user is told, with what to do about it. */
export class Told extends Error {
  constructor(
    message: string,
    readonly hint: string
  ) {
    super(message);
  }
}

/** The kernel that is wanted where the server has it, else its usual one. */
export function chooseKernel(specs: KernelSpec.ISpecModels | null, wanted?: string): string {
  const name = wanted !== undefined && wanted in (specs?.kernelspecs ?? {}) ? wanted : specs?.default;
  if (!name) {
    throw new Told(
      trans.__('The server offers no kernel that could run it.'),
      trans.__('Install a Python kernel: python -m pip install ipykernel')
    );
  }
  return name;
}

/** Give a file or folder the first free name of `title`, `title 1`, ...: renaming refuses to replace what is there. */
async function rename(contents: Contents.IManager, from: string, title: string, ending = ''): Promise<string> {
  for (let i = 0; i < MOST_NAMES; i++) {
    const path = PathExt.join(PathExt.dirname(from), `${title}${i ? ` ${i}` : ''}${ending}`);
    try {
      return (await contents.rename(from, path)).path;
    } catch (error) {
      if (!(error instanceof ServerConnection.ResponseError && error.response.status === 409)) {
        throw error;
      }
    }
  }
  throw new Error(`${MOST_NAMES} of that name are there already`);
}

/** Make something in a folder, fill it, and name it; what cannot be filled is removed. Gives its path. */
async function make(
  contents: Contents.IManager,
  cwd: string,
  type: 'notebook' | 'directory',
  title: string,
  fill: (path: string) => Promise<unknown>
): Promise<string> {
  const what = type === 'notebook' ? 'notebook' : 'folder';
  let made: Contents.IModel;
  try {
    made = await contents.newUntitled({ path: cwd, type });
  } catch (error) {
    const hint = trans.__(
      'Is the folder still there, and may you write in it? Choose another folder in the file browser.'
    );
    throw new Told(trans.__('No %1 can be made in the folder "%2": %3.', what, cwd || '/', reason(error)), hint);
  }
  try {
    await fill(made.path);
    return await rename(contents, made.path, title, type === 'notebook' ? '.ipynb' : '');
  } catch (error) {
    await contents.delete(made.path).catch(() => undefined); // the first error is the one to tell
    const hint = trans.__('Is the disk full, or the folder read-only?');
    throw new Told(trans.__('The %1 could not be written: %2.', what, reason(error)), hint);
  }
}

const save = (contents: Contents.IManager, path: string, content: Notebook) =>
  contents.save(path, { type: 'notebook', format: 'json', content });

/** Write a notebook under a new name. */
export const writeNotebook = (contents: Contents.IManager, cwd: string, title: string, notebook: Notebook) =>
  make(contents, cwd, 'notebook', title, path => save(contents, path, notebook));

/** Write notebooks, by their file names, into a new folder. */
export const writeFolder = (
  contents: Contents.IManager,
  cwd: string,
  title: string,
  notebooks: ReadonlyMap<string, Notebook>
) =>
  make(contents, cwd, 'directory', title, async path => {
    for (const [name, notebook] of notebooks) await save(contents, PathExt.join(path, name), notebook);
  });

/** What an error says, without its full stop. */
export function reason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}
