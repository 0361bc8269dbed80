// All numbers that a reader sees are printed here, so that two places never print one number in two ways.

export const UNKNOWN = '–';
const THIN = '\u202f';
const NBSP = '\u00a0';
const MINUS = '\u2212';

type Maybe = number | null | undefined;
const known = (value: Maybe): value is number => value != null && Number.isFinite(value);

const thousands = (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, THIN);

/** Three significant digits without an exponent; whole numbers from 100 on. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return thousands(value);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return size === 0 ? '0' : value.toFixed(Math.min(9, 2 - Math.floor(Math.log10(size))));
}

/** A time in milliseconds, without its unit. */
export const milliseconds = (value: Maybe): string => (known(value) ? digits(value) : UNKNOWN);

/** A time in milliseconds as microseconds, without their unit. */
export const micro = (ms: Maybe): string => milliseconds(known(ms) ? 1000 * ms : ms);

/**
 * The spread of a time as ± milliseconds, with as many decimals as the time itself. It arrives as the distance of the
 * quartiles relative to the median; half of it lies on either side. Of one time alone there is none.
 */
export function spread(relative: Maybe, ms: Maybe): string {
  if (!known(ms)) return '';
  if (!known(relative)) return 'timed once';
  const decimals = digits(ms).split('.')[1]?.length ?? 0;
  const text = ((ms * relative) / 2).toFixed(decimals);
  return `± ${Number(text) === 0 && relative > 0 ? `<${(10 ** -decimals).toFixed(decimals)}` : text}`;
}

interface Timed {
  readonly ms: number | null;
  readonly spread?: number | null;
  readonly doubt?: { readonly ms: string } | null;
}

/** A time that was measured, in milliseconds without its unit: of one that was disturbed, what is known of it. */
export const measured = ({ ms, doubt }: Timed): string => doubt?.ms ?? milliseconds(ms);

/** Its spread; what was disturbed has none. */
export const spreadOf = (row: Timed): string => (row.doubt ? '' : spread(row.spread, row.ms));

/** A number of things: whole ones exactly, others with three digits. */
export const count = (value: Maybe): string =>
  !known(value) ? UNKNOWN : Number.isInteger(value) ? thousands(value) : digits(value);

const scaled = (value: number, base: number, units: readonly string[]): string => {
  let power = 0;
  while (Math.abs(value) >= base * 0.9995 && power < units.length - 1) {
    value /= base;
    power++;
  }
  return `${power === 0 ? thousands(value) : digits(value)}${units[power] ? NBSP + units[power] : ''}`;
};

/** A large count in short: 1 344, 258 k, 3.61 M. */
export const compact = (value: Maybe): string =>
  !known(value) ? UNKNOWN : Math.abs(value) < 1e4 ? count(value) : scaled(value, 1000, ['', 'k', 'M', 'G', 'T', 'P']);

/** An amount of memory in units of 1024. */
export const bytes = (value: Maybe): string =>
  known(value) ? scaled(value, 1024, ['B', 'KB', 'MB', 'GB', 'TB']) : UNKNOWN;

/** The size of a cache: without decimals that say nothing. */
export const capacity = (value: Maybe): string => bytes(value).replace(/\.0+(?=\D)/, '');

export const flop = (value: Maybe): string =>
  known(value) ? scaled(value, 1000, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP']) : UNKNOWN;

/** A share of one, 0.151 as 15.1 %. */
export function percent(share: Maybe): string {
  if (!known(share)) return UNKNOWN;
  return share > 0 && share < 0.0005
    ? `<${NBSP}0.1${NBSP}%`
    : `${(100 * share).toFixed(share >= 0.9995 ? 0 : 1)}${NBSP}%`;
}

/** A relative error; from 1e300 on it is of what is no number in one of the two. */
export const errorOf = (error: Maybe): string => (known(error) && error >= 1e300 ? '∞' : percent(error));

/** How many times, as `workbench/runtime/results/comparison_words.py` writes it. */
/** How many times: as many digits as mean something. */
export const factor = (n: number): string => (n < 1.1 ? n.toFixed(3) : n.toFixed(n < 9.995 ? 2 : n < 99.95 ? 1 : 0));

/** From one time to another: how many times as fast, or slower. */
export function times(before: number, after: number): string {
  const n = before / after;
  return !(n > 0) || !Number.isFinite(n) ? '' : Math.abs(n - 1) < 0.01 ? 'the same' : ratio(n);
}

const ratio = (n: number): string => (n < 0.9995 ? `${factor(1 / n)}× slower` : `${factor(Math.max(1, n))}× as fast`);

/** As `change` of `workbench/log/ledger/network.py`: no ratio of two times that are not further apart than their ±. */
export function change(before: number, after: number, spreads: readonly Maybe[]): string {
  const [low, high] = spreads.map(one => one ?? 0.1);
  const shaky = Math.max(low!, high!) >= 0.3 && Math.max(before, after) < 3 * Math.min(before, after);
  return shaky || Math.abs(after - before) <= (before * low! + after * high!) / 2
    ? 'no difference shows'
    : ratio(before / after);
}

/** How sure a comparison is; the tuner believes what it is 99 % sure of. */
export const sureness = (confidence: number): string =>
  confidence >= 0.99 ? 'sure' : `${(Math.floor(1000 * confidence) / 10).toFixed(1)}${NBSP}% sure`;

export function signedPercent(change: Maybe): string {
  if (!known(change)) return UNKNOWN;
  const text = Math.abs(100 * change).toFixed(1);
  return text === '0.0' ? '0' : `${change < 0 ? MINUS : '+'}${text}${NBSP}%`;
}

export function duration(seconds: Maybe): string {
  if (!known(seconds)) return UNKNOWN;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return whole < 3600 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;
