/** What the viewer draws over the trials: the best so far, and every trial that counts. */
import { least } from './ranking';
import { ranking, type LogSummary, type Task } from './summary';

export interface Curve {
  xs: number[];
  ms: number[];
}

/** Best so far of a task: one point per change. */
export function taskCurve(task: Task): Curve {
  const { steps } = ranking(task);
  return { xs: steps.map(step => step.nth), ms: steps.map(step => step.ms) };
}

/** Every trial of a task that counts, each with the least time that is known of it. */
export function dots(task: Task): Curve {
  const told = least(task.comparisons);
  return { xs: task.timed.map(one => one.nth), ms: task.timed.map(one => Math.min(one.ms, told.get(one.trial) ?? one.ms)) };
}

/** Sum of weight × best so far, from the trial on at which every task that has a result has one. */
export function totalCurve(log: LogSummary): Curve {
  const out: Curve = { xs: [], ms: [] };
  const now = new Map<Task, number>();
  const tasks = log.measured;
  const steps = tasks.flatMap(task => ranking(task).steps.map(({ at, ms }) => ({ at, ms, task })));
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
