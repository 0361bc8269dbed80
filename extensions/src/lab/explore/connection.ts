/**
 * The connection to the process that reads a log on the server. To the explorer it is what a widget's model is in a
 * notebook: messages with arrays beside them.
 */
import { MimeModel, type IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { Panel, Widget } from '@lumino/widgets';
import type { PanelAnswer } from '../../explorer/protocol';
import type { ErrorInfo } from '../../shared/types';
import type { Model, WidgetManager } from '../../widget/kernel/model';
import { trans } from '../words';

const ADDRESS = 'schedule-workbench/log';
const PLOTLY = 'application/vnd.plotly.v1+json';
/** The server closes a log that nobody has looked at for long with this code. */
const IDLE = 4001;

/** What the page shows beside the explorer. */
export interface Facts {
  readonly tasks: Pick<PanelAnswer, 'columns' | 'rows' | 'more'>;
  readonly faults: readonly string[];
  readonly more_faults: number;
}
export interface Listener {
  progress(read: number, size: number): void;
  facts(facts: Facts): void;
  /** Nothing comes after it. */
  failed(error: ErrorInfo): void;
  /** The server let go of a log that nobody looked at. */
  idle(): void;
}
type Said =
  | { readonly t: 'progress'; readonly read: number; readonly size: number }
  | ({ readonly t: 'facts' } & Facts)
  | { readonly t: 'error'; readonly error: ErrorInfo }
  | { readonly t: 'slices' | 'ret' };
type Hearer = (message: Said, buffers: readonly DataView[]) => void;

const gone = (): ErrorInfo => ({
  code: 'log.server',
  message: trans.__('The server does not read this log'),
  where: [],
  hint: trans.__('is it running, and does `jupyter server extension list` there name workbench.server?')
});

export class LogConnection implements Model {
  readonly widget_manager: WidgetManager;
  private socket: WebSocket;
  private hearers = new Set<Hearer>();
  private done = false;

  /** Reads `path`, or the text. */
  constructor(
    settings: ServerConnection.ISettings,
    rendermime: IRenderMimeRegistry,
    of: { readonly path: string } | { readonly text: string },
    private listener: Listener
  ) {
    const query = new URLSearchParams('path' in of ? { path: of.path } : {});
    if (settings.appendToken && settings.token) query.set('token', settings.token);
    this.socket = new settings.WebSocket(`${URLExt.join(settings.wsUrl, ADDRESS)}?${query.toString()}`);
    this.socket.binaryType = 'arraybuffer';
    this.socket.onmessage = event => this.hear(event.data as ArrayBuffer);
    this.socket.onclose = event => this.end(event.code);
    if ('text' in of) this.socket.onopen = () => this.send({ t: 'text', text: of.text });
    this.widget_manager = figures(rendermime);
  }

  get(): undefined {
    return undefined;
  }
  set(): void {}
  save_changes(): void {}

  send(content: unknown): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(content));
  }

  on(event: string, hearer: (...args: never[]) => void): void {
    if (event === 'msg:custom') this.hearers.add(hearer as Hearer);
  }

  off(_: string, hearer?: (...args: never[]) => void): void {
    this.hearers.delete(hearer as Hearer);
  }

  /** Let the server end the process. */
  dispose(): void {
    this.done = true;
    this.socket.close();
  }

  private hear(data: ArrayBuffer): void {
    if (this.done) return;
    const [message, buffers] = unpacked(data);
    if (message.t === 'progress') this.listener.progress(message.read, message.size);
    else if (message.t === 'facts') this.listener.facts(message);
    else if (message.t === 'error') this.fail(message.error);
    else this.hearers.forEach(hear => hear(message, buffers));
  }

  private fail(error: ErrorInfo): void {
    this.done = true;
    this.listener.failed(error);
  }

  private end(code: number): void {
    if (this.done) return;
    if (code !== IDLE) return this.fail(gone());
    this.done = true;
    this.listener.idle();
  }
}

/** The length of the JSON, the JSON with the sizes of the arrays, the arrays: as in `workbench/server/frames.py`. */
function unpacked(data: ArrayBuffer): [Said, DataView[]] {
  const length = new DataView(data).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(data, 4, length));
  const { message, sizes } = JSON.parse(text) as { message: Said; sizes: number[] };
  let at = 4 + length;
  return [message, sizes.map(size => new DataView(data, (at += size) - size, size))];
}

/** Shows figures, whose JSON stands where a notebook has the name of a widget. */
function figures(rendermime: IRenderMimeRegistry): WidgetManager {
  return {
    get_model: id => Promise.resolve(JSON.parse(id)),
    create_view: figure => {
      if (!rendermime.getFactory(PLOTLY)) {
        return Promise.reject(
          new Error(trans.__('This page cannot draw figures of plotly: explore the log in a notebook.'))
        );
      }
      const widget = new Figure(rendermime, figure as object);
      return Promise.resolve({ el: widget.node, luminoWidget: widget, remove: () => widget.remove() });
    }
  };
}

/** A figure, drawn as soon as it has its place, which plotly measures. */
class Figure extends Panel {
  constructor(
    private rendermime: IRenderMimeRegistry,
    private figure: object
  ) {
    super();
  }

  /** Lumino takes a widget out of the page by itself, and refuses to where it no longer is in it. */
  remove(): void {
    if (this.isAttached && !this.node.isConnected) this.processMessage(Widget.Msg.AfterDetach);
    this.dispose();
  }

  protected onAfterAttach(): void {
    const renderer = this.rendermime.createRenderer(PLOTLY);
    this.addWidget(renderer);
    void renderer.renderModel(new MimeModel({ data: { [PLOTLY]: this.figure as never }, trusted: true }));
  }
}
