/** What one tuning log says, gathered line by line, so that a growing file costs only its new lines. */
import { identity, list, number, numbers, parse, text, warmth, type Fields } from './fields';
import { milliseconds } from '../../shared/format';
import { champion, cost, newTask } from './records';
import type { Command, Failure, NetworkTime, Task, Trial } from './records';
import { Rows } from './rows';

export const SCHEMA = 2;
/** Different messages kept for one kind of failure; the count goes on. */
const MESSAGES_KEPT = 50;
const LAST_SHOWN = 20;
/** Newest trials whose steps and errors are kept: a log may have many more than the page's memory should hold. */
export const STEPS_KEPT = 20_000;
const BAD_LINES_KEPT = 20;
const COMMANDS_KEPT = 50;
/** Tasks of a command that are named; of more it is said how many. */
const NAMED = 2;
/**
 * Which times cannot be compared because kernels found different things in the caches, as `workbench log summary`
 * says it.
 */
export function mixedCaches({ caches }: LogSummary): string {
  if (caches.size < 2) return '';
  const parts = [...caches]
    .sort((a, b) => b[1] - a[1])
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
  return `Trials found different things in the caches (${parts}): their latencies are not comparable.`;
}

const SHAKY = 0.2;
const calm = ({ clean, spread, untunedSpread }: NetworkTime): boolean =>
  clean && Math.max(spread ?? 0, untunedSpread ?? 0) < SHAKY;
const worse = (one: NetworkTime, before: NetworkTime): boolean => calm(before) && !calm(one) && one.ms > before.ms;

export class LogSummary {
  header: Fields | null = null;
  readonly tasks: Task[] = [];
  readonly failures = new Map<string, Failure>();
  readonly all: Trial[] = [];
  failed = 0;
  /** The newest commands. */
  commands: Command[] = [];
  commandCount = 0;
  refused = 0;
  lines = 0;
  badLines: number[] = [];
  badCount = 0;
  /** Whether there are lines as AutoTVM and TVM's auto-scheduler write them. */
  foreign = false;
  elapsed = 0;
  firstTime: number | null = null;
  lastTime: number | null = null;
  newestSchema = 0;
  /** Trials that count, by what they found in the caches. */
  readonly caches = new Map<string, number>();
  private networks: NetworkTime[] = [];
  private target: string | null = null;
  private readonly byKey = new Map<string, Task>();
  private readonly seen = new Set<string>();
  private readonly rows = new Rows();

  /** Take one complete line; false when it holds neither a record nor anything that may be passed over. */
  add(line: string): boolean {
    this.lines++;
    if (!line.trim()) {
      return true;
    }
    const data = parse(line);
    const good = data !== null && this.take(data);
    this.foreign ||= !good && data !== null && (Array.isArray(data.i) || Array.isArray(data.input));
    if (!good) {
      this.badCount++;
      if (this.badLines.length < BAD_LINES_KEPT) {
        this.badLines.push(this.lines);
      }
    }
    return good;
  }

