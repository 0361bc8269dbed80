/** What the viewer draws over the trials: the best so far, and every trial that counts. */
import type { LogSummary, Task } from './summary';

export interface Curve {
  xs: number[];
  ms: number[];
  /** Why the best is slower than before, where it is. */
  why?: string[];
}

/** Best so far of a task: one point per change. What comes later changes none of them. */
export function taskCurve(task: Task): Curve {
  const last = task.ledger.steps.filter((step, i, all) => step.nth !== all[i + 1]?.nth);
  const risen = (i: number): boolean => i > 0 && last[i].ms > last[i - 1].ms;
  const reasons = (nth: number): string[] => task.ledger.steps.filter(step => step.nth === nth && step.reason).map(step => step.reason);
  return {
    xs: last.map(step => step.nth), ms: last.map(step => step.ms),
    why: last.map((step, i) => (risen(i) ? reasons(step.nth).pop()! : ''))
  };
}

/** Every trial of a task that counts, each with what is told of it; none lies below the line. */
export function dots(task: Task): Curve {
  const { xs, ms } = taskCurve(task);
  let i = 0;
  return {
    xs: task.timed.map(one => one.nth),
    ms: task.timed.map((one, k) => {
      while (xs[i + 1] < (task.timed[k + 1]?.nth ?? Infinity)) i++; // with comparisons behind trials that failed
      return Math.max(task.ledger.of(one), ms[i]);
    })
  };
}

/** Sum of weight × best so far, from the trial on at which every task that has a result has one. */
export function totalCurve(log: LogSummary): Curve {
  const out: Curve = { xs: [], ms: [] };
  const now = new Map<Task, number>();
  const tasks = log.measured;
  const steps = tasks.flatMap(task => task.ledger.steps.map(({ at, ms }) => ({ at, ms, task })));
  for (const { at, ms, task } of steps.sort((a, b) => a.at - b.at)) {
    now.set(task, ms);
    if (now.size < tasks.length) {
      continue;
    }
    let sum = 0;
    now.forEach((value, one) => { sum += (one.weight ?? 1) * value; });
    if (out.xs[out.xs.length - 1] === at) {
      out.ms[out.ms.length - 1] = sum;
    } else {
      out.xs.push(at);
      out.ms.push(sum);
    }
  }
  return out;
}
