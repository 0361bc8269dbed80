/** File type and viewer of tuning logs. */
import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import { ABCWidgetFactory, DocumentModel, DocumentRegistry, DocumentWidget } from '@jupyterlab/docregistry';
import type { Contents, ServiceManager } from '@jupyterlab/services';
import { workbenchIcon } from '../icon';
import { LogPanel } from './panel';

const FACTORY = 'Tuning log';
const MODEL = 'schedule-workbench:log';

/** The document of a log. It stays empty: the panel reads the file itself, in pieces, and nothing may ever write it. */
class LogModelFactory implements DocumentRegistry.ModelFactory {
  readonly name = MODEL;
  readonly contentType: Contents.ContentType = 'file';
  /** With null the document manager does not fetch the content. */
  readonly fileFormat = null;
  readonly collaborative = false;
  isDisposed = false;

  createNew(): DocumentRegistry.IModel {
    const model = new DocumentModel({ collaborationEnabled: false });
    model.readOnly = true;
    model.toString = (): string => {
      throw new Error('A tuning log is only shown here and cannot be saved from this tab. Copy the file instead.');
    };
    return model;
  }

  preferredLanguage(): string {
    return '';
  }

  dispose(): void {
    this.isDisposed = true;
  }
}

class LogFactory extends ABCWidgetFactory<DocumentWidget<LogPanel>> {
  constructor(private services: ServiceManager.IManager) {
    super({ name: FACTORY, fileTypes: ['tunelog'], defaultFor: ['tunelog'], readOnly: true, modelName: MODEL });
  }

  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget<LogPanel> {
    // "Save" asks this property, not the factory; the panel's empty document must never go to the log.
    const proto = Object.getPrototypeOf(context) as object;
    const contentsModel = Object.getOwnPropertyDescriptor(proto, 'contentsModel');
    Object.defineProperty(context, 'contentsModel', {
      get: () => {
        const model = contentsModel?.get?.call(context) as Contents.IModel | null | undefined;
        return model ? { ...model, writable: false } : null;
      }
    });
    const widget = new DocumentWidget({ content: new LogPanel(context, this.services), context });
    widget.toolbar.hide(); // nothing is in it
    return widget;
  }
}

export function addLogViewer(app: JupyterFrontEnd, restorer: ILayoutRestorer | null): void {
  app.docRegistry.addFileType({
    name: 'tunelog', displayName: 'Tuning log', extensions: ['.tunelog.jsonl'],
    mimeTypes: ['application/x-tunelog+jsonl'], fileFormat: 'text', contentType: 'file', icon: workbenchIcon
  });
  app.docRegistry.addModelFactory(new LogModelFactory());
  const factory = new LogFactory(app.serviceManager);
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
