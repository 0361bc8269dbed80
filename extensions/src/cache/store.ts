// Where a run stands, and whether it plays: shared by all films of a widget.

import { batch, computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Theme } from '../shared/types';
import { unpack, type FilmInfo, type Pictures } from './pictures';

/** Pictures a second. */
export const SPEEDS = [2, 8, 25] as const;
const UNREADABLE = 'The pictures could not be read: run the cell again.';

/** Pictures of single accesses: how many of each film, packed. */
export interface Steps {
  readonly counts: readonly number[];
  readonly pictures: Uint8Array<ArrayBuffer>;
}
/** Where films come from: a widget's model, or a workbench's kernel. */
export interface Source {
  readonly films: readonly FilmInfo[];
  readonly pictures: Uint8Array<ArrayBuffer>;
  /** Ask for single accesses from a place in each film on; a failure has a message. */
  readonly steps: (at: readonly number[]) => Promise<Steps>;
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

  constructor(
    private readonly source: Source,
    readonly theme: ReadonlySignal<Theme>
  ) {
    this.films = source.films;
    const counts = this.films.map(f => f.count);
    unpack(source.pictures, this.films, counts).then(
      made => (this.whole.value = made),
      () => (this.problem.value = UNREADABLE)
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
    this.#single(this.whole.value.map(p => p.time(this.frameOf(p)))).catch((why: { message?: string }) => {
      this.problem.value = why.message ?? UNREADABLE;
      this.waiting.value = false;
    });
  }

  async #single(at: readonly number[]): Promise<void> {
    const { counts, pictures } = await this.source.steps(at);
    const made = await unpack(pictures, this.films, counts);
    batch(() => {
      this.waiting.value = false;
      this.single.value = made;
      this.frame.value = 0;
    });
  }
}
