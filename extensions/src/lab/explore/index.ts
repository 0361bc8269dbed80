/** Logs of any tuner: which files they are, their viewer, and the box for a text that was printed. */
import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget, type ICommandPalette } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { ILauncher } from '@jupyterlab/launcher';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { workbenchIcon, workbenchIconUrl } from '../icon';
import { keepOpen, ShownFactory, ShownModelFactory } from '../shown';
import { EXPLORER } from './name';
import { exploreInNotebook } from './notebook';
import { ExplorePanel } from './panel';
import { trans } from '../words';

const PASTE = 'schedule-workbench:paste-log';
const TOGETHER = 'schedule-workbench:explore-logs';
/** Files that may be logs. */
const MARKED = /\.(json|jsonl|ndjson|csv|tsv|txt|log|gz|db|sqlite3?|parquet)$/i;
const MODEL = 'schedule-workbench:any-log';
/** Names that only a tuner gives. */
const CERTAIN =
  '\\.autotune\\.json(\\.gz)?$|\\.tunelog\\.jsonl\\.gz$|^database_(tuning_record|workload)\\.json$|' +
  '^autotuning_result_json_list\\.txt$';
/** Nothing else of JupyterLab shows these. */
const PACKED = ['.json.gz', '.jsonl.gz', '.csv.gz', '.log.gz', '.txt.gz'];
const STORED = ['.db', '.sqlite', '.sqlite3', '.parquet'];
/** May be logs, and are much else: the viewer is offered, others stay the usual ones. */
const POSSIBLE = ['.log', '.gz'];

export function addExplorer(
  app: JupyterFrontEnd,
  rendermime: IRenderMimeRegistry,
  launcher: ILauncher | null,
  palette: ICommandPalette | null,
  browser: IDefaultFileBrowser | null,
  restorer: ILayoutRestorer | null
): void {
  const registry = app.docRegistry;
  const type = (name: string, displayName: string, extensions: string[], pattern?: string): string => {
    const mimeTypes = ['text/plain']; // JupyterLab's editor asks for one
    registry.addFileType({
      name,
      displayName,
      extensions,
      pattern,
      mimeTypes,
      fileFormat: 'text',
      contentType: 'file'
    });
    return name;
  };
  const usual = [
    type('tuner-log', trans.__('Log of a tuner'), [], CERTAIN),
    type('packed-log', trans.__('Packed log of a tuner'), PACKED),
    type('stored-log', trans.__('Database or table'), STORED)
  ];
  const offered = [type('possible-log', trans.__('Text'), POSSIBLE), 'tunelog', 'text', 'json', 'jsonl', 'csv', 'tsv'];
  registry.addModelFactory(new ShownModelFactory(MODEL));
  const factory = new ShownFactory(EXPLORER, [...usual, ...offered], usual, MODEL, context => {
    const panel = new ExplorePanel(app, rendermime);
    const open = (): void =>
      panel.openFile(app.serviceManager.contents.localPath(context.path), PathExt.dirname(context.path));
    context.pathChanged.connect(open);
    void context.ready.then(open);
    return panel;
  });
  registry.addWidgetFactory(factory);
  keepOpen(factory, 'schedule-workbench-explorer', restorer);
  addPaste(app, rendermime, launcher, palette, browser);
  if (browser) addTogether(app, browser);
}

/** Several files that are marked in the file browser, as runs to compare; that takes a kernel. */
function addTogether(app: JupyterFrontEnd, browser: IDefaultFileBrowser): void {
  const marked = (): string[] => [...browser.selectedItems()].map(item => item.path);
  app.commands.addCommand(TOGETHER, {
    label: trans.__('Explore Logs Together'),
    caption: trans.__('Compare what tuners have written to these files, in a notebook'),
    icon: workbenchIcon,
    isVisible: () => marked().length > 1 && marked().every(path => MARKED.test(path)),
    execute: () => exploreInNotebook(app, { paths: marked() }, browser.model.path),
    describedBy: { args: { type: 'object', properties: {} } }
  });
  app.contextMenu.addItem({ command: TOGETHER, selector: '.jp-DirListing-item[data-isdir="false"]', rank: 3 });
}

function addPaste(
  app: JupyterFrontEnd,
  rendermime: IRenderMimeRegistry,
  launcher: ILauncher | null,
  palette: ICommandPalette | null,
  browser: IDefaultFileBrowser | null
): void {
  app.commands.addCommand(PASTE, {
    label: args => (args.isPalette ? trans.__('Tuning Log from Pasted Text') : trans.__('Pasted Tuning Log')),
    caption: trans.__('Paste what a tuner has printed, and explore it'),
    icon: args => (args.isPalette ? undefined : workbenchIcon),
    execute: args => {
      const panel = new ExplorePanel(app, rendermime);
      const widget = new MainAreaWidget({ content: panel });
      widget.toolbar.hide(); // nothing is in it
      widget.title.label = trans.__('Pasted tuning log');
      widget.title.icon = workbenchIcon;
      widget.title.closable = true;
      panel.askForText(typeof args.cwd === 'string' ? args.cwd : (browser?.model.path ?? ''));
      app.shell.add(widget, 'main');
      app.shell.activateById(widget.id);
      return widget;
    },
    describedBy: {
      args: { type: 'object', properties: { cwd: { type: 'string', description: trans.__('Folder of notebooks') } } }
    }
  });
  launcher?.add({ command: PASTE, category: 'Other', rank: 30, kernelIconUrl: workbenchIconUrl });
  palette?.addItem({ command: PASTE, category: trans.__('Schedule Workbench'), args: { isPalette: true } });
}
