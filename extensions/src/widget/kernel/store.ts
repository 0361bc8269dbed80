// One store per model, however many views it has: the slices as signals, the requests under way, the state of the link.

import { batch, computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { ErrorInfo, Questions, Slices, Theme } from '../../shared/types';
import { describe } from './command-words';
import { newId } from './ids';
import { watchLife, type Life } from './life';
import type { Model } from './model';
import type { Previewed } from '../palette/preview';
import { applyOp, FORMS, Misfit, type Op } from './patches';
import { UrgentLine } from './subshell';

type Link = 'ok' | 'queued' | 'silent' | 'dead' | 'restarting' | 'static';

const PROTOCOL = 2;
const QUEUED_AFTER = 300;
const SILENT_AFTER = 10_000;
/** A first hello may wait behind running cells; by then comms can have a thread of their own, where it does not. */
const GREET_AGAIN = [1000, 4000];
const HELLO = 'hello';

interface Waiting {
  readonly text: string;
  readonly since: number;
  readonly resolve: (value?: unknown) => void;
  readonly reject: (error: ErrorInfo) => void;
  /** Set for questions: a newer one of the same kind takes its place. */
  readonly question?: string;
}
type Failure = { readonly id: string; readonly error: ErrorInfo };
interface Incoming {
  readonly t: string;
  readonly v?: number;
  readonly rev?: number;
  readonly base?: number;
  readonly id?: string;
  readonly slices?: Record<string, unknown>;
  readonly ops?: Record<string, Op>;
  readonly done?: readonly string[];
  readonly failed?: readonly Failure[];
  readonly ok?: boolean;
  readonly value?: unknown;
  readonly error?: ErrorInfo;
}

const say = (code: string, message: string): ErrorInfo => ({ code, message, where: [], hint: '' });

export class Store {
  readonly #values = new Map<string, Signal<unknown>>();
  readonly #forms = new Map<string, ReadonlySignal<unknown>>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #state: Signal<Link> = signal('ok');
  readonly #queue: Signal<string[]> = signal([]);
  readonly #lifeNow: Signal<Life> = signal('alive');
  readonly #started: Signal<boolean> = signal(false);
  readonly #ownSelection: Signal<string | null> = signal(null);
  readonly #foreign: Signal<number | null> = signal(null);
  readonly #selectingNow: Signal<boolean> = signal(false);
  readonly #busyNow: Signal<boolean> = signal(false);
  readonly #unwatch: () => void;
  readonly #line: UrgentLine;
  readonly #prefix = newId();
  #serial = 0;
  #rev = -1;
  #greeted = 0;
  readonly #greetings: ReturnType<typeof setTimeout>[] = [];
  #heard = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** True when a first state has arrived. */
  readonly ready: ReadonlySignal<boolean> = this.#started;
  readonly link: ReadonlySignal<Link> = this.#state;
  readonly life: ReadonlySignal<Life> = this.#lifeNow;
  /** What waits for the kernel, in words. */
  readonly pending: ReadonlySignal<string[]> = this.#queue;
  /** True while the kernel runs a cell, where the host says so. */
  readonly cellRuns: ReadonlySignal<boolean> = this.#busyNow;
  /** Version of the protocol that the kernel speaks, when it is not ours. */
  readonly otherProtocol: ReadonlySignal<number | null> = this.#foreign;
  /** Id of the selected row: what was clicked, at once; then what the kernel says. */
  readonly selected: ReadonlySignal<string> = computed(
    () => this.#ownSelection.value ?? this.see('selection')?.id ?? ''
  );
  /** True while the kernel has not answered to the newest selection. */
  readonly selecting: ReadonlySignal<boolean> = this.#selectingNow;
  /** Ids of rows that a reason is about, marked in the nest until something else is done. */
  readonly marked: Signal<ReadonlySet<string>> = signal(new Set<string>());
  /** What the nest would be after a step that somebody is putting together. */
  readonly ghost: Signal<Previewed | null> = signal(null);
  /** Why a command that has no place of its own did not work. */
  readonly problem: Signal<ErrorInfo | null> = signal(null);
  /** Told of every command that somebody gives. */
  readonly onlookers = new Set<(cmd: string) => void>();
  /** What has to be tidied up with the store. */
  readonly endings = new Set<() => void>();

  constructor(
    readonly model: Model,
    readonly theme: ReadonlySignal<Theme>
  ) {
    this.#line = new UrgentLine(model);
    model.on('msg:custom', this.#receive);
    this.#unwatch = watchLife(
      model,
      life => this.#setLife(life),
      busy => {
        this.#busyNow.value = busy;
      }
    );
    this.#hello();
  }

  slice<K extends keyof Slices>(name: K): ReadonlySignal<Slices[K] | null> {
    const found = this.#forms.get(name) ?? this.#form(name);
    return found as ReadonlySignal<Slices[K] | null>;
  }

  /** What a slice says now; whoever draws from it is drawn again when that changes. */
  see<K extends keyof Slices>(name: K): Slices[K] | null {
    return this.slice(name).value;
  }

  /** Ask the kernel to do something; settled by a later patch. */
  do(cmd: string, args: object = {}): Promise<void> {
    const text = describe(cmd, args);
    return this.#request(text, id => this.#line.send(cmd, { t: 'do', id, cmd, args })) as Promise<void>;
  }

  /** Ask a question; a newer question of the same kind rejects the older with code "superseded". */
  ask<Q extends keyof Questions>(q: Q, args: object): Promise<Questions[Q]> {
    for (const [id, one] of this.#waiting) {
      if (one.question === q) this.#settle(id, say('superseded', 'A newer question took its place.'));
    }
    return this.#request('', id => this.model.send({ t: 'ask', id, q, args }), q) as Promise<Questions[Q]>;
  }

  /** Tell the kernel that somebody looks; nothing is to come of it, and while a cell runs it would only wait. */
  here(): void {
    if (!document.hidden && !this.#stopped() && !this.#busyNow.peek() && !this.model.get('page'))
      this.model.send({ t: 'here' });
  }

  /** Run a command, `then` something else; its failure is told in the shell's line of notes. */
  act(cmd: string, args: object = {}, then?: () => void): void {
    this.problem.value = null;
    for (const tell of this.onlookers) tell(cmd);
    this.do(cmd, args).then(then, (error: ErrorInfo) => {
      this.problem.value = error;
    });
  }

  /** Select at once; while the kernel is busy only the newest selection waits. */
  select(id: string): void {
    batch(() => {
      this.#ownSelection.value = id;
      this.marked.value = new Set();
    });
    if (!this.#selectingNow.peek() && !this.#stopped()) this.#sendSelection();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#greetings.forEach(clearTimeout);
    this.#unwatch();
    this.#line.dispose();
    for (const end of this.endings) end();
    this.model.off('msg:custom', this.#receive);
    for (const id of [...this.#waiting.keys()]) this.#settle(id, say('closed', 'The panel was closed.'));
  }

  #cell(name: string): Signal<unknown> {
    let found = this.#values.get(name);
    if (!found) this.#values.set(name, (found = signal<unknown>(null)));
    return found;
  }

  /** A slice as it is read: most of them as they travel. */
  #form<K extends keyof Slices>(name: K): ReadonlySignal<unknown> {
    const cell = this.#cell(name) as Signal<Slices[K] | null>;
    const form = FORMS[name];
    const found = form ? computed(() => cell.value && form(cell.value)) : cell;
    this.#forms.set(name, found);
    return found;
  }

  #sendSelection(): void {
    const id = this.#ownSelection.peek() ?? '';
    this.#selectingNow.value = true;
    void this.do('select', { id })
      .catch((error: ErrorInfo) => {
        this.problem.value = error;
      })
      .then(() => {
        this.#selectingNow.value = false;
        if (this.#ownSelection.peek() === id) this.#ownSelection.value = null;
        else if (this.#state.peek() !== 'dead') this.#sendSelection();
      });
  }

  #request(text: string, send: (id: string) => void, question?: string): Promise<unknown> {
    const stopped = this.#stopped();
    if (stopped) return Promise.reject(stopped);
    const id = `${this.#prefix}-${++this.#serial}`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { text, since: Date.now(), resolve, reject, question });
      this.#watch();
      send(id);
    });
  }

  #hello(): void {
    if (this.#stopped()) return;
    this.#greeted = Date.now();
    this.#watch();
    this.#greet();
    this.#greetings.splice(0).forEach(clearTimeout);
    for (const wait of GREET_AGAIN) this.#greetings.push(setTimeout(() => this.#greet(), wait));
  }

  #greet(): void {
    if (this.#greeted && !this.#stopped()) this.model.send({ t: HELLO, v: PROTOCOL, theme: this.theme.peek() });
  }

  #receive = (message: Incoming): void => {
    if (!message || typeof message !== 'object') return;
    if (this.#stopped() && message.t !== 'state') return;
    this.#heard = Date.now();
    batch(() => {
      if (message.t === 'state') this.#takeState(message);
      else if (message.t === 'patch') this.#takePatch(message);
      else if (message.t === 'ret')
        this.#settle(message.id ?? '', message.ok ? undefined : message.error, message.value);
      this.#watch();
    });
  };

  #takeState(message: Incoming): void {
    const slices = message.slices ?? {};
    this.#greeted = 0;
    this.#greetings.splice(0).forEach(clearTimeout);
    this.#rev = message.rev ?? 0;
    this.#foreign.value = message.v === PROTOCOL ? null : (message.v ?? 0);
    for (const name of new Set([...this.#values.keys(), ...Object.keys(slices)]))
      this.#cell(name).value = slices[name] ?? null;
    this.#started.value = true;
    if (!this.#selectingNow.peek()) this.#ownSelection.value = null;
    this.#setLife('alive');
  }

  #takePatch(message: Incoming): void {
    // First, so that who waits for a step hears of it when the new state is there, but not yet drawn: a form that gives
    // the focus away by then does so on a page that is laid out.
    for (const id of message.done ?? []) this.#settle(id);
    if (!this.#greeted && message.rev! > this.#rev) {
      if (message.base === this.#rev) this.#takeOps(message);
      else this.#hello();
    }
    for (const { id, error } of message.failed ?? []) this.#settle(id, error);
  }

  #takeOps(message: Incoming): void {
    try {
      const next = Object.entries(message.ops ?? {}).map(
        ([name, op]) => [name, applyOp(this.#cell(name).peek(), op)] as const
      );
      for (const [name, value] of next) this.#cell(name).value = value;
      if (next.some(([name]) => name === 'nest')) this.marked.value = new Set();
      this.#rev = message.rev!;
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      this.#hello();
    }
  }

  #settle(id: string, error?: ErrorInfo, value?: unknown): void {
    const one = this.#waiting.get(id);
    if (!one) return;
    this.#waiting.delete(id);
    if (error) one.reject(error);
    else one.resolve(value);
  }

  #stopped(): ErrorInfo | null {
    const life = this.#lifeNow.peek();
    return life === 'alive' ? null : say(`link.${life}`, 'The kernel behind this panel is gone; nothing was sent.');
  }

  #setLife(life: Life): void {
    if (life === this.#lifeNow.peek()) return;
    batch(() => {
      this.#lifeNow.value = life;
      const gone = this.#stopped();
      if (gone) for (const id of [...this.#waiting.keys()]) this.#settle(id, gone);
      this.#watch();
    });
  }

  /** Set what the status bar says, and come back when it would say something else. */
  #watch(): void {
    clearTimeout(this.#timer);
    const now = Date.now();
    const life = this.#lifeNow.peek();
    const since = [...this.#waiting.values()].map(one => one.since);
    if (this.#greeted) since.push(this.#greeted);
    const oldest = Math.min(now, ...since);
    const silence = now - Math.max(oldest, this.#heard);
    const late = since.length > 0 && now - oldest >= QUEUED_AFTER;
    if (life !== 'alive') this.#state.value = life === 'restarting' ? 'restarting' : 'dead';
    else if (this.model.get('page')) this.#state.value = 'static';
    else if (!late) this.#state.value = 'ok';
    else if (silence < SILENT_AFTER) this.#state.value = 'queued';
    else this.#state.value = this.#hasKernel() || this.#started.peek() ? 'silent' : 'static';
    const words = late ? [...this.#waiting.values()].map(one => one.text).filter(Boolean) : [];
    if (words.join() !== this.#queue.peek().join()) this.#queue.value = words;
    if (life !== 'alive' || since.length === 0) return;
    const next = late ? SILENT_AFTER - silence : QUEUED_AFTER - (now - oldest);
    if (next > 0) this.#timer = setTimeout(() => batch(() => this.#watch()), next + 1);
  }

  #hasKernel(): boolean {
    try {
      return this.model.widget_manager?.kernel != null;
    } catch {
      return false;
    }
  }
}
