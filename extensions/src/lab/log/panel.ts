/** The Lumino side of the log viewer: loads, follows the file while it is visible, draws. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { Contents } from '@jupyterlab/services';
import { ServerConnection } from '@jupyterlab/services';
import { PathExt } from '@jupyterlab/coreutils';
import { Widget } from '@lumino/widgets';
import { h, render } from 'preact';
import { EXPLORER } from '../explore/name';
import { exploreInNotebook } from '../explore/notebook';
import { bytes, clock } from './format';
import { LogReader } from './reader';
import type { Notice, ViewState } from './state';
import { LogView } from './view';
import { trans } from '../words';

const LOOK_EVERY_MS = 2000;
/** Looks at a file that is gone or cannot be reached come less often. */
const RETRY_EVERY_MS = 10000;

export class LogPanel extends Widget {
  private reader: LogReader;
  private abort = new AbortController();
  private timer = 0;
  private reading = false;
  private stamp = '';
  private problem: Notice | null = null;
  private renamed: Notice | null = null;
  private state: ViewState;

  constructor(
    private context: DocumentRegistry.Context,
    private app: JupyterFrontEnd
  ) {
    super();
    this.addClass('jp-ScheduleWorkbenchLog');
    this.node.tabIndex = -1;
    this.reader = new LogReader(app.serviceManager.serverSettings);
    this.state = {
      log: this.reader.log,
      loaded: false,
      size: 0,
      torn: '',
      follow: trans.__('Reading…'),
      notices: [],
      selected: '',
      allTasks: false,
      chosen: 0
    };
    context.pathChanged.connect(this.onPathChanged, this);
    document.addEventListener('visibilitychange', this.lookSoon);
    this.draw();
  }

  dispose(): void {
    if (!this.isDisposed) {
      this.abort.abort();
      window.clearTimeout(this.timer);
      document.removeEventListener('visibilitychange', this.lookSoon);
      render(null, this.node);
      super.dispose();
    }
  }

  protected onAfterShow(): void {
    this.lookSoon();
  }

  protected onAfterAttach(): void {
    this.lookSoon();
  }

  protected onBeforeHide(): void {
    window.clearTimeout(this.timer);
  }

  protected onActivateRequest(): void {
    this.node.focus();
  }

  private lookSoon = (): void => {
    this.schedule(0);
  };

  private schedule(delay: number): void {
    window.clearTimeout(this.timer);
    if (!this.isDisposed) {
      this.timer = window.setTimeout(() => void this.look(), delay);
    }
  }

  /** Ask for size and time of the file; read when they changed. */
  private async look(): Promise<void> {
    if (this.isDisposed || this.reading || !this.isVisible || document.visibilityState !== 'visible') {
      return; // becoming visible looks again
    }
    this.reading = true;
    let delay = LOOK_EVERY_MS;
    try {
      const file = await this.app.serviceManager.contents.get(this.context.path, { content: false });
      const stamp = `${file.last_modified} ${file.size} ${file.path}`;
      if (stamp !== this.stamp || this.problem) {
        await this.load(file);
        this.stamp = stamp;
      }
    } catch (error) {
      if (!this.isDisposed) {
        this.stumble(error);
        delay = RETRY_EVERY_MS;
      }
    }
    this.reading = false;
    this.schedule(delay);
  }

  private async load(file: Contents.IModel): Promise<void> {
    const url = await this.app.serviceManager.contents.getDownloadUrl(this.context.path);
    const size = file.size ?? 0;
    let told = performance.now();
    const progress = (read: number): void => {
      if (!this.state.loaded && performance.now() - told > 200) {
        told = performance.now();
        this.refresh({ follow: trans.__('Reading… %1 of %2', bytes(read), bytes(size)) });
      }
    };
    await this.reader.read(url, size, progress, this.abort.signal);
    this.problem = null;
    const first = !this.state.loaded;
    const { log, torn } = this.reader;
    this.refresh({
      log,
      torn,
      loaded: true,
      size: this.reader.size,
      follow: trans.__('following, updated %1', clock(new Date())),
      ...(log === this.state.log ? {} : { chosen: 0 }), // places in another file mean others
      // A log of one task has nothing else to show.
      ...(first && log.tasks.length === 1 ? { selected: log.tasks[0]!.key } : {})
    });
  }

  private stumble(error: unknown): void {
    this.reader.reset();
    const name = PathExt.basename(this.context.path);
    if (error instanceof ServerConnection.ResponseError && error.response.status === 404) {
      this.problem = {
        level: 'error',
        text: trans.__('%1 is no longer there: it was deleted, or renamed outside JupyterLab.', name),
        hint: trans.__('What was read last stays on the page. Put the file back, or open it under its new name.')
      };
    } else {
      const reason = error instanceof Error ? error.message : String(error);
      this.problem = {
        level: 'error',
        text: trans.__('%1 could not be read: %2.', name, reason),
        hint: trans.__('It is tried again every %1 seconds. Is the server still running?', RETRY_EVERY_MS / 1000)
      };
    }
    this.refresh({ follow: this.state.loaded ? trans.__('not following') : '' });
  }

  private onPathChanged = (): void => {
    const name = PathExt.basename(this.context.path);
    this.renamed = { level: 'info', text: trans.__('The file was renamed: it is followed as %1.', name) };
    this.refresh({});
    this.lookSoon();
  };

  private refresh(change: Partial<ViewState>): void {
    const notices = [this.problem, this.renamed].filter(notice => notice !== null);
    this.state = { ...this.state, ...change, notices };
    this.draw();
  }

  private draw(): void {
    if (this.isDisposed) {
      return;
    }
    const select = (selected: string): void => this.refresh({ selected, chosen: 0 });
    const choose = (chosen: number): void => this.refresh({ chosen });
    const showAll = (): void => this.refresh({ allTasks: true });
    const records = (): void => {
      void this.app.commands.execute('docmanager:open', { path: this.context.path, factory: EXPLORER });
    };
    const notebook = (): void => {
      const { path } = this.context;
      void exploreInNotebook(this.app, { path }, PathExt.dirname(path));
    };
    render(h(LogView, { state: this.state, select, showAll, choose, records, notebook }), this.node);
  }
}
