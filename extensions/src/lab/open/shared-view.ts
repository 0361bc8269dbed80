/** A view that somebody sent: a notebook with its workbench takes the place of this panel, or it says what is wrong. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { PathExt } from '@jupyterlab/coreutils';
import { Widget } from '@lumino/widgets';
import { h, render } from 'preact';
import { sentence } from '../../widget/elements/text';
import { reason, Told } from '../notebooks';
import { trans } from '../words';
import { ModelKernel } from './kernel';
import { runNotebook, type Made } from './run';
import { Said } from './view';

const ENDING = '.view.json';

export class SharedViewPanel extends Widget {
  private kernel: ModelKernel | null = null;

  /** `done` is called when the notebook is open. */
  constructor(
    private app: JupyterFrontEnd,
    private done: () => void
  ) {
    super();
    this.addClass('jp-ScheduleWorkbenchLog');
    this.node.tabIndex = -1;
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.kernel?.dispose();
    render(null, this.node);
    super.dispose();
  }

  async open(path: string): Promise<void> {
    const kernel = (this.kernel = new ModelKernel(this.app.serviceManager));
    const name = PathExt.basename(path);
    try {
      this.say(trans.__('Starting a kernel…'));
      await kernel.start(PathExt.dirname(path));
      this.say(trans.__('Reading the view…'));
      const { cells } = await kernel.ask<Made>(`view_notebook(${JSON.stringify(name)})`);
      if (this.isDisposed) return;
      await runNotebook(
        this.app,
        kernel,
        PathExt.dirname(path),
        trans.__('%1 view', name.slice(0, -ENDING.length)),
        cells
      );
      this.kernel = null;
      this.done();
    } catch (error) {
      kernel.dispose();
      this.say('', { message: reason(error) + '.', hint: sentence(error instanceof Told ? error.hint : '') });
    }
  }

  private say(busy: string, error: { message: string; hint: string } | null = null): void {
    if (!this.isDisposed) render(h('div', { class: 'swbl swbl-open' }, h(Said, { busy, error })), this.node);
  }
}
