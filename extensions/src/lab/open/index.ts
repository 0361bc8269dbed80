/**
 * Somebody's own model or log: a view of `.onnx` files, a tile in the launcher, an entry in the menu of new documents
 * (`schema/open.json`) and in the file browser's.
 */
import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget, type ICommandPalette } from '@jupyterlab/apputils';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { ILauncher } from '@jupyterlab/launcher';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { EXPLORER } from '../explore/name';
import { workbenchIcon, workbenchIconUrl } from '../icon';
import { keepOpen, ShownFactory, ShownModelFactory } from '../shown';
import { trans } from '../words';
import { LatePanel } from '../late';
import { prepare } from '../model/reading';

const COMMAND = 'schedule-workbench:open';
const SELECTED = 'schedule-workbench:open-selected';
const FACTORY = 'Schedule Workbench';
const VIEW = 'Shared view';
const MODEL = 'schedule-workbench:model';
/** Names of files that may be a model, a log or a trace. */
const OPENED = /\.(onnx|json|jsonl|ndjson|csv|tsv|txt|log|gz|db|sqlite3?|parquet)$/i;

interface Parts {
  readonly launcher: ILauncher | null;
  readonly palette: ICommandPalette | null;
  readonly browser: IDefaultFileBrowser | null;
  readonly restorer: ILayoutRestorer | null;
  readonly registry: ISettingRegistry | null;
}

export function addOpen(
  app: JupyterFrontEnd,
  documents: IDocumentManager,
  { launcher, palette, browser, restorer, registry }: Parts
): void {
  app.docRegistry.addFileType({
    name: 'onnx',
    displayName: trans.__('ONNX model'),
    extensions: ['.onnx'],
    mimeTypes: ['application/onnx'],
    fileFormat: 'base64',
    contentType: 'file',
    icon: workbenchIcon
  });
  app.docRegistry.addModelFactory(new ShownModelFactory(MODEL));
  const settings = registry?.load(COMMAND).catch(() => null);
  const factory = new ShownFactory(FACTORY, ['onnx'], ['onnx'], MODEL, context => {
    const shown: LatePanel = new LatePanel(async () => {
      const [{ ModelPanel }, chosen] = await Promise.all([import('../model/panel'), settings, context.ready]);
      const panel = new ModelPanel(
        app,
        documents,
        () => shown.parent?.dispose(),
        () => ({
          mostNodes: (chosen?.composite.mostNodes as number | undefined) ?? null,
          tune: chosen?.composite.models === 'graph and form'
        })
      );
      context.pathChanged.connect(() => panel.open(context.path));
      panel.open(context.path);
      return panel;
    });
    return shown;
  });
  app.docRegistry.addWidgetFactory(factory);
  keepOpen(factory, 'schedule-workbench-model', restorer);
  addSharedViews(app);
  prepareForModels(app, browser);
  void settings?.then(found => found && follow(app, registry!, found));

  app.commands.addCommand(COMMAND, {
    label: args =>
      args.isPalette ? trans.__('Open a Model in the Schedule Workbench') : trans.__('Schedule Workbench'),
    caption: trans.__('Choose an ONNX model and its shapes, and schedule and tune its kernels; or a tuning log'),
    icon: args => (args.isPalette ? undefined : workbenchIcon),
    execute: args => {
      if (typeof args.path === 'string')
        return app.commands.execute('docmanager:open', { path: args.path, factory: FACTORY });
      const folder = typeof args.cwd === 'string' ? args.cwd : (browser?.model.path ?? '');
      const panel = new LatePanel(async () => {
        const { OpenPanel } = await import('./panel');
        return new OpenPanel(app, documents, folder, () => widget.dispose());
      });
      const widget: MainAreaWidget = new MainAreaWidget({ content: panel });
      widget.toolbar.hide(); // nothing is in it
      widget.title.label = trans.__('Open a model');
      widget.title.icon = workbenchIcon;
      widget.title.closable = true;
      app.shell.add(widget, 'main');
      app.shell.activateById(widget.id);
      return widget;
    },
    describedBy: {
      args: {
        type: 'object',
        properties: {
          path: { type: 'string', description: trans.__('The model') },
          cwd: { type: 'string', description: trans.__('Folder to look in') }
        }
      }
    }
  });
  const selected = (): string[] => [...(browser?.selectedItems() ?? [])].map(item => item.path);
  app.commands.addCommand(SELECTED, {
    label: trans.__('Open in Schedule Workbench'),
    caption: trans.__('Models, views, tuning logs and traces that are selected in the file browser'),
    icon: workbenchIcon,
    isVisible: () => selected().some(path => OPENED.test(path)),
    execute: () =>
      Promise.all(
        selected()
          .filter(path => OPENED.test(path))
          .map(path => app.commands.execute('docmanager:open', { path, factory: factoryOf(app, path) }))
      ),
    describedBy: { args: { type: 'object', properties: {} } }
  });
  launcher?.add({ command: COMMAND, category: 'Notebook', rank: 19, kernelIconUrl: workbenchIconUrl });
  palette?.addItem({ command: COMMAND, category: trans.__('Schedule Workbench'), args: { isPalette: true } });
  palette?.addItem({ command: SELECTED, category: trans.__('Schedule Workbench') });
  app.contextMenu.addItem({ command: SELECTED, selector: '.jp-DirListing-item[data-isdir="false"]', rank: 1.5 });
}

