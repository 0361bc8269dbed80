/**
 * Outputs of the workbench's widget in notebooks: live while the widget's model exists, otherwise the saved view.
 *
 * The notebook's own renderer of widget views is asked first. It is a panel: once it holds a widget, the view is live.
 */
import type { INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry, MimeModel } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Panel, Widget } from '@lumino/widgets';

export const VIEW_TYPE = 'application/vnd.schedule-workbench.view+json';
const WIDGET_TYPE = 'application/vnd.jupyter.widget-view+json';
/** Before the one of ipywidgets, which is -10. */
const RANK = -20;
/** A live view comes sooner than this; only then is the saved one worth showing. */
const PATIENCE_MS = 300;
const LOOK_EVERY_MS = 500;
/**
 * A slow page says that there is no such model before it has heard of all the kernel's: ask again after these times.
 */
const AGAIN_MS = [1000, 2000, 4000, 8000, 16000, 32000];
const SAVED = 'Saved view: run the cell to bring it to life.';

export interface Saved {
  model_id: string;
  html: string;
}

export function addSavedViews(notebooks: INotebookTracker | null): void {
  const add = (registry: IRenderMimeRegistry): void =>
    registry.addFactory(
      // Safe: the saved view is sanitised, and an output that is not trusted never becomes live.
      { safe: true, mimeTypes: [VIEW_TYPE], createRenderer: options => new SavedView(options, registry) },
      RANK
    );
  notebooks?.forEach(panel => add(panel.content.rendermime));
  notebooks?.widgetAdded.connect((_, panel) => add(panel.content.rendermime));
}

class SavedView extends Panel implements IRenderMime.IRenderer {
  private live: Live | null = null;
  private saved = readSaved(null);
  private rendered = 0;

  constructor(
    private options: IRenderMime.IRendererOptions,
    private registry: IRenderMimeRegistry
  ) {
    super();
    this.addClass('jp-ScheduleWorkbenchView');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const given = readSaved(model.data[this.options.mimeType]);
    if (model.trusted && this.live?.shown && this.live.modelId === given.model_id) {
      this.saved = given; // only the copy is a newer one
      return;
    }
    const turn = ++this.rendered;
    this.live?.dispose();
    this.live = null;
    this.clear();
    this.saved = given;
    if (!model.trusted || !given.model_id) {
      return this.showSaved(SAVED);
    }
    const live = new Live(this.registry, given.model_id);
    this.live = live;
    this.addWidget(live);
    live.changed = () => {
      if (turn === this.rendered && !this.isDisposed) {
        void this.settle(live);
      }
    };
    live.start();
    await Promise.race([live.settled, new Promise(resolve => window.setTimeout(resolve, PATIENCE_MS))]);
    live.changed();
  }

  dispose(): void {
    this.rendered++;
    super.dispose();
  }

  private async settle(live: Live): Promise<void> {
    if (live.shown) {
      this.clear(live);
      live.show();
    } else {
      live.hide();
      await this.showSaved(live.trouble || SAVED);
    }
  }

  private clear(keep?: Widget): void {
    for (const widget of [...this.widgets]) {
      if (widget !== keep) {
        widget.dispose();
      }
    }
  }

  private async showSaved(line: string): Promise<void> {
    if (this.widgets.some(widget => widget instanceof Note && widget.line === line)) {
      return;
    }
    this.clear(this.live ?? undefined);
    const html = this.registry.createRenderer('text/html');
    this.addWidget(html);
    this.addWidget(new Note(line));
    // Never trusted: what a notebook brings along is sanitised whoever wrote it.
    await html.renderModel(new MimeModel({ data: { 'text/html': this.saved.html }, trusted: false }));
  }
}

/** The view as the notebook's renderer of widget views draws it, if it can. */
class Live extends Panel {
  changed: () => void = () => undefined;
  readonly settled: Promise<void>;
  private resolve!: () => void;
  private inner: IRenderMime.IRenderer | null = null;
  private factory: IRenderMime.IRendererFactory | undefined;
  private timer = 0;
  private again = 0;
  private tries = 0;
  private done = false;
  private observer = new MutationObserver(() => this.changed());

  constructor(
    private registry: IRenderMimeRegistry,
    readonly modelId: string
  ) {
    super();
    this.settled = new Promise(resolve => {
      this.resolve = resolve;
    });
  }

  /** Whether a widget is on the page. */
  get shown(): boolean {
    return this.inner instanceof Panel && this.inner.widgets.length > 0 && !this.inner.isHidden;
  }

  /** What went wrong when the model is there and its view is not. */
  get trouble(): string {
    const said = this.done && !this.shown ? (this.inner?.node.textContent?.trim() ?? '') : '';
    return said === 'Error displaying widget'
      ? 'Saved view: the live one could not be drawn; the browser console says why.'
      : '';
  }

  start(): void {
    this.renew();
    // The renderer that knows the kernel's widgets replaces a stand-in when the kernel has answered; nothing tells of
    // it.
    this.timer = window.setInterval(() => {
      if (!this.done && this.registry.getFactory(WIDGET_TYPE) !== this.factory) {
        this.renew();
      }
    }, LOOK_EVERY_MS);
  }

  dispose(): void {
    window.clearInterval(this.timer);
    window.clearTimeout(this.again);
    this.observer.disconnect();
    super.dispose();
  }

  private renew(): void {
    this.inner?.dispose();
    this.factory = this.registry.getFactory(WIDGET_TYPE);
    if (!this.factory) {
      return; // ipywidgets is not there, or not yet
    }
    const inner = this.registry.createRenderer(WIDGET_TYPE);
    this.inner = inner;
    this.addWidget(inner);
    this.observer.disconnect();
    this.observer.observe(inner.node, { childList: true, attributes: true, attributeFilter: ['class'] });
    const data = { [WIDGET_TYPE]: { model_id: this.modelId, version_major: 2, version_minor: 0 } };
    const finish = (): void => {
      if (this.inner === inner) {
        this.done = true;
        window.clearInterval(this.timer);
        this.resolve();
        this.changed();
        if (!this.shown && this.tries < AGAIN_MS.length) {
          this.again = window.setTimeout(() => this.renew(), AGAIN_MS[this.tries++]);
        }
      }
    };
    inner.renderModel(new MimeModel({ data, trusted: true })).then(finish, finish);
  }
}

class Note extends Widget {
  constructor(readonly line: string) {
    super();
    this.addClass('jp-ScheduleWorkbenchView-note');
    this.node.setAttribute('role', 'note');
    this.node.textContent = line;
  }
}

export function readSaved(data: unknown): Saved {
  const { model_id: id, html } = (data ?? {}) as Partial<Saved>;
  return { model_id: typeof id === 'string' ? id : '', html: typeof html === 'string' ? html : '' };
}
