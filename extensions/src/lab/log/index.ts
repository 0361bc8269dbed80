/** File type and viewer of tuning logs. */
import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import type { DocumentWidget } from '@jupyterlab/docregistry';
import { workbenchIcon } from '../icon';
import { ShownFactory, ShownModelFactory } from '../shown';
import { LogPanel } from './panel';

const FACTORY = 'Tuning log';
const MODEL = 'schedule-workbench:log';

export function addLogViewer(app: JupyterFrontEnd, restorer: ILayoutRestorer | null): void {
  app.docRegistry.addFileType({
    name: 'tunelog',
    displayName: 'Tuning log',
    extensions: ['.tunelog.jsonl'],
    mimeTypes: ['application/x-tunelog+jsonl'],
    fileFormat: 'text',
    contentType: 'file',
    icon: workbenchIcon
  });
  app.docRegistry.addModelFactory(new ShownModelFactory(MODEL));
  const factory = new ShownFactory(FACTORY, ['tunelog'], ['tunelog'], MODEL, context => new LogPanel(context, app));
  const tracker = new WidgetTracker<DocumentWidget<LogPanel>>({ namespace: 'schedule-workbench-log' });
  factory.widgetCreated.connect((_, widget) => {
    widget.title.icon = workbenchIcon;
    widget.context.pathChanged.connect(() => void tracker.save(widget));
    void tracker.add(widget);
  });
  app.docRegistry.addWidgetFactory(factory);
  void restorer?.restore(tracker, {
    command: 'docmanager:open',
    args: widget => ({ path: widget.context.path, factory: FACTORY }),
    name: widget => widget.context.path
  });
}
