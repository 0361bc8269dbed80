/** What one tuning log says, gathered line by line, so that a growing file costs only its new lines. */

export const SCHEMA = 1;
/** Different messages kept for one kind of failure; the count goes on. */
const MESSAGES_KEPT = 50;
const LAST_KEPT = 20;
const BAD_LINES_KEPT = 20;

type Fields = Record<string, unknown>;

export interface Message {
  text: string;
  count: number;
  trial: number;
  task: string;
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
  best: number | null;
  /** Number of the trial within the task, and its latency; only trials that count. */
  xs: number[];
  ms: number[];
  failedAt: number[];
}

export interface Trial {
  trial: number;
  task: string;
  status: string;
  ms: number | null;
  origin: string;
  error: string;
}

export interface Improvement {
  /** Trials of the log up to and with this one. */
  at: number;
  task: number;
  ms: number;
}

export class LogSummary {
  header: Fields | null = null;
  readonly tasks: Task[] = [];
  readonly failures = new Map<string, Failure>();
  readonly improvements: Improvement[] = [];
  last: Trial[] = [];
  trials = 0;
  failed = 0;
  lines = 0;
  badLines: number[] = [];
  badCount = 0;
  elapsed = 0;
  firstTime: number | null = null;
  lastTime: number | null = null;
  newestSchema = 0;
  private byKey = new Map<string, number>();

  /** Take one complete line; false when it holds neither a record nor anything that may be passed over. */
  add(line: string): boolean {
    this.lines++;
    if (!line.trim()) {
      return true;
    }
    const data = parse(line);
    const good = data !== null && this.take(data);
    if (!good) {
      this.badCount++;
      if (this.badLines.length < BAD_LINES_KEPT) {
        this.badLines.push(this.lines);
      }
    }
    return good;
  }

  private take(data: Fields): boolean {
    const kind = data.kind ?? 'trial';
    if (kind === 'header') {
      return this.takeHeader(data);
    }
    // A newer version may add kinds of lines: they are passed over, as in Python.
    return kind === 'trial' ? this.takeTrial(data) : true;
  }

  private takeHeader(data: Fields): boolean {
    if (!Array.isArray(data.tasks)) {
      return false;
    }
    this.newestSchema = Math.max(this.newestSchema, number(data.schema) ?? 0);
    this.header ??= data;
    for (const item of data.tasks as unknown[]) {
      const task = (item ?? {}) as Fields;
      if (typeof task.key === 'string') {
        this.indexOf(task.key, text(task.name));
      }
    }
    return true;
  }

  private takeTrial(data: Fields): boolean {
    const { task_key: key, task: name, status, trial } = data;
    if (typeof key !== 'string' || typeof name !== 'string' || typeof status !== 'string' || typeof trial !== 'number') {
      return false;
    }
    this.newestSchema = Math.max(this.newestSchema, number(data.schema) ?? 0);
    const index = this.indexOf(key, name);
    const task = this.tasks[index];
    task.weight = number(data.weight) ?? task.weight ?? 1;
    task.flops = number(data.flops) ?? task.flops ?? 0;
    task.trials++;
    this.trials++;
    this.takeTimes(data);
    const latency = number(data.latency_ms);
    const ms = status === 'ok' && latency !== null && latency > 0 ? latency : null;
    const error = text(data.error);
    if (ms === null) {
      this.takeFailure(task, status === 'ok' ? 'no time' : status, error, trial);
    } else {
      task.xs.push(task.trials);
      task.ms.push(ms);
      if (task.best === null || ms < task.best) {
        task.best = ms;
        this.improvements.push({ at: this.trials, task: index, ms });
      }
    }
    this.last.push({ trial, task: name, status, ms, origin: text(data.origin), error });
    if (this.last.length > 4 * LAST_KEPT) {
      this.last = this.last.slice(-LAST_KEPT);
    }
    return true;
  }

  private takeTimes(data: Fields): void {
    this.elapsed = Math.max(this.elapsed, number(data.elapsed_s) ?? 0);
    const at = number(data.timestamp);
    if (at) {
      this.firstTime = Math.min(this.firstTime ?? at, at);
      this.lastTime = Math.max(this.lastTime ?? at, at);
    }
  }

  private takeFailure(task: Task, status: string, error: string, trial: number): void {
    this.failed++;
    task.failedAt.push(task.trials);
    task.failures.set(status, (task.failures.get(status) ?? 0) + 1);
    let failure = this.failures.get(status);
    if (!failure) {
      failure = { status, count: 0, messages: new Map(), unlisted: 0 };
      this.failures.set(status, failure);
    }
    failure.count++;
    const message = failure.messages.get(error);
    if (message) {
      message.count++;
    } else if (failure.messages.size < MESSAGES_KEPT) {
      failure.messages.set(error, { text: error, count: 1, trial, task: task.name });
    } else {
      failure.unlisted++;
    }
  }

  private indexOf(key: string, name: string): number {
    let index = this.byKey.get(key);
    if (index === undefined) {
      index = this.tasks.length;
      this.byKey.set(key, index);
      this.tasks.push({
        key, name, weight: null, flops: null, trials: 0, failures: new Map(), best: null, xs: [], ms: [], failedAt: []
      });
    }
    return index;
  }

  /** The newest trials, newest first. */
  get lastTrials(): Trial[] {
    return this.last.slice(-LAST_KEPT).reverse();
  }

  /** Sum of weight × best over the tasks that have a result; null when none has. */
  get total(): number | null {
    const measured = this.measured;
    return measured.length ? measured.reduce((sum, task) => sum + cost(task), 0) : null;
  }

  get measured(): Task[] {
    return this.tasks.filter(task => task.best !== null);
  }
}

/** What a task costs in the model: weight × best. */
export function cost(task: Task): number {
  return task.best === null ? 0 : (task.weight ?? 1) * task.best;
}

export interface Curve {
  xs: number[];
  ms: number[];
}

/** Best so far of a task: one point per improvement. */
export function taskCurve(task: Task): Curve {
  const out: Curve = { xs: [], ms: [] };
  let best = Infinity;
  task.ms.forEach((ms, i) => {
    if (ms < best) {
      best = ms;
      out.xs.push(task.xs[i]);
      out.ms.push(ms);
    }
  });
  return out;
}

/** Sum of weight × best so far, from the trial on at which every task that has a result has one. */
export function totalCurve(log: LogSummary): Curve {
  const out: Curve = { xs: [], ms: [] };
  const best = new Map<number, number>();
  const wanted = log.measured.length;
  for (const { at, task, ms } of log.improvements) {
    best.set(task, ms);
    if (best.size === wanted) {
      let sum = 0;
      best.forEach((value, index) => { sum += (log.tasks[index].weight ?? 1) * value; });
      out.xs.push(at);
      out.ms.push(sum);
    }
  }
  return out;
}

/** The object that a line holds, else null. */
export function parse(line: string): Fields | null {
  try {
    const data: unknown = JSON.parse(line);
    return typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Fields) : null;
  } catch {
    return null;
  }
}

export function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
