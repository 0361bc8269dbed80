/**
 * Who is best of a task, how fast, how sure, and how it came about: the fold of `workbench/log/ledger`;
 * `docs/ledger.md` says what is meant.
 */

/** A time is borne out by another one that is at most so many times as long. */
const AGREES = 1.05;
/** Times of a program that are more than so many times apart are no spread of one time. */
const MODES = 1.25;
/** Reason of comparisons whose times are of another place than a kernel alone. */
const INSIDE = 'inside the network';

/** Candidates that were timed in turns; the first of `trials` was the best so far. */
export interface Comparison {
  trials: number[];
  /** Infinite for one that failed, 0 where the time is not known. */
  ms: number[];
  winner: number;
  ratio: number | null;
  confidence: number | null;
  reason: string;
  clean: boolean;
  /** What makes one comparison newer than another, most important first. */
  age: number[];
}

/** A trial that counts. */
export interface Timed {
  trial: number;
  /** What tells what was timed from other things of the task: program, machine and state of the caches. */
  what: string;
  ms: number;
  /** What its time can be compared with, as `Record.warmth`: those that are timed as in a network go before others. */
  warmth: number;
  clean: boolean;
  /** Whether it is the default schedule's. */
  usual: boolean;
  /** Whether a person has measured it: it is no candidate of the tuner. */
  hand?: boolean;
  /** Its place among the trials of the task, and of the log. */
  nth: number;
  at: number;
}

export interface Best {
  trial: number;
  ms: number;
  sure: 'compared' | 'again' | 'once' | 'disturbed';
  /** Place of the best among the trials of the task: numbers may be there twice. */
  nth: number;
}

/** From this trial on the task's best was another one or had another number; why it became slower, if it did. */
export interface Step {
  nth: number;
  at: number;
  trial: number;
  ms: number;
  reason: string;
}

/** Conditions, the lowest go first, and milliseconds. */
type Key = readonly [number, number];

class Candidate {
  readonly alone: Timed[] = [];
  times: number[] = [];
  disturbed: number[] = [];
  met = false;
  won = false;

  constructor(public shown: Timed) {}

  take(ms: number, clean: boolean): void {
    const times = clean ? this.times : this.disturbed;
    times.push(ms);
    times.sort((a, b) => a - b);
  }

  reset(): void {
    this.met = this.won = false;
    [this.times, this.disturbed] = [[], []];
    this.alone.forEach(({ ms, clean }) => this.take(ms, clean));
  }

  /** The least time, where it is not the number. */
  get lucky(): number | null {
    return this.times.length > 1 && this.ms > this.times[0]! ? this.times[0]! : null;
  }

  /** The least time, where it is not the number, and no other time bears it out. */
  get broken(): number | null {
    return this.times.length > 1 && this.times[1]! > AGREES * this.times[0]! ? this.lucky : null;
  }

  get ms(): number {
    const { times } = this;
    if (!times.length) {
      return this.disturbed[0]!;
    }
    const twice = times[Math.min(1, times.length - 1)]!;
    const own = this.alone // no search has chosen these for their times
      .filter(one => one.hand && one.clean)
      .map(one => one.ms)
      .sort((a, b) => a - b);
    const middle = own.length && times.at(-1)! < Infinity ? own[(own.length - 1) >> 1]! : Infinity;
    return twice > MODES * middle ? middle : twice;
  }

  get key(): Key {
    return [this.shown.warmth, this.ms];
  }

  get proven(): boolean {
    return this.met || this.alone.filter(one => one.clean).length > 1;
  }

  get sure(): Best['sure'] {
    return !this.times.length ? 'disturbed' : this.won ? 'compared' : this.proven ? 'again' : 'once';
  }
}

export class Ledger {
  best: Best | null = null;
  readonly steps: Step[] = [];
  comparisons: Comparison[] = [];
  private candidates = new Map<string, Candidate>();
  private meant = new Map<number, Candidate>();
  private unmet = new Set<number>();
  private named = new Set<Candidate>();
  /** What each has beaten, and whether a comparison of the kernels alone says so: only that one is about numbers. */
  private losers = new Map<Candidate, Map<Candidate, boolean>>();
  private beaten = new Set<Candidate>();
  private places = new Map<Candidate, Key>();
  private numbers = new Map<Candidate, number>();
  private broken = new Map<number, number>();
  private least = new Map<number, number>();
  private leader: Candidate | null = null;
  private single: Candidate | null = null;
  private usual: Timed | null = null;
  private top: Candidate | null = null;
  private under = 0;

