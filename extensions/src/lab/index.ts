import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator } from '@jupyterlab/translation';
import { addBeside } from './beside';
import { addExplorer } from './explore';
import { openByContents } from './explore/by-contents';
import { addLogViewer } from './log';
import { addOpen } from './open';
import { refreshOnSave } from './fresh-copies';
import { addSavedViews } from './saved';
import { addSessions } from './sessions';
import { addTour } from './tour';
import { words } from './words';

const tour: JupyterFrontEndPlugin<void> = {
  id: 'schedule-workbench:tour',
  description: 'Launcher tile and command that open the tour',
  autoStart: true,
  optional: [ILauncher, ICommandPalette, IDefaultFileBrowser, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    launcher: ILauncher | null,
    palette: ICommandPalette | null,
    browser: IDefaultFileBrowser | null,
    translator: ITranslator | null
  ) => {
    words(translator);
    addTour(app, launcher, palette, browser);
  }
};

const open: JupyterFrontEndPlugin<void> = {
  id: 'schedule-workbench:open',
  description: 'Opens ONNX models: double click, context menu, launcher tile',
  autoStart: true,
  requires: [IDocumentManager],
  optional: [ILauncher, ICommandPalette, IDefaultFileBrowser, ITranslator, ILayoutRestorer, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    documents: IDocumentManager,
    launcher: ILauncher | null,
    palette: ICommandPalette | null,
    browser: IDefaultFileBrowser | null,
    translator: ITranslator | null,
    restorer: ILayoutRestorer | null,
    registry: ISettingRegistry | null
  ) => {
    words(translator);
    addOpen(app, documents, { launcher, palette, browser, restorer, registry });
  }
};

const log: JupyterFrontEndPlugin<void> = {
  id: 'schedule-workbench:log',
  description: 'Viewer for tuning logs (.tunelog.jsonl)',
  autoStart: true,
  optional: [ILayoutRestorer, ITranslator],
  activate: (app: JupyterFrontEnd, restorer: ILayoutRestorer | null, translator: ITranslator | null) => {
    words(translator);
    addLogViewer(app, restorer);
  }
};

const explorer: JupyterFrontEndPlugin<void> = {
  id: 'schedule-workbench:explorer',
  description: 'Explorer of the logs of any tuner, read by the server',
  autoStart: true,
  requires: [IRenderMimeRegistry, IDocumentManager],
  optional: [ILauncher, ICommandPalette, IDefaultFileBrowser, ISettingRegistry, ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    documents: IDocumentManager,
    launcher: ILauncher | null,
    palette: ICommandPalette | null,
    browser: IDefaultFileBrowser | null,
    settings: ISettingRegistry | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ) => {
    words(translator);
    addExplorer(app, rendermime, launcher, palette, browser, restorer);
    openByContents(app, documents, browser, settings);
  }
};

const saved: JupyterFrontEndPlugin<void> = {
  id: 'schedule-workbench:saved',
  description: 'Shows the saved view of a widget whose kernel is gone',
  autoStart: true,
  optional: [INotebookTracker],
  activate: (_: JupyterFrontEnd, notebooks: INotebookTracker | null) => {
    addSavedViews(notebooks);
    if (notebooks) refreshOnSave(notebooks);
  }
};

const beside: JupyterFrontEndPlugin<void> = {
  id: 'schedule-workbench:panel',
  description: 'Shows the workbench of a notebook in a panel beside it',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ICommandPalette, ILayoutRestorer, ITranslator, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null,
    registry: ISettingRegistry | null
  ) => {
    words(translator);
    addBeside(app, notebooks, { palette, restorer, registry });
  }
};

const sessions: JupyterFrontEndPlugin<void> = {
  id: 'schedule-workbench:sessions',
  description: 'Sidebar with the tuning sessions of all kernels',
  autoStart: true,
  optional: [ICommandPalette, ILayoutRestorer, ISettingRegistry, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    registry: ISettingRegistry | null,
    translator: ITranslator | null
  ) => {
    words(translator);
    addSessions(app, palette, restorer, registry);
  }
};

export default [tour, open, log, explorer, saved, beside, sessions];
