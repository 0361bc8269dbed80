/** Numbers as the viewer prints them: those of the widget, and what only a log has. */
import { UNKNOWN, count } from '../../shared/format';

export { outcome } from '../../shared/outcome';
export { UNKNOWN, bytes, count, duration, milliseconds as ms, percent, plural } from '../../shared/format';

export function gflops(flops: number | null, latency: number | null): string {
  return flops && latency !== null ? count(flops / (latency * 1e6)) : UNKNOWN;
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
