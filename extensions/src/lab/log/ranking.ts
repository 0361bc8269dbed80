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
}

/** A trial that counts. */
export interface Timed {
  trial: number;
  /** What tells its program from others of the task. */
  program: string;
  ms: number;
  /** What its time can be compared with, as `Record.warmth`: those that are timed as in a network go before others. */
  warmth: number;
  /** Its place among the trials of the task, and of the log. */
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
  /** Place of the best among the trials of the task: numbers may be there twice. */
  nth: number | null;
  steps: Step[];
}

/**
 * What each number means: where a log has it again with the same program, that was measured again, and the faster line
 * counts, or the later one when the caches were in another state; with another program (two logs in one file) it is a candidate of its own, which no comparison is about.
 */
interface Meant {
  readonly known: Map<number, Timed>;
  readonly others: Map<string, Timed>;
}

function meant(trials: readonly Timed[]): Meant {
  const known = new Map<number, Timed>();
  const others = new Map<string, Timed>();
  for (const one of trials) {
    const first = known.get(one.trial);
    if (!first || first.program === one.program) {
      known.set(one.trial, remeasured(first, one));
    } else {
      others.set(name(one), remeasured(others.get(name(one)), one));
    }
  }
  return { known, others };
}

const remeasured = (before: Timed | undefined, after: Timed): Timed =>
  before?.warmth === after.warmth && before.ms < after.ms ? before : after;

const name = (one: Timed): string => `${one.trial} ${one.program}`;

export function rank(trials: readonly Timed[], comparisons: readonly Comparison[]): Ranking {
  const all = meant(trials);
  const told = least(comparisons);
  all.known.forEach((one, trial) => all.known.set(trial, { ...one, ms: Math.min(one.ms, told.get(trial) ?? one.ms) }));
  const newest = [...comparisons].sort((a, b) => -older(a.age, b.age));
  const best = leader(all, beaten(newest, all.known));
  if (best === null) {
    return { best, nth: null, steps: [] };
  }
  return { best: { trial: best.trial, ms: best.ms }, nth: best.nth, steps: course(trials, newest, told, best.ms) };
}

/** The trial that ranks behind no other and has the best place: a winner takes that of what it beat. */
function leader({ known, others }: Meant, behind: ReadonlyMap<number, ReadonlySet<number>>): Timed | null {
  const losers = new Map<number, number[]>();
  behind.forEach((winners, loser) => winners.forEach(winner => losers.set(winner, [...(losers.get(winner) ?? []), loser])));
  const compared = new Set([...behind.keys(), ...losers.keys()].map(trial => known.get(trial)));
  const before = (a: Timed, b: Timed): boolean => older(key(a, compared), key(b, compared)) < 0;
  let best: Timed | null = null;
  let least: Timed | null = null;
  const take = (one: Timed, place: Timed): void => {
    // Two that were not compared with each other may both have beaten the same one.
    if (best === null || least === null || before(place, least) || (place === least && before(one, best))) {
      [best, least] = [one, place];
    }
  };
  for (const one of known.values()) {
    if (behind.has(one.trial)) {
      continue;
    }
    let place = one;
    const seen = new Set([one.trial]);
    for (const trial of seen) { // a set goes on with what is added meanwhile
      const there = known.get(trial)!;
      place = before(there, place) ? there : place;
      losers.get(trial)?.forEach(loser => seen.add(loser));
    }
    take(one, place);
  }
  others.forEach(one => take(one, one));
  return best;
}

/** What orders trials by themselves, most important first. */
function key(one: Timed, compared: ReadonlySet<Timed | undefined>): number[] {
  return [one.warmth, one.ms, compared.has(one) ? 0 : 1, one.trial];
}

function older(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? a.length - b.length : (a[at] - b[at] || a.length - b.length);
}

/** Trials that rank behind another one. Where comparisons contradict each other the newer one holds. */
function beaten(newest: readonly Comparison[], known: ReadonlyMap<number, unknown>): Map<number, Set<number>> {
  const behind = new Map<number, Set<number>>();
  for (const { trials, winner } of newest) {
    if (!known.has(winner) || !trials.includes(winner)) {
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

/** The least time of each trial in comparisons: whatever disturbs a machine only adds to it. */
export function least(comparisons: readonly Comparison[]): Map<number, number> {
  const out = new Map<number, number>();
  for (const { trials, ms } of comparisons) {
    trials.forEach((trial, i) => out.set(trial, Math.min(ms[i] ?? Infinity, out.get(trial) ?? Infinity)));
  }
  return out;
}

/**
 * How the best changed, as in `workbench/analysis/claims.py`. A challenger that lost was never the best, nor was a time that
 * did not last; a trial's time is the least one that is known of it.
 */
function course(trials: readonly Timed[], newest: readonly Comparison[], told: ReadonlyMap<number, number>, end: number): Step[] {
  const won = new Set(newest.filter(one => one.winner !== one.trials[0]).map(one => one.winner));
  const lost = new Set(newest.flatMap(({ trials: [, ...challengers], winner }) => challengers.filter(trial => trial !== winner)));
  const programs = new Map<number, string>(); // comparisons mean the first of a number
  const known = new Map<string, Timed>();
  const faster = (a: Timed, b: Timed): boolean => (a.warmth - b.warmth || a.ms - b.ms) < 0;
  const about = (one: Timed, of: ReadonlySet<number>): boolean => of.has(one.trial) && programs.get(one.trial) === one.program;
  const beat = (one: Timed): boolean => about(one, lost) && !won.has(one.trial);
  const steps: Step[] = [];
  let best: Timed | null = null;
  for (const { ...one } of trials) {
    if (!programs.has(one.trial)) {
      programs.set(one.trial, one.program);
    }
    if (programs.get(one.trial) === one.program) {
      one.ms = Math.min(one.ms, told.get(one.trial) ?? one.ms);
    }
    const earlier = known.get(name(one));
    const again = earlier !== undefined;
    if (earlier?.warmth === one.warmth) {
      one.ms = Math.min(one.ms, earlier.ms);
    }
    known.set(name(one), one);
    if (about(one, won) && (best === null || one.warmth <= best.warmth)) {
      best = one;
    } else if (again && best !== null && name(one) === name(best)) {
      best = [...known.values()].filter(other => !beat(other)).reduce((a, b) => (faster(b, a) ? b : a), one);
    } else if (!beat(one) && (best === null || faster(one, best))) {
      best = one;
    }
    const before = steps[steps.length - 1]?.ms;
    const now = best === null ? Math.min(one.ms, before ?? Infinity) : known.get(name(best))!.ms;
    if (now !== before) {
      steps.push({ nth: one.nth, at: one.at, ms: now });
    }
  }
  const { nth, at } = trials[trials.length - 1];
  const last = steps[steps.length - 1];
  if (last.ms !== end) {
    if (last.at === at) {
      last.ms = end;
    } else {
      steps.push({ nth, at, ms: end });
    }
  }
  return lasting(steps);
}

/** The line only falls: a time that a later measurement did not confirm never was the best. */
function lasting(steps: readonly Step[]): Step[] {
  let floor = 0;
  const known = steps.map(step => step).reverse().map(step => ({ ...step, ms: (floor = Math.max(floor, step.ms)) })).reverse();
  return known.filter((step, i) => i === 0 || step.ms < known[i - 1].ms);
}