  trial(one: Timed): void {
    const found = this.candidates.get(one.what) ?? new Candidate(one);
    this.candidates.set(one.what, found);
    if (!this.meant.has(one.trial)) {
      this.meant.set(one.trial, found);
    }
    found.alone.push(one);
    found.take(one.ms, one.clean);
    if (before([one.clean ? 0 : 1, one.trial], [found.shown.clean ? 0 : 1, found.shown.trial])) {
      found.shown = one;
    }
    if (one.usual && one.trial < (this.usual?.trial ?? Infinity)) {
      this.usual = one;
    }
    const rest = this.unmet.delete(one.trial);
    if (rest) {
      this.rebuild();
    }
    if (found.proven || rest) {
      this.rank();
    } else if (this.single === null || found === this.single || before(order(found), order(this.single))) {
      this.single = found === this.single ? this.fastest() : found;
    }
    this.note(one.nth, one.at);
  }

  comparison(line: Comparison, nth: number, at: number): void {
    this.comparisons.push(line);
    line.trials.filter(trial => !this.meant.has(trial)).forEach(trial => this.unmet.add(trial));
    this.rebuild();
    this.rank();
    this.note(nth, at);
  }

  /** What is told of the default schedule: no less than of the best, whatever the conditions of its times. */
  get untuned(): number | null {
    return this.usual && this.best && Math.max(this.of(this.usual), this.best.ms);
  }

  /** What is told of a trial's program. */
  of({ what }: Timed): number {
    return this.told(this.candidates.get(what)!);
  }

  /** Take all comparisons together, the newest first: it holds where others say the opposite. */
  private rebuild(): void {
    this.named.forEach(one => one.reset());
    this.losers = new Map();
    this.beaten = new Set();
    [...this.comparisons].sort((a, b) => compare(b.age, a.age)).forEach(line => this.enter(line));
  }

  private enter({ trials, ms, winner, clean, reason }: Comparison): void {
    const first = trials.includes(winner) ? this.meant.get(winner) : undefined;
    if (!first) {
      return;
    }
    for (const [i, trial] of trials.entries()) {
      const one = this.meant.get(trial);
      if (!one || trials.indexOf(trial) !== i) {
        continue;
      }
      this.named.add(one);
      one.met ||= clean;
      if (ms[i]! > 0) {
        one.take(ms[i]!, clean);
      }
      if (clean && one !== first) {
        first.won = true;
        if (!this.reaches(one, first)) {
          const beaten = this.losers.get(first) ?? new Map<Candidate, boolean>();
          this.losers.set(first, beaten.set(one, beaten.get(one) || reason !== INSIDE));
          this.beaten.add(one);
        }
      }
    }
  }

  /** Whether one has beaten another, directly or by way of others. */
  private reaches(from: Candidate, to: Candidate): boolean {
    const seen = new Set([from]);
    for (const one of seen) {
      // a set goes on with what is added meanwhile
      this.losers.get(one)?.forEach((_, loser) => seen.add(loser));
    }
    return seen.has(to);
  }

  private rank(): void {
    const proven = [...this.candidates.values()].filter(one => one.proven);
    const places = new Map<Candidate, Key>();
    const place = (one: Candidate, firm = false, known = places): Key => {
      let found = known.get(one) ?? one.key;
      if (!known.has(one)) {
        this.losers.get(one)?.forEach((alone, loser) => {
          const other = firm && !alone ? found : place(loser, firm, known);
          found = before(other, found) ? other : found;
        });
        known.set(one, found);
      }
      return found;
    };
    this.broken = new Map();
    this.least = new Map();
    this.leader = null;
    for (const one of proven) {
      const [group, ms] = place(one);
      this.least.set(group, Math.min(ms, this.least.get(group) ?? ms));
      if (one.broken !== null) {
        this.broken.set(one.key[0], Math.min(one.broken, this.broken.get(one.key[0]) ?? Infinity));
      }
      const rank = (it: Candidate): number[] => [...place(it), ...order(it)];
      if (!this.beaten.has(one) && (!this.leader || before(rank(one), rank(this.leader)))) {
        this.leader = one;
      }
    }
    this.places = places;
    this.numbers = new Map();
    this.single = this.fastest();
    const alone = new Map<Candidate, Key>();
    if ([...this.losers.values()].some(all => [...all.values()].includes(false))) {
      for (const one of proven) {
        this.numbers.set(one, Math.max(...this.upTo(place(one)).map(it => place(it, true, alone)[1])));
      }
      this.numbers.set(this.leader!, place(this.leader!, true, alone)[1]);
    }
  }

