/** Numbers as the viewer prints them. */

export const UNKNOWN = '–';

/** Three significant digits, four from one millisecond on. */
export function ms(value: number | null): string {
  if (value === null) {
    return UNKNOWN;
  }
  return value >= 1000 ? count(Math.round(value)) : value.toPrecision(value >= 1 ? 4 : 3);
}

export function gflops(flops: number | null, latency: number | null): string {
  if (!flops || latency === null) {
    return UNKNOWN;
  }
  const speed = flops / (latency * 1e6);
  return speed >= 100 ? count(Math.round(speed)) : speed.toPrecision(3);
}

/** Thousands apart, with a narrow space. */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

export function bytes(value: number): string {
  return value < 1e6 ? `${Math.ceil(value / 1e3)} KB` : `${(value / 1e6).toFixed(value < 1e7 ? 1 : 0)} MB`;
}

export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 120) {
    return `${whole} s`;
  }
  const minutes = Math.floor(whole / 60);
  return whole < 7200 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function clock(date: Date): string {
  return date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
}

export function day(seconds: number): string {
  const date = new Date(1000 * seconds);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** What a target's text says to a reader: architecture, processor, threads. */
export function target(text: string): string {
  const find = (name: string): string => new RegExp(`-${name}=(\\S+)`).exec(text)?.[1] ?? '';
  const threads = find('threads');
  const words = [
    find('mtriple').split('-')[0],
    find('mcpu'),
    threads && `${threads} ${threads === '1' ? 'thread' : 'threads'}`
  ].filter(word => word);
  return words.length ? words.join(' · ') : text;
}

const STATUS: Record<string, string> = {
  ok: 'ok',
  build_error: 'not built',
  run_error: 'run error',
  wrong_answer: 'wrong answer',
  timeout: 'timeout',
  cancelled: 'cancelled',
  'no time': 'without a time'
};

export function status(name: string): string {
  return STATUS[name] ?? name;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
