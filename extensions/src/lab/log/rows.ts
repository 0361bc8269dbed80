/** Trials in short, as logs have them from version 2 on: what several share stands in lines before them. */
import { list, number, text, type Fields } from './fields';

/** Short names of a trial's fields, as in `workbench/log/rows.py`. */
const SHORT: Record<string, string> = {
  n: 'trial',
  e: 'elapsed_s',
  ms: 'latency_ms',
  st: 'status',
  o: 'origin',
  p: 'predicted',
  sp: 'spread',
  c: 'compile_s',
  x: 'run_s',
  err: 'max_rel_error',
  pa: 'parent',
  mu: 'mutation'
};
/** Parts of a second in `at`. */
const TICKS = 10_000;
/** What a shared line has for itself. */
const OWN = ['id', 'of', 'first', 'steps'];
/** What a trial is made of and has no field for. */
const HELPERS = ['of', 'since', 'holes', 'places', 'v', 'at'];
/** Fields of a shared line at most, as in Python. */
const MOST_FIELDS = 100;

export class Rows {
  private readonly shared = new Map<number, Fields>();
  private readonly steps = new Map<number, unknown>();

  static isRow(data: Fields): boolean {
    return 'of' in data && 'n' in data && !('kind' in data);
  }

  static isShared(data: Fields): boolean {
    return 'id' in data && !['n', 'kind', 'trial'].some(name => name in data);
  }

  /** Take what rows refer to; false for what cannot be used. */
  declare(data: Fields): boolean {
    const merged = this.together(list(data.of));
    const [id, first] = [number(data.id), number(data.first) ?? 0];
    if (merged === null || id === null) {
      return false;
    }
    list(data.steps).forEach((step, k) => this.steps.set(first + k, step));
    for (const [name, value] of Object.entries(data)) {
      if (!OWN.includes(name)) {
        put(merged, name, value);
      }
    }
    if (Object.keys(merged).length > MOST_FIELDS) {
      return false;
    }
    this.shared.set(id, merged);
    return true;
  }

  /** The trial that a row means, with the names of a whole one; null for what cannot be used. */
  trial(data: Fields): Fields | null {
    const out = this.together(list(data.of));
    if (out === null) {
      return null;
    }
    const { holes, places, trace, since } = out;
    const [numbers, ticks] = [list(data.v), number(since)];
    out.status ??= 'ok';
    out.trace = this.filled(list(trace), numbers);
    for (const [name, value] of Object.entries(data)) {
      put(out, SHORT[name] ?? name, value);
    }
    const values = Array.isArray(data.row) ? (data.row as unknown[]) : list(places).map(at => numbers[Number(at)]);
    if (typeof data.row !== 'object' || Array.isArray(data.row)) {
      out.row = Object.fromEntries(list(holes).map((hole, k) => [text(hole), values[k]]));
    }
    if (ticks !== null && data.timestamp === undefined) {
      const elapsed = Math.round((number(out.elapsed_s) ?? 0) * TICKS);
      out.timestamp = (ticks + elapsed + (number(data.at) ?? 0)) / TICKS || undefined;
    }
    HELPERS.forEach(name => delete out[name]); // equal trials are equal, whatever stood before them
    return out;
  }

  private together(of: unknown[]): Fields | null {
    const out = Object.create(null) as Fields; // whatever its fields are called
    for (const id of of) {
      const found = this.shared.get(Number(id));
      if (!found) {
        return null;
      }
      Object.assign(out, found);
    }
    return out;
  }

  /** The primitives by their numbers, with the trial's numbers where theirs are. */
  private filled(trace: unknown[], numbers: unknown[]): unknown[] {
    let next = 0;
    const fill = (value: unknown): unknown => {
      if (typeof value === 'number') {
        return numbers[next++];
      }
      if (Array.isArray(value)) {
        return value.map(fill);
      }
      return typeof value === 'object' && value !== null
        ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fill(inner)]))
        : value;
    };
    return trace.map(number => {
      const step = fill(this.steps.get(Number(number)));
      return Array.isArray(step) ? { primitive: step[0] as unknown, args: step[1] as unknown } : step;
    });
  }
}

function put(out: Fields, name: string, value: unknown): void {
  if (value !== null) {
    out[name] = value;
  }
}