  private take(data: Fields): boolean {
    if (Rows.isRow(data)) {
      const trial = this.rows.trial(data);
      return trial !== null && this.takeTrial(trial);
    }
    if (Rows.isShared(data)) {
      return this.rows.declare(data);
    }
    const kind = data.kind ?? 'trial';
    if (kind === 'header') {
      return this.takeHeader(data);
    }
    switch (kind) {
      case 'trial':
        return this.takeTrial(data);
      case 'network':
        return this.takeNetwork(data);
      case 'comparison':
        return this.takeComparison(data);
      case 'round':
        return this.takeRound(data);
      case 'command':
        return this.takeCommand(data);
      default:
        return true; // a newer version may add kinds of lines: they are passed over, as in Python
    }
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
        this.taskOf(task.key, text(task.name));
      }
    }
    return true;
  }

  private takeTrial(data: Fields): boolean {
    const { task_key: key, task: name, status, trial } = data;
    if (
      typeof key !== 'string' ||
      typeof name !== 'string' ||
      typeof status !== 'string' ||
      typeof trial !== 'number'
    ) {
      return false;
    }
    this.newestSchema = Math.max(this.newestSchema, number(data.schema) ?? 0);
    this.target = text(data.target);
    const task = this.taskOf(key, name);
    if (!this.fresh(data, data.key, data.host, data.target, data.caches, status, data.latency_ms)) {
      return true;
    }
    task.weight ??= number(data.weight) ?? 1;
    task.flops ??= number(data.flops) ?? 0;
    task.trials++;
    this.takeTimes(data);
    const latency = number(data.latency_ms);
    const ms = status === 'ok' && latency !== null && latency > 0 ? latency : null;
    const error = text(data.error);
    const [at, nth] = [this.all.length + 1, task.trials];
    if (ms === null) {
      this.takeFailure(task, status === 'ok' ? 'no time' : status, error, trial);
    } else {
      const caches = text(data.caches) || 'not told';
      this.caches.set(caches, (this.caches.get(caches) ?? 0) + 1);
      const own = { trial, what: identity(data), ms, warmth: warmth(text(data.caches)), clean: data.clean !== false };
      task.timed.push({ ...own, usual: data.origin === 'default', hand: data.origin === 'manual', nth, at });
      task.ledger.trial(task.timed.at(-1)!);
    }
    const one: Trial = {
      trial,
      at,
      nth,
      task,
      status,
      ms,
      origin: text(data.origin),
      error,
      round: number(data.round),
      spread: number(data.spread),
      doubt: ms === null || data.clean !== false ? null : doubt(ms, data),
      trace: Array.isArray(data.trace) ? JSON.stringify(data.trace) : ''
    };
    task.all.push(one);
    if (this.all.push(one) > STEPS_KEPT) {
      Object.assign(this.all.at(-STEPS_KEPT - 1)!, { trace: '', error: '' });
    }
    return true;
  }

  private takeNetwork(data: Fields): boolean {
    const [ms, untuned] = [number(data.measured_ms), number(data.untuned_ms)];
    if (ms === null || untuned === null) return false;
    const spread = number(data.spread);
    const untunedSpread = number(data.untuned_spread) ?? spread;
    const [clean, target] = [data.clean !== false, text(data.target)];
    this.networks.push({ ms, spread, untuned, untunedSpread, clean, target, trials: number(data.trials) ?? 0 });
    this.takeTimes(data);
    return true;
  }

  private takeComparison(data: Fields): boolean {
    const { task_key: key, task: name, trials, winner } = data;
    if (typeof key !== 'string' || typeof name !== 'string' || typeof winner !== 'number' || !numbers(trials)) {
      return false;
    }
    const task = this.taskOf(key, name);
    const [ms, costs] = [list(data.latency_ms), list(data.costs_ms)];
    const time = (i: number): number => (ms[i] !== null ? (number(ms[i]) ?? 0) : list(costs[i]).length ? 0 : Infinity);
    if (this.fresh(data, ms.length > 0, JSON.stringify([data.elapsed_s, ms]))) {
      task.ledger.comparison(
        {
          trials,
          winner,
          ms: trials.map((_, i) => time(i)),
          ratio: number(data.ratio),
          confidence: number(data.confidence),
          reason: text(data.reason),
          clean: data.clean !== false,
          age: [number(data.timestamp) ?? 0, number(data.elapsed_s) ?? 0, number(data.round) ?? 0, winner, ...trials]
        },
        task.trials,
        this.all.length
      );
    }
    this.takeTimes(data);
    return true;
  }

  /** Whether a line is none that was taken before, perhaps from another log and with another number. */
  private fresh(data: Fields, known: unknown, ...what: unknown[]): boolean {
    const mark = JSON.stringify(known && data.timestamp ? [data.task_key, data.timestamp, known, ...what] : data);
    return this.seen.size < this.seen.add(mark).size;
  }

  private takeRound(data: Fields): boolean {
    const { task_key: key, task: name, round } = data;
    if (typeof key !== 'string' || typeof name !== 'string' || typeof round !== 'number') {
      return false;
    }
    const task = this.taskOf(key, name);
    task.quality = number(data.spearman) ?? task.quality;
    this.takeTimes(data);
    return true;
  }

  private takeCommand(data: Fields): boolean {
    if (typeof data.name !== 'string') {
      return false;
    }
    const accepted = data.accepted !== false;
    this.commandCount++;
    this.refused += accepted ? 0 : 1;
    this.commands.push({
      name: data.name,
      args: typeof data.args === 'object' && data.args !== null ? (data.args as Fields) : {},
      source: text(data.source),
      accepted,
      error: text(data.error),
      elapsed: number(data.elapsed_s)
    });
    if (this.commands.length > 2 * COMMANDS_KEPT) {
      this.commands = this.commands.slice(-COMMANDS_KEPT);
    }
    this.takeTimes(data);
    return true;
  }

  /** Arguments as a person would say them, tasks first and by their names, a schedule only as such. */
  words({ name: command, args }: Command): string {
    const said = Object.entries(args).flatMap(([name, value]) => {
      if (name === 'key' || name === 'until' || name === 'task' || name === 'tasks' || value === null) {
        return [];
      }
      return [
        name === 'trace' ? 'a whole schedule' : `${name} = ${typeof value === 'string' ? value : JSON.stringify(value)}`
      ];
    });
    const named = [args.task, ...list(args.tasks)].filter(one => typeof one === 'string' || typeof one === 'number');
    const tasks = named.map(one => (this.byKey.get(String(one)) ?? this.tasks[Number(one)])?.name ?? `task ${one}`);
    if (command === 'start' && !tasks.length) {
      tasks.push(this.tasks.length === 1 ? this.tasks[0]!.name : 'all tasks');
    }
    return [...(tasks.length > NAMED ? [`${tasks.length} of ${this.tasks.length} tasks`] : tasks), ...said].join(', ');
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
      failure.messages.set(error, { text: error, count: 1, trial, task });
    } else {
      failure.unlisted++;
    }
  }

  private taskOf(key: string, name: string): Task {
    let task = this.byKey.get(key);
    if (!task) {
      task = newTask(key, name);
      this.byKey.set(key, task);
      this.tasks.push(task);
    }
    return task;
  }

  get trials(): number {
    return this.all.length;
  }

  /** The newest trials, newest first; of one task with its best, which comes before them. */
  newest(task?: Task): Trial[] {
    const found = (task ?? this).all.slice(-LAST_SHOWN).reverse();
    const top = task && champion(task);
    return top ? [top, ...found.filter(one => one !== top)].slice(0, LAST_SHOWN) : found;
  }

  /** What the tasks with a result took with their default schedule; null when the log does not say it of each. */
  get untuned(): number | null {
    const parts = this.measured.map(task => ({ weight: task.weight ?? 1, ms: task.ledger.untuned }));
    return parts.length && parts.every(one => one.ms !== null)
      ? parts.reduce((sum, one) => sum + one.weight * one.ms!, 0)
      : null;
  }

  /** As `NetworkLedger.last`: the newest for the target of the newest trial, but no disturbed one that is longer. */
  get network(): NetworkTime | undefined {
    return this.networks
      .filter(one => this.target === null || one.target === this.target)
      .reduce<NetworkTime | undefined>((last, one) => (last && worse(one, last) ? last : one), undefined);
  }

  /** How many kernels the sums are of. */
  get kernels(): number {
    return this.measured.reduce((sum, task) => sum + (task.weight ?? 1), 0);
  }

  /** Sum of weight × best over the tasks that have a result; null when none has. */
  get total(): number | null {
    const measured = this.measured;
    return measured.length ? measured.reduce((sum, task) => sum + cost(task), 0) : null;
  }

  get measured(): Task[] {
    return this.tasks.filter(task => task.timed.length > 0);
  }

  get comparisons(): number {
    return this.tasks.reduce((sum, task) => sum + task.ledger.comparisons.length, 0);
  }

  /** The newest commands, newest first. */
  get lastCommands(): Command[] {
    return this.commands.slice(-COMMANDS_KEPT).reverse();
  }
}

/** A time that was disturbed is a bound: at least so long where that is known, else no longer than what was seen. */
function doubt(ms: number, data: Fields): { ms: string; text: string } {
  const least = number(data.at_least_ms);
  return {
    ms: least ? `≥\u202f${milliseconds(least)}` : `≤\u202f${milliseconds(ms)}`,
    text: text(data.why_not) || 'other programs disturbed it'
  };
}
