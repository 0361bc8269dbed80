// Where a run stands, and whether it plays: shared by all films of a widget.

import { batch, computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Theme } from '../shared/types';
import type { Model } from '../widget/kernel/model';
import { unpack, type FilmInfo, type Pictures } from './pictures';

/** Pictures a second. */
export const SPEEDS = [2, 8, 25] as const;
const PATIENCE = 20_000;

interface Answer {
  readonly t: string;
  readonly counts: readonly number[];
  readonly error: { readonly message: string };
}

export class CacheStore {
  readonly films: readonly FilmInfo[];
  readonly whole: Signal<readonly Pictures[]> = signal([]);
  /** Single accesses, where they are shown. */
  readonly single: Signal<readonly Pictures[] | null> = signal(null);
  readonly waiting: Signal<boolean> = signal(false);
  readonly problem: Signal<string> = signal('');
  readonly frame: Signal<number> = signal(0);
  readonly playing: Signal<boolean> = signal(false);
  readonly speed: Signal<number> = signal(SPEEDS[1]);
  readonly shown: ReadonlySignal<readonly Pictures[]> = computed(() => this.single.value ?? this.whole.value);
  readonly last: ReadonlySignal<number> = computed(() => Math.max(0, ...this.shown.value.map(p => p.count - 1)));
  #left = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #patience: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly model: Model,
    readonly theme: ReadonlySignal<Theme>
  ) {
    const get = model.get.bind(model) as (name: string) => unknown;
    this.films = (get('film') as { films: readonly FilmInfo[] }).films;
    model.on('msg:custom', this.#hear);
    const counts = this.films.map(f => f.count);
    unpack(get('pictures') as DataView, this.films, counts).then(
      made => (this.whole.value = made),
      () => (this.problem.value = 'The pictures could not be read: run the cell again.')
    );
    // Movement that nobody asked for is nobody's wish here: a run plays when it is told to, and slowly where a reader
    // wants less movement.
    if (window.matchMedia('(prefers-reduced-motion: reduce)').matches) this.speed.value = SPEEDS[0];
  }

  /** Frame of a film: a shorter one stops at its end. */
  frameOf = (pictures: Pictures): number => Math.min(this.frame.value, pictures.count - 1);

  go(frame: number): void {
    this.frame.value = Math.max(0, Math.min(this.last.value, Math.round(frame)));
  }

  toggle(): void {
    if (this.playing.value) return this.stop();
    if (this.frame.value >= this.last.value) this.frame.value = 0;
    this.playing.value = true;
    this.#next();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.playing.value = false;
  }

  #next(): void {
    this.#timer = setTimeout(() => {
      this.go(this.frame.value + 1);
      if (this.frame.value >= this.last.value) this.stop();
      else this.#next();
    }, 1000 / this.speed.value);
  }

  /** Show single accesses from here on, or the whole run again. */
  zoom(): void {
    this.stop();
    if (this.single.value) {
      batch(() => {
        this.single.value = null;
        this.frame.value = this.#left;
      });
      return;
    }
    if (this.waiting.value || !this.whole.value.length) return;
    this.#left = this.frame.value;
    this.waiting.value = true;
    this.problem.value = '';
    this.model.send({ t: 'steps', at: this.whole.value.map(p => p.time(this.frameOf(p))) });
    this.#patience = setTimeout(() => this.#fail('The kernel does not answer: run the cell again.'), PATIENCE);
  }

  readonly #fail = (why: string): void => {
    clearTimeout(this.#patience);
    this.waiting.value = false;
    this.problem.value = why;
  };

  readonly #hear = (message: Answer, buffers: readonly DataView[]): void => {
    if (message.t === 'failed') return this.#fail(message.error.message);
    if (message.t !== 'steps' || !this.waiting.value) return;
    unpack(buffers[0]!, this.films, message.counts).then(
      made => {
        clearTimeout(this.#patience);
        batch(() => {
          this.waiting.value = false;
          this.single.value = made;
          this.frame.value = 0;
        });
      },
      () => this.#fail('The pictures could not be read: run the cell again.')
    );
  };

  dispose(): void {
    this.stop();
    clearTimeout(this.#patience);
    this.model.off('msg:custom', this.#hear);
  }
}
