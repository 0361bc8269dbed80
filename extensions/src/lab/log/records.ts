/** What a log holds, as the viewer keeps it: tasks with their trials, failures, commands. */
import type { Fields } from './fields';
import { Ledger, type Timed } from './ledger';

export interface Message {
  text: string;
  count: number;
  trial: number;
  task: Task;
}

export interface Failure {
  status: string;
  count: number;
  messages: Map<string, Message>;
  /** Trials whose message is not kept because the kind has too many different ones. */
  unlisted: number;
}

export interface Task {
  key: string;
  name: string;
  /** Null until the first trial of the task says it. */
  weight: number | null;
  flops: number | null;
  trials: number;
  failures: Map<string, number>;
  /** Trials that count, in order. */
  timed: Timed[];
  ledger: Ledger;
  /** Rank correlation of the model on candidates it had not seen, in the last round that knew it. */
  quality: number | null;
  failedAt: number[];
  /** All of them, in order. */
  all: Trial[];
}

/** The whole network, measured, with the best schedules so far and with default ones; milliseconds. */
export interface NetworkTime {
  ms: number;
  spread: number | null;
  untuned: number;
  untunedSpread: number | null;
  clean: boolean;
  target: string;
  /** Trials of the log when it was measured; 0 where the log does not say it. */
  trials: number;
}

export interface Trial {
  trial: number;
  /** Its place among the trials of the log and of the task, from 1 on. */
  at: number;
  nth: number;
  /** Its name is the task's: a trial may have been written under another one. */
  task: Task;
  status: string;
  ms: number | null;
  origin: string;
  error: string;
  round: number | null;
  spread: number | null;
  /** What is known of a time that was disturbed, and by what; null for others. */
  doubt: { ms: string; text: string } | null;
  /** Its steps as JSON, '' where they are not kept. */
  trace: string;
}

export interface Command {
  name: string;
  args: Fields;
  source: string;
  accepted: boolean;
  error: string;
  elapsed: number | null;
}

export function newTask(key: string, name: string): Task {
  return {
    key,
    name,
    weight: null,
    flops: null,
    trials: 0,
    failures: new Map(),
    timed: [],
    ledger: new Ledger(),
    quality: null,
    failedAt: [],
    all: []
  };
}

/** The trial that is the best of its task. */
export const champion = (task: Task): Trial | undefined => task.all[(task.ledger.best?.nth ?? 0) - 1];

/** Time of a task's best trial in ms. */
export const best = (task: Task): number | null => task.ledger.best?.ms ?? null;

/** What a task costs in the model: weight × best. */
export function cost(task: Task): number {
  return (task.weight ?? 1) * (best(task) ?? 0);
}
