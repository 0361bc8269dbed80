/**
 * A saved notebook keeps readable copies of its workbenches, made when their cells were run. After a save the kernel is
 * asked for those of now; where one says something else, it takes the place of the old one and the notebook is saved
 * once more. So nothing is asked while somebody works.
 */
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { outputsOf, type Stored } from './beside/cells';
import { readSaved, VIEW_TYPE } from './saved';

/** Where the widget keeps its workbenches: `kernel/roots.ts`. */
const ROOTS = Symbol.for('schedule-workbench');
interface Root {
  readonly store: { ask(q: string, args: object): Promise<unknown> };
}
/** By the number of a model, what an output says of it. */
type Copies = Readonly<Record<string, Stored>>;

const roots = (): ReadonlyMap<string, Root> =>
  (globalThis as { [ROOTS]?: ReadonlyMap<string, Root> })[ROOTS] ?? new Map<string, Root>();

export function refreshOnSave(notebooks: INotebookTracker): void {
  const add = (panel: NotebookPanel): void => {
    let asking = false;
    panel.context.saveState.connect((context, state) => {
      if (state !== 'completed' || asking) return;
      asking = true;
      void refreshed(panel)
        .then(changed => (changed ? context.save() : undefined))
        .finally(() => {
          asking = false;
        });
    });
  };
  notebooks.forEach(add);
  notebooks.widgetAdded.connect((_, panel) => add(panel));
}

/** Bring the copies of a notebook up to date; whether there was anything to do. */
async function refreshed(panel: NotebookPanel): Promise<boolean> {
  if (![...views(panel)].length) return false;
  // An older kernel does not know the question, and one that is gone answers nothing.
  const answers = await Promise.all(
    [...roots().values()].map(root => root.store.ask('copies', {}).catch(() => ({})) as Promise<Copies>)
  );
  if (panel.isDisposed) return false;
  const copies = new Map(answers.flatMap(answer => Object.entries(answer)));
  let changed = false;
  for (const { outputs, i, id, html } of views(panel)) {
    const copy = copies.get(id);
    if (!copy || readSaved(copy[VIEW_TYPE]).html === html) continue;
    const stored = outputs.get(i).toJSON();
    outputs.set(i, { ...stored, data: { ...(stored.data as Stored), ...copy } });
    changed = true;
  }
  return changed;
}

/** The outputs that show a workbench. */
function* views(panel: NotebookPanel) {
  for (const cell of panel.content.widgets) {
    const outputs = outputsOf(cell);
    for (let i = 0; i < (outputs?.length ?? 0); i++) {
      const { data, trusted } = outputs!.get(i);
      const { model_id: id, html } = readSaved(data[VIEW_TYPE]);
      if (trusted && id) yield { outputs: outputs!, i, id, html };
    }
  }
}
