// What the kernel has said of the log, as signals. One change is under way at a time; while the kernel works on it,
// later ones are put together, so the newest wins and none waits behind an old one.

import { batch, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Theme } from '../shared/types';
import { newId } from '../widget/kernel/ids';
import { watchLife, type Life } from '../widget/kernel/life';
import type { Model } from '../widget/kernel/model';
import type { View } from './view';
import type { Brushes, ErrorInfo, Questions, Settings, Slices } from './protocol';

const BUSY_AFTER = 300;
const HERE_EVERY = 10_000;
/** A first greeting may wait behind running cells. */
const GREET_AGAIN = [1000, 4000];

interface Incoming {
  readonly t: string;
  readonly done?: readonly string[];
  readonly failed?: readonly { readonly id: string; readonly error: ErrorInfo }[];
  readonly slices?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  readonly id?: string;
  readonly ok?: boolean;
  readonly value?: unknown;
  readonly error?: ErrorInfo | null;
}
interface Waiting {
  readonly question: string;
  readonly resolve: (value: never) => void;
  readonly reject: (error: ErrorInfo) => void;
}

const ARRAYS = { u1: Uint8Array, u4: Uint32Array, f4: Float32Array } as const;

export class ExplorerStore {
  readonly #cells = new Map<string, Signal<unknown>>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #prefix = newId();
  readonly #unwatch: () => void;
  readonly #greetings: ReturnType<typeof setTimeout>[] = [];
  #serial = 0;
  #next: Settings | null = null;
  #sent = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #greeted = false;
  readonly #here: ReturnType<typeof setInterval>;

  /** What belonged to views that are gone. */
  readonly left: View[] = [];
  readonly ready: Signal<boolean> = signal(false);
  readonly busy: Signal<boolean> = signal(false);
  readonly life: Signal<Life> = signal('alive');
  readonly problem: Signal<ErrorInfo | null> = signal(null);
  /** A text is asked for: the last one, and what was wrong with it. */
  readonly asking: Signal<{ readonly text: string; readonly error: ErrorInfo | null } | null> = signal(null);
  /** The ranges that are chosen, as they are drawn: at once, and then as the kernel has them. */
  readonly brushes: Signal<Brushes> = signal({});

  constructor(
    readonly model: Model,
    readonly theme: ReadonlySignal<Theme>
  ) {
    model.on('msg:custom', this.#receive);
    this.#unwatch = watchLife(
      model,
      life => {
        this.life.value = life;
      },
      () => undefined
    );
    this.#greet();
    this.#here = setInterval(() => {
      if (!document.hidden && this.life.peek() === 'alive') this.model.send({ t: 'here' });
    }, HERE_EVERY);
    for (const wait of GREET_AGAIN) this.#greetings.push(setTimeout(() => this.#greet(), wait));
  }

  slice<K extends keyof Slices>(name: K): Signal<Slices[K] | null> {
    let found = this.#cells.get(name);
    if (!found) this.#cells.set(name, (found = signal<unknown>(null)));
    return found as Signal<Slices[K] | null>;
  }

  see<K extends keyof Slices>(name: K): Slices[K] | null {
    return this.slice(name).value;
  }

  /** Change the selection or the views. */
  set(change: Settings): void {
    if (change.brushes) this.brushes.value = change.brushes;
    this.#next = { ...this.#next, ...change };
    this.#send();
  }

  /** Set or, without a brush, clear the range of a column; others stay. */
  brush(ranges: Readonly<Record<string, { low: number | null; high: number | null; missing?: boolean } | null>>): void {
    const next = { ...this.brushes.peek() };
    for (const [column, range] of Object.entries(ranges)) {
      if (range) next[column] = range;
      else delete next[column];
    }
    this.set({ brushes: next });
  }

  /** Choose everything again. */
  clear(): void {
    this.set({ brushes: {}, statuses: [], text: '' });
  }

  /** Give the text that is asked for. */
  give(text: string): void {
    this.model.send({ t: 'text', text });
  }

  ask<Q extends keyof Questions>(q: Q, args: object): Promise<Questions[Q]> {
    for (const [id, one] of this.#waiting)
      if (one.question === q) this.#settle(id, { code: 'superseded' } as ErrorInfo);
    const id = `${this.#prefix}-${++this.#serial}`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { question: q, resolve, reject });
      this.model.send({ t: 'ask', id, q, args });
    });
  }

  dispose(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#here);
    this.#greetings.forEach(clearTimeout);
    this.#unwatch();
    this.model.off('msg:custom', this.#receive);
  }

  #greet(): void {
    if (!this.#greeted) this.model.send({ t: 'hello', theme: this.theme.peek() });
  }

  #send(): void {
    if (this.#sent || !this.#next) return;
    this.#sent = `${this.#prefix}-${++this.#serial}`;
    this.model.send({ t: 'set', id: this.#sent, args: this.#next });
    this.#next = null;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.busy.value = this.#sent !== '';
    }, BUSY_AFTER);
  }

  #receive = (message: Incoming, buffers: readonly DataView[] = []): void => {
    if (!message || typeof message !== 'object') return;
    batch(() => {
      if (message.t === 'slices') this.#take(message, buffers);
      else if (message.t === 'asking') this.#ask(message);
      else if (message.t === 'ret') this.#settle(message.id ?? '', message.ok ? null : message.error!, message.value);
    });
    this.#send();
  };

  #ask({ text = '', error = null }: Incoming): void {
    this.#greeted = true;
    this.asking.value = { text, error };
  }

  #take(message: Incoming, buffers: readonly DataView[]): void {
    const ours = (message.done ?? []).includes(this.#sent);
    const failed = (message.failed ?? []).find(one => one.id === this.#sent);
    if (ours || failed) {
      this.#sent = '';
      this.busy.value = false;
      this.problem.value = failed?.error ?? null;
    }
    for (const [name, value] of Object.entries(message.slices ?? {}))
      this.slice(name as keyof Slices).value = decoded(value, buffers[0]) as never;
    const chosen = message.slices?.chosen as Slices['chosen'] | undefined;
    if (chosen && !this.#sent && !this.#next)
      this.brushes.value = Object.fromEntries(chosen.brushes.map(one => [one.column, one]));
    if (!this.ready.peek() && message.slices?.meta) {
      this.#greeted = true;
      this.asking.value = null;
      this.ready.value = true;
    }
  }

  #settle(id: string, error: ErrorInfo | null, value?: unknown): void {
    const one = this.#waiting.get(id);
    if (!one) return;
    this.#waiting.delete(id);
    if (error) one.reject(error);
    else one.resolve(value as never);
  }
}

/** The value with its arrays: where one is, the kernel has put where it begins in the buffer, its length and type. */
function decoded(value: unknown, bytes: DataView | undefined): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return typeof value[0] === 'object' ? value.map(one => decoded(one, bytes)) : value;
  const { $: at, n, d: type } = value as { $?: number; n?: number; d?: keyof typeof ARRAYS };
  if (at === undefined || n === undefined || type === undefined)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, decoded(one, bytes)]));
  const kind = ARRAYS[type];
  const from = (bytes?.byteOffset ?? 0) + at;
  return new kind((bytes?.buffer.slice(from, from + n * kind.BYTES_PER_ELEMENT) ?? new ArrayBuffer(0)) as ArrayBuffer);
}