  /** The fastest of those that were timed once. */
  private fastest(): Candidate | null {
    let best: Candidate | null = null;
    for (const one of this.candidates.values()) {
      best = !one.proven && (!best || before(order(one), order(best))) ? one : best;
    }
    return best;
  }

  /** Whether a single time counts as it is: it is shorter than all that did not hold. */
  private believed([group, ms]: Key): boolean {
    return ms < (this.broken.get(group) ?? Infinity);
  }

  /** Those that were timed more than once, under the conditions of a place, and rank no later. */
  private upTo(at: Key): Candidate[] {
    return [...this.places].filter(([, place]) => place[0] === at[0] && place[1] <= at[1]).map(([one]) => one);
  }

  /** What is told of a candidate: no less than of those that rank before it. */
  private told(one: Candidate): number {
    const place = this.place(one);
    const number =
      this.numbers.size === 0
        ? place[1]
        : (this.numbers.get(one) ?? Math.max(place[1], ...this.upTo(place).map(it => this.numbers.get(it)!)));
    return number < Infinity ? number : Math.min(...one.times, ...one.disturbed);
  }

  private place(one: Candidate): Key {
    const [group, ms] = one.key;
    return (
      this.places.get(one) ??
      (this.believed([group, ms]) ? [group, ms] : [group, Math.max(ms, this.least.get(group) ?? ms)])
    );
  }

  private first(): Candidate | null {
    const { single, leader } = this;
    if (!single || !leader) {
      return single ?? leader;
    }
    const [one, place] = [single.key, this.places.get(leader)!];
    return before(one, place) && (one[0] < place[0] || this.believed(one)) ? single : leader;
  }

  private note(nth: number, at: number): void {
    const first = this.first();
    if (!first) {
      return;
    }
    const [{ best, top }, place, ms] = [this, this.place(first), this.told(first)];
    const reason = !best || !top || ms <= best.ms ? '' : this.why(best, top, first, place);
    this.best = { trial: first.shown.trial, ms, sure: first.sure, nth: first.shown.nth };
    [this.top, this.under] = [first, place[0]];
    if (best?.trial !== this.best.trial || best.ms !== this.best.ms) {
      this.steps.push({ nth, at, trial: this.best.trial, ms: this.best.ms, reason });
    }
  }

  private why(best: Best, top: Candidate, first: Candidate, place: Key): string {
    const now = `trial ${first.shown.trial}`;
    const old = `trial ${best.trial} (${short(best.ms)} ms)`;
    if (place[0] < this.under) {
      return `${old} was timed under other conditions, ${now} as it should be`;
    }
    if (best.sure === 'disturbed') {
      return `${old} was disturbed, ${now} was not`;
    }
    if (this.losers.get(first)?.get(top) === false) {
      const alone = `though alone that one is faster (${short(best.ms)} ms)`;
      return `in the network ${now} takes less time than trial ${best.trial}, ${alone}`;
    }
    const lucky = [...this.places.keys()].filter(one => one.lucky === best.ms);
    if (lucky.length) {
      const of = lucky.includes(top) ? top.shown.trial : Math.min(...lucky.map(one => one.shown.trial));
      const whose = of === first.shown.trial ? '' : ` of trial ${of}`;
      return `measured again: ${short(this.told(first))} ms, the first number${whose} was lucky (${short(best.ms)} ms)`;
    }
    return top.proven
      ? `of contradicting comparisons the newest counts: ${now}, not ${old}`
      : `${old} was timed only once, and single times of this task did not hold`;
  }
}

const order = (one: Candidate): number[] => [...one.key, one.shown.trial];

const before = (a: readonly number[], b: readonly number[]): boolean => compare(a, b) < 0;

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? a.length - b.length : b.length === at ? 1 : a[at]! < b[at]! ? -1 : 1;
}

const short = (ms: number): string => String(Number(ms.toPrecision(4)));
