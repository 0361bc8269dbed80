/**
 * Opens a tuning log in the explorer by what is in the file, where JupyterLab would choose a viewer by its ending: in
 * the file browser, and by `docmanager:open`. The server is asked before anything opens, so nothing is shown twice;
 * what is no log, or not known in time, goes where it always went.
 */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { URLExt } from '@jupyterlab/coreutils';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ServerConnection, type Contents } from '@jupyterlab/services';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ShownFactory } from '../shown';
import { EXPLORER } from './name';

const ADDRESS = 'schedule-workbench/format';
const OPEN = 'docmanager:open';
const PLUGIN = 'schedule-workbench:explorer';
const POSSIBLE = /\.(json|jsonl|ndjson|csv|tsv|txt|log|gz)$/i;
/** Names of drives whose files are the server's own. */
const OWN_DRIVES = ['', 'RTC'];

/** The part of the browser's list that opens a file; JupyterLab lets those override it who make a list of their own. */
interface Listing {
  handleOpen(item: Contents.IModel): void;
}

export function openByContents(
  app: JupyterFrontEnd,
  documents: IDocumentManager,
  browser: IDefaultFileBrowser | null,
  registry: ISettingRegistry | null
): void {
  const look = new Look(app, documents);
  if (registry) void registry.load(PLUGIN).then(settings => look.follow(settings));

  const execute = app.commands.execute.bind(app.commands);
  app.commands.execute = (id, args) => {
    const path = id === OPEN && !args?.factory && typeof args?.path === 'string' ? args.path : '';
    if (!look.isWanted(path)) return execute(id, args);
    return look.findsLog(path).then(log => execute(id, log ? { ...args, factory: EXPLORER } : args));
  };

  const listing = (browser as unknown as { listing: Listing } | null)?.listing;
  const open = listing?.handleOpen.bind(listing);
  if (!listing || !open) return;
  listing.handleOpen = item => {
    if (item.type !== 'file' || !look.isWanted(item.path)) return open(item);
    void look.findsLog(item.path).then(log => (log ? documents.openOrReveal(item.path, EXPLORER) : open(item)));
  };
}

class Look {
  private on = true;
  private longest = 300;
  /** Whether the server has such an address: without the server extension it is asked once. */
  private there = true;

  constructor(
    private app: JupyterFrontEnd,
    private documents: IDocumentManager
  ) {}

  follow(settings: ISettingRegistry.ISettings): void {
    const read = (): void => {
      this.on = settings.composite.byContents as boolean;
      this.longest = settings.composite.longestLookMs as number;
    };
    settings.changed.connect(read);
    read();
  }

  /** Whether it matters what is in a file: one that may be a log, is not open, and has a viewer that is not ours. */
  isWanted(path: string): boolean {
    if (!this.on || !this.there || !POSSIBLE.test(path)) return false;
    const { contents } = this.app.serviceManager;
    return (
      OWN_DRIVES.includes(contents.driveName(path)) &&
      !(this.documents.registry.defaultWidgetFactory(path) instanceof ShownFactory) &&
      !this.documents.findWidget(path, null)
    );
  }

  /** Whether the server says in time that it is a log. */
  async findsLog(path: string): Promise<boolean> {
    const { contents, serverSettings } = this.app.serviceManager;
    const query = URLExt.objectToQueryString({ path: contents.localPath(path) });
    const url = URLExt.join(serverSettings.baseUrl, ADDRESS) + query;
    try {
      const signal = AbortSignal.timeout(this.longest);
      const answer = await ServerConnection.makeRequest(url, { signal }, serverSettings);
      if (answer.status === 404) this.there = false;
      return answer.ok && ((await answer.json()) as { format: string }).format !== '';
    } catch {
      return false; // not in time, or no connection
    }
  }
}
