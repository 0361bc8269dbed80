/** A notebook's workbench in a panel of its own: the command, where it is found, and that it comes back. */
import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { showErrorMessage, WidgetTracker, type ICommandPalette, type MainAreaWidget } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { workbenchIcon } from '../icon';
import { trans } from '../words';
import { workbenchIn, type Cell } from './cells';
import type { BesidePanel, Place } from './panel';

const COMMAND = 'schedule-workbench:panel';
const VIEW = 'jp-ScheduleWorkbenchView';
/** By this the widget finds what opens it in a panel; elsewhere than in JupyterLab nothing does. */
const HOST = Symbol.for('schedule-workbench:panel');

/** Places of the settings, in JupyterLab's words. */
const MODES = { right: 'split-right', below: 'split-bottom', tab: 'tab-after' } as const;
/** Pixels below which the half of an area is no room for a workbench: no panel is put beside what is narrower. */
const WIDE = 1000;

type Shown = MainAreaWidget<BesidePanel>;
type Mode = (typeof MODES)[keyof typeof MODES];

interface Parts {
  readonly palette: ICommandPalette | null;
  readonly restorer: ILayoutRestorer | null;
  readonly registry: ISettingRegistry | null;
}

export function addBeside(
  app: JupyterFrontEnd,
  notebooks: INotebookTracker,
  { palette, restorer, registry }: Parts
): void {
  const settings = registry?.load(COMMAND).catch(() => null);
  const mode = async (placement: unknown): Promise<Mode> =>
    MODES[(placement ?? (await settings)?.composite.placement ?? 'tab') as keyof typeof MODES];
  const tracker = new WidgetTracker<Shown>({ namespace: 'schedule-workbench-panel' });
  app.commands.addCommand(COMMAND, {
    label: args =>
      args.placement === 'right'
        ? trans.__('Open Workbench Beside the Notebook')
        : trans.__('Open Workbench in a Panel'),
    caption: trans.__('Show the workbench of this notebook in a tab of its own, or beside the notebook'),
    icon: workbenchIcon,
    isVisible: () => notebooks.currentWidget !== null,
    execute: async args => {
      const place = args.path ? (args as unknown as Place) : chosen(app, notebooks);
      const notebook = place && notebooks.find(one => one.context.path === place.path);
      if (notebook) return show(app, tracker, notebook, place, await mode(args.placement));
      if (args.path) return; // the notebook was closed when the page was loaded again
      await showErrorMessage(
        trans.__('No workbench is shown'),
        trans.__('Run a cell that ends with a workbench, such as Workbench(model), and try again.')
      );
    },
    describedBy: {
      args: {
        type: 'object',
        properties: {
          placement: {
            type: 'string',
            enum: Object.keys(MODES),
            description: trans.__('Where it opens; else where the settings say')
          },
          path: { type: 'string', description: trans.__('The notebook; without it the current one') },
          cell: { type: 'string', description: trans.__('Id of the cell that shows the workbench') },
          model: { type: 'string', description: trans.__('Id of the widget') }
        }
      }
    }
  });
  palette?.addItem({ command: COMMAND, category: trans.__('Schedule Workbench') });
  palette?.addItem({ command: COMMAND, category: trans.__('Schedule Workbench'), args: { placement: 'right' } });
  app.contextMenu.addItem({ command: COMMAND, selector: `.${VIEW}`, rank: 0 });
  void restorer?.restore(tracker, {
    command: COMMAND,
    args: widget => ({ ...widget.content.place }),
    name: widget => widget.id,
    when: notebooks.restored
  });
  (globalThis as { [HOST]?: (view: Element) => void })[HOST] = view => {
    const place = placeOf(notebooks, view);
    if (place) void app.commands.execute(COMMAND, { ...place });
  };
}

/** The workbench that was clicked on, else that of the active cell, else the last of the notebook. */
function chosen(app: JupyterFrontEnd, notebooks: INotebookTracker): Place | null {
  const clicked = app.contextMenuHitTest(node => node.classList.contains(VIEW));
  if (clicked) return placeOf(notebooks, clicked);
  const notebook = notebooks.currentWidget;
  if (!notebook) return null;
  const cells = [...notebook.content.widgets].reverse();
  const active = notebook.content.activeCell;
  const cell = [...(active ? [active] : []), ...cells].find(one => workbenchIn(one));
  return cell ? place(notebook, cell) : null;
}

function placeOf(notebooks: INotebookTracker, view: Element): Place | null {
  const notebook = notebooks.find(one => one.node.contains(view));
  const cell = notebook?.content.widgets.find(one => one.node.contains(view));
  return notebook && cell ? place(notebook, cell) : null;
}

const place = (notebook: NotebookPanel, cell: Cell): Place => ({
  path: notebook.context.path,
  cell: cell.model.id,
  model: workbenchIn(cell)?.model_id ?? ''
});

async function show(
  app: JupyterFrontEnd,
  tracker: WidgetTracker<Shown>,
  notebook: NotebookPanel,
  place: Place,
  mode: Mode
): Promise<Shown> {
  const id = `schedule-workbench-${place.cell}`;
  let widget = tracker.find(one => one.id === id);
  if (!widget) {
    const { besidePanel } = await import('./panel');
    widget = besidePanel(id, notebook, place);
    await tracker.add(widget);
    const narrow = mode === 'split-right' && notebook.node.clientWidth < WIDE;
    app.shell.add(widget, 'main', { mode: narrow ? 'tab-after' : mode, ref: notebook.id });
  }
  app.shell.activateById(id);
  return widget;
}
