/** New notebooks that are ready to run. */
import { PathExt } from '@jupyterlab/coreutils';
import { Contents, KernelSpec, ServerConnection } from '@jupyterlab/services';

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
      'The server offers no kernel that could run it.',
      'Install a Python kernel: python -m pip install ipykernel'
    );
  }
  return name;
}

/** Write under a new name, then rename: renaming refuses to replace a file, saving would not. */
export async function writeNotebook(
  contents: Contents.IManager,
  cwd: string,
  title: string,
  notebook: Notebook
): Promise<string> {
  let made: Contents.IModel;
  try {
    made = await contents.newUntitled({ path: cwd, type: 'notebook' });
  } catch (error) {
    const hint = 'Is the folder still there, and may you write in it? Choose another folder in the file browser.';
    throw new Told(`No notebook can be made in the folder "${cwd || '/'}": ${reason(error)}.`, hint);
  }
  try {
    await contents.save(made.path, { type: 'notebook', format: 'json', content: notebook });
    for (let i = 0; i < MOST_NAMES; i++) {
      const path = PathExt.join(PathExt.dirname(made.path), `${title}${i ? ` ${i}` : ''}.ipynb`);
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
    throw new Told(
      `The notebook could not be written: ${reason(error)}.`,
      'Is the disk full, or the folder read-only?'
    );
  }
}

/** What an error says, without its full stop. */
export function reason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}
