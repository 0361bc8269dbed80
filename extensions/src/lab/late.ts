import { Panel, type Widget } from '@lumino/widgets';

/** A panel whose content is loaded when it is made: what nobody opens is not sent to the page. */
export class LatePanel extends Panel {
  private content: Promise<Widget>;

  constructor(load: () => Promise<Widget>) {
    super();
    this.addClass('jp-ScheduleWorkbenchLate');
    // After the caller has what the panel stands in.
    this.content = Promise.resolve().then(load);
    void this.content.then(content => (this.isDisposed ? content.dispose() : this.addWidget(content)));
  }

  protected onActivateRequest(): void {
    void this.content.then(content => content.activate());
  }
}
