/** Documents that are only shown: a panel reads the file by itself, and nothing of JupyterLab fetches or writes it. */
import type { ILayoutRestorer } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import { ABCWidgetFactory, DocumentModel, DocumentRegistry, DocumentWidget } from '@jupyterlab/docregistry';
import type { Contents } from '@jupyterlab/services';
import type { Widget } from '@lumino/widgets';
import { workbenchIcon } from './icon';

/** The document stays empty, so that "Save" can never write to the file. */
export class ShownModelFactory implements DocumentRegistry.ModelFactory {
  readonly contentType: Contents.ContentType = 'file';
  /** With null the document manager does not fetch the content. */
  readonly fileFormat = null;
  readonly collaborative = false;
  isDisposed = false;

  constructor(readonly name: string) {}

  createNew(): DocumentRegistry.IModel {
    const model = new DocumentModel({ collaborationEnabled: false });
    model.readOnly = true;
    model.toString = (): string => {
      throw new Error('The file is only shown here and cannot be saved from this tab. Copy the file instead.');
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

/** Makes panels for types of files, of some of which they are the usual view. */
export class ShownFactory<T extends Widget> extends ABCWidgetFactory<DocumentWidget<T>> {
  constructor(
    name: string,
    fileTypes: string[],
    defaultFor: string[],
    modelName: string,
    private make: (context: DocumentRegistry.Context) => T
  ) {
    super({ name, fileTypes, defaultFor, readOnly: true, modelName });
  }

  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget<T> {
    // "Save" asks this property, not the factory; the panel's empty document must never go to the file.
    const proto = Object.getPrototypeOf(context) as object;
    const contentsModel = Object.getOwnPropertyDescriptor(proto, 'contentsModel');
    Object.defineProperty(context, 'contentsModel', {
      get: () => {
        const model = contentsModel?.get?.call(context) as Contents.IModel | null | undefined;
        return model ? { ...model, writable: false } : null;
      }
    });
    // JupyterLab would copy the file into a checkpoint when it is opened, however large it is.
    Object.defineProperty(context, 'canSave', { get: () => false });
    const widget = new DocumentWidget({ content: this.make(context), context });
    widget.toolbar.hide(); // nothing is in it
    return widget;
  }
}

/** Give the tabs of a factory their icon, and open them again when the page is loaded again. */
export function keepOpen<T extends Widget>(
  factory: ShownFactory<T>,
  namespace: string,
  restorer: ILayoutRestorer | null
): void {
  const tracker = new WidgetTracker<DocumentWidget<T>>({ namespace });
  factory.widgetCreated.connect((_, widget) => {
    widget.title.icon = workbenchIcon;
    widget.context.pathChanged.connect(() => void tracker.save(widget));
    void tracker.add(widget);
  });
  void restorer?.restore(tracker, {
    command: 'docmanager:open',
    args: widget => ({ path: widget.context.path, factory: factory.name }),
    name: widget => widget.context.path
  });
}