/** What the export “View” writes opens as the workbench that it shows. */
function addSharedViews(app: JupyterFrontEnd): void {
  app.docRegistry.addFileType({
    name: 'workbench-view',
    displayName: trans.__('View of a workbench'),
    extensions: ['.view.json'],
    mimeTypes: ['application/json'],
    fileFormat: 'text',
    contentType: 'file',
    icon: workbenchIcon
  });
  app.docRegistry.addWidgetFactory(
    new ShownFactory(VIEW, ['workbench-view'], ['workbench-view'], MODEL, context => {
      const shown: LatePanel = new LatePanel(async () => {
        const [{ SharedViewPanel }] = await Promise.all([import('./shared-view'), context.ready]);
        const panel = new SharedViewPanel(app, () => shown.parent?.dispose());
        void panel.open(context.path);
        return panel;
      });
      return shown;
    })
  );
}

/** Open models and logs with what somebody has set here; else JupyterLab's own settings of viewers decide. */
function follow(app: JupyterFrontEnd, registry: ISettingRegistry, settings: ISettingRegistry.ISettings): void {
  const { docRegistry } = app;
  const text = docRegistry.defaultWidgetFactory().name;
  const viewers: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
    models: ['onnx', { graph: FACTORY, 'graph and form': FACTORY, 'not in the workbench': text }],
    logs: ['tunelog', { viewer: 'Tuning log', explorer: EXPLORER, text }]
  };
  const last: Partial<Record<string, unknown>> = {};
  const read = async (): Promise<void> => {
    for (const [key, [type, names]] of Object.entries(viewers)) {
      const chosen = settings.user[key] as string | undefined;
      if (chosen === last[key]) continue;
      last[key] = chosen;
      const name = chosen === undefined ? (await viewersOf(registry))[type] : names[chosen];
      if (last[key] === chosen) docRegistry.setDefaultWidgetFactory(type, name);
    }
  };
  settings.changed.connect(() => void read());
  void read();
}

/** What JupyterLab's own settings say: names of viewers by type of file. */
async function viewersOf(registry: ISettingRegistry): Promise<Readonly<Record<string, string | undefined>>> {
  const { composite } = await registry.get('@jupyterlab/docmanager-extension:plugin', 'defaultViewers');
  return (composite ?? {}) as Record<string, string>;
}

/** Where a folder with models is on show, one is likely to be opened; the server takes a second to get ready. */
function prepareForModels(app: JupyterFrontEnd, browser: IDefaultFileBrowser | null): void {
  if (!browser) return;
  const { model } = browser;
  let prepared = '';
  model.refreshed.connect(() => {
    if (prepared === model.path || ![...model.items()].some(item => item.path.endsWith('.onnx'))) return;
    prepared = model.path;
    prepare(app.serviceManager.serverSettings);
  });
}

/** What shows a file: its usual view where that is ours, else the explorer of logs. */
function factoryOf(app: JupyterFrontEnd, path: string): string {
  const usual = app.docRegistry.defaultWidgetFactory(path);
  return usual instanceof ShownFactory ? usual.name : EXPLORER;
}
