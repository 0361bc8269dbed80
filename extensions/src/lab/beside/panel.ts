/** The panel: the same view of the same widget as in the cell, drawn by the notebook's own renderers. */
import { MainAreaWidget } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { MimeModel } from '@jupyterlab/rendermime';
import { Panel } from '@lumino/widgets';
import { workbenchIcon } from '../icon';
import { IN_WORKBENCH, keyboardTo } from '../keyboard';
import { VIEW_TYPE, type Saved } from '../saved';
import { trans } from '../words';
import { cellOf, outputsOf, workbenchIn, type Cell } from './cells';

/** Which workbench is shown: what is kept of the panel. */
export interface Place {
  readonly path: string;
  readonly cell: string;
  readonly model: string;
}

export class BesidePanel extends Panel {
  private cell: Cell | null = null;
  private stop = (): void => undefined;
  private endKeyboard = (): void => undefined;

  constructor(
    private notebook: NotebookPanel,
    private shown: Place
  ) {
    super();
    this.addClass('jp-ScheduleWorkbenchPanel');
    // While the page is restored, notebooks are there before their cells.
    void notebook.context.ready.then(() => this.begin());
  }

  get place(): Place {
    return { ...this.shown, path: this.notebook.context.path };
  }

  dispose(): void {
    if (!this.isDisposed) this.stop();
    this.endKeyboard();
    super.dispose();
  }

  protected onActivateRequest(): void {
    this.endKeyboard();
    this.endKeyboard = keyboardTo(this.node, IN_WORKBENCH);
  }

  private begin(): void {
    if (this.isDisposed) return;
    this.cell = cellOf(this.notebook, this.shown.cell);
    const outputs = this.cell && outputsOf(this.cell);
    if (outputs) {
      const look = (): void => this.look();
      outputs.changed.connect(look);
      this.stop = () => void outputs.changed.disconnect(look);
    }
    // A notebook that was not saved has no output; the kernel may still have the widget.
    this.draw((this.cell && workbenchIn(this.cell)) ?? { model_id: this.shown.model, html: '' });
  }

  /** The cell was run again: it has another widget now. */
  private look(): void {
    const saved = this.cell && workbenchIn(this.cell);
    if (saved && saved.model_id !== this.shown.model) this.draw(saved);
  }

  private draw(saved: Saved): void {
    this.shown = { ...this.shown, model: saved.model_id };
    for (const old of [...this.widgets]) old.dispose();
    const view = this.notebook.content.rendermime.createRenderer(VIEW_TYPE);
    this.addWidget(view);
    void view.renderModel(new MimeModel({ data: { [VIEW_TYPE]: { ...saved } }, trusted: true }));
  }
}

export function besidePanel(id: string, notebook: NotebookPanel, place: Place): MainAreaWidget<BesidePanel> {
  const widget = new MainAreaWidget({ content: new BesidePanel(notebook, place) });
  const name = (): void => {
    widget.title.label = PathExt.basename(notebook.context.path, '.ipynb');
    widget.title.caption = trans.__('Workbench of %1', notebook.context.path);
  };
  widget.id = id;
  widget.toolbar.hide(); // nothing is in it
  widget.title.icon = workbenchIcon;
  widget.title.closable = true;
  name();
  const gone = (): void => widget.dispose(); // its widgets go with it
  notebook.context.pathChanged.connect(name);
  notebook.disposed.connect(gone);
  // A notebook stays open for days: without this it would hold every panel that was closed.
  widget.disposed.connect(() => {
    notebook.context.pathChanged.disconnect(name);
    notebook.disposed.disconnect(gone);
  });
  return widget;
}
