/** The Lumino side of the viewer of any tuner's log: connects, shows how far it is, and then the explorer. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { Widget } from '@lumino/widgets';
import { h, render } from 'preact';
import { ExplorerStore } from '../../explorer/store';
import { watchTheme } from '../../widget/shell/theme';
import { LogConnection } from './connection';
import { exploreInNotebook, type Source } from './notebook';
import { Page, type Actions, type Phase } from './view';
import { trans } from '../words';

const ASKING: Phase = { is: 'asking', error: null };

export class ExplorePanel extends Widget {
  private phase: Phase = ASKING;
  private connection: LogConnection | null = null;
  private text = '';
  private watch = watchTheme(() => undefined);
  /** Where notebooks are made. */
  private folder = '';
  private path = '';

  constructor(
    private app: JupyterFrontEnd,
    private rendermime: IRenderMimeRegistry
  ) {
    super();
    this.addClass('jp-ScheduleWorkbenchLog');
    this.node.tabIndex = -1;
  }

  /** Show a file, by its path on the server. */
  openFile(path: string, folder: string): void {
    this.path = path;
    this.folder = folder;
    this.read({ path });
  }

  /** Ask for a text; notebooks are made in `folder`. */
  askForText(folder: string): void {
    this.folder = folder;
    this.show_(ASKING);
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.drop();
    this.watch.stop();
    render(null, this.node);
    super.dispose();
  }

  protected onActivateRequest(): void {
    const active = document.activeElement;
    if (active === this.node || !this.node.contains(active)) {
      (this.node.querySelector<HTMLElement>('textarea') ?? this.node).focus();
    }
  }

  private read(source: Source): void {
    this.drop();
    this.show_({ is: 'reading', read: 0, size: 0 });
    const connection = new LogConnection(this.app.serviceManager.serverSettings, this.rendermime, source, {
      progress: (read, size) => this.show_({ is: 'reading', read, size }),
      facts: facts => {
        const { phase } = this;
        const store = phase.is === 'open' ? phase.store : new ExplorerStore(connection, this.watch.theme);
        this.show_({ is: 'open', facts, store });
      },
      failed: error => this.stop('', error),
      idle: () => this.stop(trans.__('The log was closed because nobody looked at it for a while.'))
    });
    this.connection = connection;
  }

  private stop(words: string, error?: Extract<Phase, { is: 'stopped' }>['error']): void {
    this.drop();
    this.show_(error && !this.path ? { is: 'asking', error } : { is: 'stopped', words, error });
  }

  private drop(): void {
    if (this.phase.is === 'open') this.phase.store.dispose();
    this.connection?.dispose();
    this.connection = null;
  }

  private show_(phase: Phase): void {
    if (this.isDisposed) return;
    this.phase = phase;
    render(h(Page, { phase, text: this.text, theme: this.watch.theme, actions: this.actions }), this.node);
    if (phase.is === 'asking') this.node.querySelector('textarea')?.focus();
  }

  private actions: Actions = {
    read: text => {
      this.text = text;
      this.read({ text });
    },
    cancel: () => this.stop(trans.__('The log was not read.')),
    again: () => (this.path ? this.read({ path: this.path }) : this.show_(ASKING)),
    notebook: () => void exploreInNotebook(this.app, this.source, this.folder)
  };

  private get source(): Source {
    return this.path ? { path: this.path } : { text: this.text };
  }
}
