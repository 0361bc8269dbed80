/** The sidebar of the tuning sessions of all kernels, and a notification when one ends. */
import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { Notification, type ICommandPalette } from '@jupyterlab/apputils';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Widget } from '@lumino/widgets';
import { h, render } from 'preact';
import { workbenchIcon } from '../icon';
import { reason, Told } from '../notebooks';
import { trans } from '../words';
import { isOver, sessionsOf, steer, type Command, type Session } from './server';
import { bestOf, SessionsView, stateOf, type SessionsState } from './view';

const COMMAND = 'schedule-workbench:sessions';
const PLUGIN = 'schedule-workbench:sessions';
/** While nothing runs and nobody looks, the server is asked so many times less often. */
const RARELY = 5;

export function addSessions(
  app: JupyterFrontEnd,
  palette: ICommandPalette | null,
  restorer: ILayoutRestorer | null,
  registry: ISettingRegistry | null
): void {
  const panel = new SessionsPanel(app);
  panel.id = 'schedule-workbench-sessions';
  panel.title.icon = workbenchIcon;
  panel.title.caption = trans.__('Tuning sessions of all kernels');
  app.shell.add(panel, 'left', { rank: 350, type: 'Schedule Workbench' });
  restorer?.add(panel, panel.id);
  app.commands.addCommand(COMMAND, {
    label: trans.__('Show Tuning Sessions'),
    caption: trans.__('What the kernels tune: progress, best, rest; pause and stop'),
    icon: workbenchIcon,
    execute: () => app.shell.activateById(panel.id),
    describedBy: { args: { type: 'object', properties: {} } }
  });
  palette?.addItem({ command: COMMAND, category: trans.__('Schedule Workbench') });
  const followed = registry?.load(PLUGIN).then(settings => panel.follow(settings));
  void Promise.allSettled([app.restored, followed]).then(() => panel.begin());
}

/** A run that is done says so for so long; one that failed says it until somebody closes it. */
const DONE_MS = 5000;

class SessionsPanel extends Widget {
  private state: SessionsState = { sessions: null, error: null, news: '' };
  private seconds = 2;
  private notify = true;
  private timer = 0;
  private turn = 0;

  constructor(private app: JupyterFrontEnd) {
    super();
    this.addClass('jp-ScheduleWorkbenchLog');
    this.node.tabIndex = -1;
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Tuning sessions'));
    this.draw();
  }

  follow(settings: ISettingRegistry.ISettings): void {
    const read = (): void => {
      this.seconds = settings.composite.seconds as number;
      this.notify = settings.composite.notify as boolean;
    };
    settings.changed.connect(read);
    read();
  }

  /** Ask now, and from then on. */
  begin(): void {
    void this.look();
    this.timer = window.setInterval(() => {
      const busy = this.isVisible || this.state.sessions?.some(one => !isOver(one));
      if (!document.hidden && (busy || this.turn % RARELY === 0)) void this.look();
      this.turn++;
    }, 1000 * this.seconds);
  }

  dispose(): void {
    window.clearInterval(this.timer);
    super.dispose();
  }

  protected onAfterShow(): void {
    void this.look();
  }

  protected onActivateRequest(): void {
    (this.node.querySelector<HTMLElement>('button') ?? this.node).focus();
  }

  private async look(): Promise<void> {
    try {
      const sessions = await sessionsOf(this.app.serviceManager.serverSettings);
      this.tell(sessions);
      this.change({ sessions, error: null, news: this.newsOf(sessions) });
    } catch (error) {
      this.fail(error);
    }
  }

  /** What is different since the last look, in a sentence for each; what was said last stays until then. */
  private newsOf(sessions: readonly Session[]): string {
    const before = new Map(this.state.sessions?.map(one => [one.id, stateOf(one)]));
    const changed = sessions.filter(one => before.has(one.id) && before.get(one.id) !== stateOf(one));
    return changed.map(one => `${one.title}: ${stateOf(one)}.`).join(' ') || this.state.news;
  }

  /** Say of those that ran at the last look that they have ended. */
  private tell(sessions: readonly Session[]): void {
    const ran = new Set(this.state.sessions?.filter(one => !isOver(one)).map(one => one.id));
    for (const one of this.notify ? sessions : []) {
      if (!ran.has(one.id) || !isOver(one)) continue;
      const bad = one.state === 'failed' || one.state === 'lost';
      const text = trans.__('%1: tuning is %2. %3.', one.title, stateOf(one), bestOf(one));
      const open = { label: trans.__('Open'), callback: () => this.open(one.notebook) };
      Notification[bad ? 'error' : 'success'](text, {
        autoClose: bad ? false : DONE_MS,
        actions: one.notebook ? [open] : []
      });
    }
  }

  private open(path: string): void {
    void this.app.commands.execute('docmanager:open', { path });
  }

  private async steer(session: Session, command: Command): Promise<void> {
    try {
      await steer(this.app.serviceManager.serverSettings, session.id, command);
    } catch (error) {
      return this.fail(error);
    }
    await this.look();
  }

  private fail(error: unknown): void {
    const hint = error instanceof Told ? error.hint : '';
    this.change({ error: { message: reason(error) + '.', hint } });
  }

  private change(change: Partial<SessionsState>): void {
    this.state = { ...this.state, ...change };
    const focused = document.activeElement;
    const session = this.node.contains(focused) ? focused!.closest('li') : null;
    const at = session ? [...this.node.querySelectorAll('li')].indexOf(session) : 0;
    this.draw();
    if (!session || focused!.isConnected) return;
    // The button has gone, as Stop does, or the session, by Dismiss: stay at the place.
    const left = this.node.querySelectorAll('li');
    const near = session.isConnected ? session : left[Math.min(at, left.length - 1)];
    ((near && inPlaceOf(focused!, near)) ?? this.node).focus();
  }

  private draw(): void {
    if (this.isDisposed) return;
    const { state } = this;
    const onSteer = (session: Session, command: Command): void => void this.steer(session, command);
    render(h(SessionsView, { state, onSteer, onOpen: (path: string) => this.open(path) }), this.node);
  }
}

/** What takes the focus of a button that has gone: one that does the same, else what harms nobody who presses again. */
function inPlaceOf(gone: Element, session: Element): HTMLElement | null {
  const buttons = [...session.querySelectorAll<HTMLElement>('.swbl-session-do button')];
  const same = buttons.find(one => one.textContent === gone.textContent);
  return same ?? session.querySelector<HTMLElement>('summary') ?? session.querySelector<HTMLElement>('button');
}
