/** The panel that opens a model: it reads the file by a kernel, asks for shapes, and makes a notebook that runs. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { PathExt } from '@jupyterlab/coreutils';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import { FileDialog } from '@jupyterlab/filebrowser';
import { Widget } from '@lumino/widgets';
import { h, render } from 'preact';
import { sentence } from '../../widget/elements/text';
import { reason, Told } from '../notebooks';
import { trans } from '../words';
import { ModelKernel } from './kernel';
import { runNotebook, type Made } from './run';
import { OpenView, type Description, type Input, type OpenState } from './view';

const EMPTY: OpenState = { path: '', busy: '', error: null, model: null, shapes: {}, threads: '', fill: false };

export class OpenPanel extends Widget {
  private state = EMPTY;
  private kernel: ModelKernel | null = null;
  /** Counts the files that were chosen: what is said of an earlier one is too late. */
  private turn = 0;

  /** `done` is called when the notebook is open, `folder` is where a file is looked for first; or it is `given`. */
  constructor(
    private app: JupyterFrontEnd,
    private documents: IDocumentManager,
    private folder: string,
    private done: () => void,
    private given = false
  ) {
    super();
    this.addClass('jp-ScheduleWorkbenchLog');
    this.node.tabIndex = -1;
    this.draw();
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.turn++;
    this.kernel?.dispose();
    render(null, this.node);
    super.dispose();
  }

  protected onActivateRequest(): void {
    (this.node.querySelector<HTMLElement>('input, button') ?? this.node).focus();
  }

  /** Read a model and show its inputs. */
  async open(path: string): Promise<void> {
    const turn = ++this.turn;
    this.kernel?.dispose();
    this.kernel = new ModelKernel(this.app.serviceManager);
    this.change({ ...EMPTY, path, busy: trans.__('Starting a kernel…') });
    try {
      await this.kernel.start(PathExt.dirname(path));
      this.change({ busy: trans.__('Reading the model…') }, turn);
      const model = await this.kernel.ask<Description>(`describe(${JSON.stringify(PathExt.basename(path))})`);
      const shapes = Object.fromEntries(model.inputs.map(input => [input.name, input.shape.map(String)]));
      this.change({ busy: '', model, shapes, threads: String(model.threads), fill: model.empty }, turn);
      if (turn === this.turn) this.node.querySelector<HTMLElement>('form input')?.focus();
    } catch (error) {
      if (turn === this.turn) this.kernel.dispose();
      this.fail(error, turn);
    }
  }

  private change(change: Partial<OpenState>, turn = this.turn): void {
    if (this.isDisposed || turn !== this.turn) return;
    this.state = { ...this.state, ...change };
    this.draw();
  }

  private fail(error: unknown, turn: number): void {
    const hint = error instanceof Told ? error.hint : '';
    this.change(
      {
        busy: '',
        error: { message: reason(error) + '.', hint: sentence(hint) }
      },
      turn
    );
  }

  private draw(): void {
    render(
      h(OpenView, {
        state: this.state,
        given: this.given,
        onChoose: () => void this.choose(),
        onChange: (change: Partial<OpenState>) => this.change({ error: null, ...change }),
        onStart: () => void this.start()
      }),
      this.node
    );
  }

  private async choose(): Promise<void> {
    const found = await FileDialog.getOpenFiles({
      manager: this.documents,
      title: trans.__('Choose an ONNX model or a tuning log'),
      defaultPath: this.state.path ? PathExt.dirname(this.state.path) : this.folder,
      filter: file => (file.type === 'directory' || /\.onnx$|\.tunelog\.jsonl$/.test(file.path) ? {} : null)
    });
    const file = found.value?.find(one => one.type !== 'directory');
    if (!found.button.accept || !file) return;
    if (file.path.endsWith('.onnx')) return this.open(file.path);
    await this.app.commands.execute('docmanager:open', { path: file.path });
    this.done();
  }

  /** Make a notebook with what stands in the form, show it where the panel is, and run it. */
  private async start(): Promise<void> {
    const { turn } = this;
    const { path, threads, fill } = this.state;
    try {
      const shapes = JSON.stringify(this.chosen());
      const count = whole(threads, trans.__('Threads'));
      this.change({ busy: trans.__('Looking at the shapes…'), error: null });
      const made = await this.kernel!.ask<Made>(
        `notebook(${JSON.stringify(PathExt.basename(path))}, ${shapes}, ${count}, ${fill ? 'True' : 'False'})`
      );
      if (turn !== this.turn) return;
      const title = trans.__('%1 workbench', PathExt.basename(path, '.onnx'));
      await runNotebook(this.app, this.kernel!, PathExt.dirname(path), title, made.cells);
      this.kernel = null;
      this.done();
    } catch (error) {
      this.fail(error, turn);
    }
  }

  /** The shapes of the inputs that the model leaves open. */
  private chosen(): Record<string, readonly number[]> {
    const open = this.state.model!.inputs.filter(({ dims }) => !dims || dims.some(dim => typeof dim !== 'number'));
    return Object.fromEntries(open.map(input => [input.name, sizes(input, this.state.shapes[input.name] ?? [])]));
  }
}

const sizes = ({ name, dims }: Input, values: readonly string[]): readonly number[] =>
  (dims ? values : (values[0] ?? '').split(/[x×,\s]+/)).map((text, i) =>
    whole(text, trans.__('Dimension %1 of %2', typeof dims?.[i] === 'string' ? `${i} (${dims[i]})` : i, name))
  );

function whole(text: string, what: string): number {
  const n = Number(text);
  if (text.trim() === '' || !Number.isInteger(n) || n < 1)
    throw new Told(trans.__('%1 is no whole number from 1 on.', what), trans.__('put in a number'));
  return n;
}
