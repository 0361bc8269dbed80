// Answers about the model and its variants: asked for once for all views of a store, and again only when there is
// another.

import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { ErrorInfo, Questions } from '../../shared/types';
import type { Store } from './store';

/** Answers that are kept. */
const MOST = 32;
/** Milliseconds after which a question is asked again that another page's question took the place of. */
const AGAIN = 150;

/** A question that some views wait for. */
interface Job {
  readonly args: object;
  readonly answer: Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: ErrorInfo) => void;
  /** How many views want to know; a question that none of them waits for any more gives way. */
  wanted: number;
  state: 'waiting' | 'asked' | 'answered';
}

function newJob(args: object): Job {
  let resolve!: Job['resolve'];
  let reject!: Job['reject'];
  const answer = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { args, answer, resolve, reject, wanted: 0, state: 'waiting' };
}

/**
 * The questions of one kind. The kernel keeps the newest one only, so that two views which ask for different things
 * would take each other's place for ever: here a question that is wanted is waited for before the next one is asked.
 */
class Line {
  readonly #jobs = new Map<string, Job>();
  #asked: Job | null = null;

  constructor(
    readonly store: Store,
    readonly q: keyof Questions
  ) {}

  /** Want the answer of this name; its job is `give`n back when it is no longer wanted. */
  take(name: string, args: object): Job {
    const job = this.#jobs.get(name) ?? newJob(args);
    this.#jobs.delete(name);
    this.#jobs.set(name, job);
    job.wanted++;
    this.#next();
    return job;
  }

  give(job: Job): void {
    job.wanted--;
    this.#next();
  }

  /** Ask the newest question that is wanted, unless one that is wanted as well is under way. */
  #next(): void {
    this.#tidy();
    if (this.#asked?.wanted) return;
    const job = [...this.#jobs.values()].filter(one => one.state === 'waiting' && one.wanted > 0).pop();
    if (job) this.#ask(job);
  }

  #ask(job: Job): void {
    this.#asked = job;
    job.state = 'asked';
    const end = (): void => {
      if (this.#asked === job) this.#asked = null;
    };
    this.store.ask(this.q, job.args).then(
      value => {
        end();
        job.state = 'answered';
        job.resolve(value);
        this.#next();
      },
      (error: ErrorInfo) => {
        end();
        if (error.code.endsWith('superseded')) {
          job.state = 'waiting';
          setTimeout(() => this.#next(), AGAIN * (1 + Math.random()));
          return;
        }
        this.#forget(job);
        job.reject(error);
        this.#next();
      }
    );
  }

  #forget(job: Job): void {
    for (const [name, one] of this.#jobs) if (one === job) this.#jobs.delete(name);
  }

  /** Let go of what nobody looks at: what never was answered, then the oldest answers. */
  #tidy(): void {
    for (const [name, job] of this.#jobs) {
      if (job.wanted > 0 || job.state === 'asked') continue;
      if (job.state === 'waiting' || this.#jobs.size > MOST) this.#jobs.delete(name);
    }
  }
}

const lines = new WeakMap<Store, Map<string, Line>>();

function lineOf(store: Store, q: keyof Questions): Line {
  const all = lines.get(store) ?? new Map<string, Line>();
  lines.set(store, all);
  const line = all.get(q) ?? new Line(store, q);
  all.set(q, line);
  return line;
}

export interface Asked<T> {
  readonly value: T | null;
  readonly error: ErrorInfo | null;
  /** Whether the answer is to an earlier question, about what is no longer on show. */
  readonly old: boolean;
  readonly again: () => void;
}

/** The answer to a question about what this key names; the one before until it has come. */
export function useAnswer<Q extends keyof Questions>(
  store: Store,
  about: string,
  q: Q,
  args: object | null
): Asked<Questions[Q]> {
  const value = useSignal<{ key: string; name: string; value: Questions[Q] } | null>(null);
  const error = useSignal<ErrorInfo | null>(null);
  const tries = useSignal(0);
  const name = JSON.stringify(args);
  const key = about && `${store.see('target')?.text} ${about}`; // of another target nothing is the same
  const life = store.life.value; // what was refused while the kernel was away is asked again when it is back
  useEffect(() => {
    error.value = null;
    if (!key || !args) return;
    const line = lineOf(store, q);
    const job = line.take(`${key} ${name}`, args);
    let wanted = true;
    job.answer.then(
      found => {
        if (wanted) value.value = { key, name, value: found as Questions[Q] };
      },
      (why: ErrorInfo) => {
        if (wanted) error.value = why;
      }
    );
    return () => {
      wanted = false;
      line.give(job);
    };
  }, [store, key, q, name, tries.value, life]);
  return {
    value: value.value?.key === key ? value.value.value : null,
    error: error.value,
    old: value.value?.name !== name,
    again: () => {
      tries.value++;
    }
  };
}
