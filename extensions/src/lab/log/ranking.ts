/** Who is the best of a task, by the rule of `workbench/tune/ranking.py`: times, and comparisons that correct them. */

/** Candidates that were timed in turns; the first of `trials` was the best so far. */
export interface Comparison {
  trials: number[];
  ms: (number | null)[];
  winner: number;
  ratio: number | null;
  confidence: number | null;
  reason: string;
  /** What makes one comparison newer than another, most important first. */
  age: number[];
  /** Trials of the task, and of the log, when it took place. */
  nth: number;
  at: number;
}

/** A trial that counts. */
export interface Timed {
  trial: number;
  ms: number;
  /** Whether its constants came from where a run of the whole network finds them; such trials go before others. */
  network: boolean;
  nth: number;
  at: number;
}

/** From this trial on the task's best was `ms`. */
export interface Step {
  nth: number;
  at: number;
  ms: number;
}

export interface Ranking {
  best: { trial: number; ms: number } | null;
  steps: Step[];
}

export function rank(trials: readonly Timed[], comparisons: readonly Comparison[]): Ranking {
  const first = new Map<number, Timed>();
  for (const one of trials) {
    if (!first.has(one.trial)) {
      first.set(one.trial, one);
    }
  }
  const newest = [...comparisons].sort((a, b) => -older(a.age, b.age));
  const losers = beaten(newest, first);
  let best: Timed | null = null;
  for (const one of first.values()) {
    // What lost ranks behind its winner, so the best is among the others.
    if (!losers.has(one.trial) && (best === null || before(one, best))) {
      best = one;
    }
  }
  if (best === null) {
    return { best, steps: [] };
  }
  const shown = { trial: best.trial, ms: latest(newest, best.trial) ?? best.ms };
  return { best: shown, steps: course(trials, comparisons, shown) };
}

function before(a: Timed, b: Timed): boolean {
  return a.network === b.network ? a.ms < b.ms || (a.ms === b.ms && a.trial < b.trial) : a.network;
}

function older(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? 0 : a[at] - b[at];
}

/** Trials that rank behind another one. Where comparisons contradict each other the newer one holds. */
function beaten(newest: readonly Comparison[], known: ReadonlyMap<number, unknown>): Map<number, Set<number>> {
  const behind = new Map<number, Set<number>>();
  for (const { trials, winner } of newest) {
    if (!known.has(winner)) {
      continue;
    }
    const losers = trials.filter(trial => trial !== winner && known.has(trial)).sort((a, b) => a - b);
    for (const loser of losers) {
      if (!leads(behind, winner, loser)) {
        behind.set(loser, (behind.get(loser) ?? new Set()).add(winner));
      }
    }
  }
  return behind;
}

/** Whether `from` ranks behind `to` already. */
function leads(behind: ReadonlyMap<number, ReadonlySet<number>>, from: number, to: number): boolean {
  const seen = new Set([from]);
  const open = [from];
  for (let trial = open.pop(); trial !== undefined; trial = open.pop()) {
    for (const winner of behind.get(trial) ?? []) {
      if (winner === to) {
        return true;
      }
      if (!seen.has(winner)) {
        seen.add(winner);
        open.push(winner);
      }
    }
  }
  return false;
}

function latest(newest: readonly Comparison[], trial: number): number | null {
  for (const one of newest) {
    const at = one.trials.indexOf(trial);
    if (at >= 0 && one.ms[at] !== null) {
      return one.ms[at];
    }
  }
  return null;
}

/** How the best changed. A challenger that lost was never the best; a best that is timed again may turn out slower. */
function course(trials: readonly Timed[], comparisons: readonly Comparison[], end: { trial: number; ms: number }): Step[] {
  const lost = new Set<number>();
  for (const { trials: [, ...challengers], winner } of comparisons) {
    challengers.filter(trial => trial !== winner).forEach(trial => lost.add(trial));
  }
  const steps: Step[] = [];
  let now = { trial: NaN, ms: Infinity };
  const set = (trial: number, ms: number, { nth, at }: { nth: number; at: number }): void => {
    if (ms === now.ms && trial === now.trial) {
      return;
    }
    now = { trial, ms };
    const last = steps[steps.length - 1];
    if (last && last.at === at) {
      last.ms = ms;
    } else {
      steps.push({ nth, at, ms });
    }
  };
  let next = 0;
  for (const one of trials) {
    while (next < comparisons.length && comparisons[next].at < one.at) {
      settle(comparisons[next++]);
    }
    if (one.ms < now.ms && !lost.has(one.trial)) {
      set(one.trial, one.ms, one);
    }
  }
  comparisons.slice(next).forEach(settle);
  const last = trials[trials.length - 1];
  set(end.trial, end.ms, comparisons.length && comparisons[comparisons.length - 1].at > last.at ? comparisons[comparisons.length - 1] : last);
  return steps;

  function settle(one: Comparison): void {
    const ms = one.ms[one.trials.indexOf(one.winner)];
    if (ms !== null && ms !== undefined) {
      set(one.winner, ms, one);
    }
  }
}
