/** File type and viewer of tuning logs. */
import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { workbenchIcon } from '../icon';
import { keepOpen, ShownFactory, ShownModelFactory } from '../shown';
import { LogPanel } from './panel';
import { trans } from '../words';

const FACTORY = 'Tuning log';
const MODEL = 'schedule-workbench:log';

export function addLogViewer(app: JupyterFrontEnd, restorer: ILayoutRestorer | null): void {
  app.docRegistry.addFileType({
    name: 'tunelog',
    displayName: trans.__('Tuning log'),
    extensions: ['.tunelog.jsonl'],
    mimeTypes: ['application/x-tunelog+jsonl'],
    fileFormat: 'text',
    contentType: 'file',
    icon: workbenchIcon
  });
  app.docRegistry.addModelFactory(new ShownModelFactory(MODEL));
  const factory = new ShownFactory(FACTORY, ['tunelog'], ['tunelog'], MODEL, context => new LogPanel(context, app));
  app.docRegistry.addWidgetFactory(factory);
  keepOpen(factory, 'schedule-workbench-log', restorer);
}
