// What a step would make of the nest while somebody puts it together: asked of the kernel, drawn by the nest as ghosts.

import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ErrorInfo, NestRow, NestSlice, PreviewAnswer, Step, Verdict } from '../../shared/types';
import { stepText } from '../../shared/steps';
import type { Store } from '../kernel/store';
import type { Changing } from '../shell/ui';
import { noKernel } from '../kernel/link-words';

export const refused = (error: ErrorInfo): Verdict => ({
  legal: false,
  code: error.code,
  reason: error.message,
  hint: error.hint ?? '',
  where: error.where ?? [],
  witness: null
});

/**
 * What a new row is where the answer does not say otherwise; the kernel has the same
 * (`session/schedule_view/preview.py`).
 */
const USUAL = {
  kind: 'loop',
  extent: null,
  mark: 'serial',
  chips: [],
  kinds: [],
  text: '',
  reduce: false,
  iters: null,
  flops: null,
  bytes: null,
  own: null,
  ws: null,
  level: null,
  block: null
};

/** Whole rows, which know how deep they lie: of a row that changes only the changes travel. */
export function whole(answer: PreviewAnswer, nest: NestSlice | null): PreviewAnswer {
  const old = new Map(nest?.rows.map(row => [row.id, row]));
  const changed = new Map(answer.rows.map(row => [row.id, row]));
  const depths = new Map<string, number>();
  const rows = answer.order.flatMap(id => {
    const before = old.get(id);
    const row = { ...(before ?? { ...USUAL, name: id }), ...changed.get(id) } as NestRow;
    const depth = row.parent === null ? 0 : (depths.get(row.parent) ?? -1) + 1;
    depths.set(id, depth);
    return changed.has(id) || before?.depth !== depth ? [{ ...row, depth }] : [];
  });
  return { ...answer, rows };
}

/** A step, the nest that it would be taken on, and what the kernel says of it. */
export interface Previewed {
  readonly step: string;
  readonly of: NestSlice | null;
  readonly answer: PreviewAnswer;
}

const nothing = (verdict: Verdict): PreviewAnswer => ({
  verdict,
  makes: [],
  rows: [],
  order: [],
  gone: [],
  ws: [],
  estimate: null,
  before: null
});

/** One step, or several that are taken one right after the other. */
export type Steps = readonly [Step, ...Step[]];
const stepsText = (steps: Steps): string => steps.map(one => stepText(one.primitive, one.args)).join(', then ');

/** Somebody who wants to know what steps would do: a form, or a list of steps to take instead. */
interface Wish {
  steps: Steps | null;
  without?: readonly number[];
  change?: Changing;
  asked: boolean;
  readonly seen: Signal<Previewed | null>;
}

/**
 * All who preview in one store. One question is under way at a time, and when it is answered the newest wish follows:
 * a slider can be drawn as fast as one likes. The nest shows the answer to whoever wished last; when that one is
 * done, the answer to the one before.
 */
class Previews {
  readonly #wishes: Wish[] = [];
  #asking = false;

  constructor(readonly store: Store) {}

  join(seen: Wish['seen']): Wish {
    const wish: Wish = { steps: null, asked: false, seen };
    this.#wishes.push(wish);
    return wish;
  }

  leave(wish: Wish): void {
    this.#wishes.splice(this.#wishes.indexOf(wish), 1);
    wish.steps = null;
    this.#show();
  }

  want(wish: Wish, steps: Steps | null, without?: readonly number[], change?: Changing): void {
    wish.steps = steps;
    wish.without = without;
    wish.change = change;
    wish.asked = false;
    if (steps)
      this.#wishes.push(...this.#wishes.splice(this.#wishes.indexOf(wish), 1)); // the newest counts
    else this.#take(wish, null);
    this.#ask();
  }

  #take(wish: Wish, answer: Previewed | null): void {
    wish.seen.value = answer;
    this.#show();
  }

  #show(): void {
    const legal = this.#wishes.map(wish => wish.seen.peek()).filter(one => one?.answer.verdict.legal);
    this.store.ghost.value = legal[legal.length - 1] ?? null;
  }

  #ask(): void {
    const open = this.#wishes.filter(one => one.steps && !one.asked);
    const wish = open[open.length - 1];
    if (!wish || this.#asking || noKernel(this.store)) return;
    const steps = wish.steps!;
    const [step, ...then] = steps;
    const { without, change } = wish;
    const of = this.store.slice('nest').peek();
    const done = (answer: PreviewAnswer | null): void => {
      this.#asking = false;
      if (wish.steps === steps && answer) this.#take(wish, { step: stepsText(steps), of, answer });
      this.#ask();
    };
    this.#asking = wish.asked = true;
    const asked = change ? { step, change } : then.length > 0 || without ? { step, then, without } : { step };
    this.store.ask('preview', asked).then(
      answer => done(whole(answer, of)),
      (error: ErrorInfo) => done(/superseded$|^closed$/.test(error.code) ? null : nothing(refused(error)))
    );
  }
}

const all = new WeakMap<Store, Previews>();

function previewsOf(store: Store): Previews {
  const found = all.get(store) ?? new Previews(store);
  all.set(store, found);
  return found;
}

/** The newest answer about the step that is wanted; null while there is none about this step and this nest. */
export function usePreview(
  store: Store,
  step: Step | null,
  then: readonly Step[] = [],
  without?: readonly number[],
  change?: Changing
): Previewed | null {
  const seen = useSignal<Previewed | null>(null);
  const wish = useRef<Wish | null>(null);
  const nest = store.see('nest');
  const steps: Steps | null = step && [step, ...then];
  const text = steps ? stepsText(steps) : '';
  useEffect(() => {
    const previews = previewsOf(store);
    const own = (wish.current = previews.join(seen));
    return () => previews.leave(own);
  }, []);
  useEffect(
    () => previewsOf(store).want(wish.current!, steps, without, change),
    [JSON.stringify([steps, change]), nest]
  );
  const { value } = seen;
  return value?.step === text && value.of === nest ? value : null;
}
