/** What the viewer draws over the trials: the best so far, and every trial that counts. */
import type { Task } from './records';
import type { LogSummary } from './summary';

/** A point over the trials, whose number is `n`. */
export interface Point {
  n: number;
  ms: number;
  /** Why the best is slower than before, where it is. */
  why?: string;
  /** Whether a person has measured it. */
  hand?: boolean;
}

/** Best so far of a task: one point per change. What comes later changes none of them. */
export function taskCurve(task: Task): Point[] {
  const last = task.ledger.steps.filter((step, i, all) => step.nth !== all[i + 1]?.nth);
  const reasons = (nth: number): string[] =>
    task.ledger.steps.filter(step => step.nth === nth && step.reason).map(step => step.reason);
  return last.map(({ nth, ms }, i) => ({ n: nth, ms, why: ms > (last[i - 1]?.ms ?? ms) ? reasons(nth).pop() : '' }));
}

/** Every trial of a task that counts, each with what is told of it; none lies below the line. */
export function dots(task: Task): Point[] {
  const line = taskCurve(task);
  let i = 0;
  return task.timed.map((one, k) => {
    const next = task.timed[k + 1]?.nth ?? Infinity;
    while ((line[i + 1]?.n ?? Infinity) < next) i++; // with comparisons behind trials that failed
    return { n: one.nth, ms: Math.max(task.ledger.of(one), line[i]!.ms), hand: one.hand };
  });
}

/** Sum of weight × best so far, from the trial on at which every task that has a result has one. */
export function totalCurve(log: LogSummary): Point[] {
  const out: Point[] = [];
  const now = new Map<Task, number>();
  const tasks = log.measured;
  const steps = tasks.flatMap(task => task.ledger.steps.map(({ at, ms }) => ({ at, ms, task })));
  for (const { at, ms, task } of steps.sort((a, b) => a.at - b.at)) {
    now.set(task, ms);
    if (now.size < tasks.length) {
      continue;
    }
    let sum = 0;
    now.forEach((value, one) => {
      sum += (one.weight ?? 1) * value;
    });
    if (out.at(-1)?.n === at) {
      out.pop();
    }
    out.push({ n: at, ms: sum });
  }
  return out;
}
