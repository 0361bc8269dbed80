/** The panel of a model: read by the server, without a kernel; the form that starts one is opened on demand. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { PathExt } from '@jupyterlab/coreutils';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import { Panel, Widget } from '@lumino/widgets';
import { h, render } from 'preact';
import { watchTheme } from '../../widget/shell/theme';
import { keyboardTo } from '../keyboard';
import { OpenPanel } from '../open/panel';
import { readModel, type Listener } from './reading';
import { ModelPage, type Actions, type ModelState } from './view';

const EMPTY: ModelState = { name: '', contents: null, rows: {}, error: null, chosen: '', tuning: false };

export interface ModelOptions {
  /** Nodes up to which a graph is drawn; null for as many as the server likes. */
  readonly mostNodes: number | null;
  /** Whether the form is opened, too. */
  readonly tune: boolean;
}

export class ModelPanel extends Panel {
  private state = EMPTY;
  private path = '';
  private expanded: readonly string[] = [];
  private reading = new AbortController();
  private page = new Widget();
  private form: OpenPanel | null = null;
  private endKeyboard = (): void => undefined;
  private watch = watchTheme(() => this.draw());

  /** `done` is called when a notebook has taken the panel's place; `options` are as the settings are at the time. */
  constructor(
    private app: JupyterFrontEnd,
    private documents: IDocumentManager,
    private done: () => void,
    private options: () => ModelOptions
  ) {
    super();
    this.addClass('jp-ScheduleWorkbenchModel');
    this.node.tabIndex = -1;
    this.page.addClass('jp-ScheduleWorkbenchModel-page');
    this.addWidget(this.page);
    this.draw();
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.reading.abort();
    this.endKeyboard();
    this.watch.stop();
    render(null, this.page.node);
    super.dispose();
  }

  /** Show a model. */
  open(path: string): void {
    this.path = path;
    this.expanded = [];
    this.change({ ...EMPTY, name: PathExt.basename(path) });
    this.closeForm();
    this.read(true);
    if (this.options().tune) this.actions.tune();
  }

  protected onActivateRequest(): void {
    this.endKeyboard();
    this.endKeyboard = keyboardTo(this.node, ['form input', '[data-node][tabindex="0"]', '.swb']);
  }

  private read(statistics: boolean): void {
    this.reading.abort();
    this.reading = new AbortController();
    const { contents, serverSettings } = this.app.serviceManager;
    const listener: Listener = {
      graph: found => this.change({ contents: found, error: null }),
      weights: rows => this.change({ rows: { ...this.state.rows, ...rows } }),
      failed: error => this.change({ error })
    };
    const of = { path: contents.localPath(this.path), expanded: this.expanded, statistics, ...this.options() };
    void readModel(serverSettings, of, listener, this.reading.signal);
  }

  private change(change: Partial<ModelState>): void {
    this.state = { ...this.state, ...change };
    this.draw();
  }

  private draw(): void {
    if (this.isDisposed) return;
    const { state, actions } = this;
    render(h(ModelPage, { state, theme: this.watch.theme.peek(), actions }), this.page.node);
  }

  private closeForm(): void {
    this.form?.dispose();
    this.form = null;
    this.change({ tuning: false });
  }

  private actions: Actions = {
    choose: chosen => this.change({ chosen }),
    toggle: frame => {
      const open = this.expanded.includes(frame);
      this.expanded = open ? this.expanded.filter(one => one !== frame) : [...this.expanded, frame];
      const { contents, rows } = this.state; // statistics that were being read are asked for again
      this.read(!contents || Object.keys(contents.weights).some(name => !(name in rows)));
    },
    again: () => {
      this.change({ rows: {} });
      this.read(true);
    },
    tune: () => {
      if (this.form) return this.closeForm();
      this.form = new OpenPanel(this.app, this.documents, '', this.done, true);
      this.insertWidget(0, this.form);
      this.change({ tuning: true });
      void this.form.open(this.path);
    }
  };
}
