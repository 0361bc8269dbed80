/** Fields of a line as they are: a log may have been written by another version, or by hand. */

export type Fields = Record<string, unknown>;

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

export function numbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'number');
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** States of the caches that go before all others, as in `workbench/log/record.py`. */
const CONDITIONS = ['constants in memory', 'constants shared', 'flushed'];

/**
 * What tells what a trial timed from other things of its task: a trial that does not say its program stands for
 * itself.
 */
export function identity({ key, variant, row, trace, trial, target, host, caches }: Fields): string {
  const name = text(key);
  const open = !name || name.startsWith('default:');
  const told = [row, trace].some(one => one && Object.keys(one).length > 0);
  const program = !open ? name : name || told ? hash(JSON.stringify([key, variant, row, trace])) : trial;
  return JSON.stringify([program, target, host ?? '', warmth(text(caches))]);
}

/** Short, as there are many. */
function hash(all: string): number {
  let found = 0;
  for (let i = 0; i < all.length; i++) {
    found = (Math.imul(found, 31) + all.charCodeAt(i)) | 0;
  }
  return found + 0.5; // no number of a trial
}

export function warmth(caches: string): number {
  const at = CONDITIONS.indexOf(caches);
  return at < 0 ? CONDITIONS.length : at;
}
