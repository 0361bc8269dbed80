/** Reads a log over HTTP in time slices, and later only what was appended. */
import { ServerConnection } from '@jupyterlab/services';
import { parse } from './fields';
import { LogSummary } from './summary';

/** Longest piece of work without giving the page a turn. */
const SLICE_MS = 12;
/** Bytes before the place reached that are read again, to notice that another file stands there now. */
const OVERLAP = 256;
const NEWLINE = 10;
const KINDS: ReadonlySet<unknown> = new Set(['header', 'trial', 'comparison', 'round', 'command']);

export type Progress = (read: number) => void;

export class LogReader {
  log = new LogSummary();
  /** Text after the last newline that is no complete record: its writer was stopped, or is writing. */
  torn = '';
  /** Bytes taken so far; what is torn does not count. */
  offset = 0;
  /** Length of the file when it was last read. */
  size = 0;
  private tail = new Uint8Array(0);
  private carry: Uint8Array[] = [];
  private afterOpenLine = false;
  private sliceEnd = 0;

  constructor(private settings: ServerConnection.ISettings) {}

  /** Read what is new. A file that was shortened or replaced is read from its start. */
  async read(url: string, size: number, progress: Progress, signal: AbortSignal): Promise<void> {
    const from = this.offset - this.tail.length;
    if (size < this.offset || !(await this.readFrom(url, from, progress, signal))) {
      this.reset();
      await this.readFrom(url, 0, progress, signal);
    }
  }

  reset(): void {
    this.log = new LogSummary();
    this.torn = '';
    this.offset = this.size = 0;
    this.tail = new Uint8Array(0);
    this.carry = [];
    this.afterOpenLine = false;
  }

  /** False when the file no longer continues what was read before. */
  private async readFrom(url: string, from: number, progress: Progress, signal: AbortSignal): Promise<boolean> {
    const response = await this.request(url, from, signal);
    if (from > 0 && response.status !== 206) {
      await response.body?.cancel();
      return false; // a server without ranges sends the whole file, one that has less than `from` refuses
    }
    if (!response.ok) {
      throw new Error(`the server answered ${response.status} ${response.statusText}`);
    }
    if (!response.body) {
      throw new Error('the server sent no content');
    }
    const stream = response.body.getReader();
    let expected = this.tail;
    this.carry = [];
    this.sliceEnd = performance.now() + SLICE_MS;
    for (;;) {
      const { done, value } = await stream.read();
      if (done) {
        break;
      }
      const known = Math.min(expected.length, value.length);
      if (known && !same(expected.subarray(0, known), value.subarray(0, known))) {
        await stream.cancel();
        return false;
      }
      expected = expected.subarray(known);
      await this.take(value.subarray(known), signal);
      progress(this.offset);
    }
    if (expected.length) {
      return false;
    }
    this.finish();
    return true;
  }

  private request(url: string, from: number, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = from > 0 ? { Range: `bytes=${from}-` } : {};
    const init: RequestInit = { headers, cache: 'no-store', signal };
    // Files of other drives may lie elsewhere, where the server's token must not go.
    const own = new URL(url, location.href).href.startsWith(new URL(this.settings.baseUrl, location.href).href);
    return own ? ServerConnection.makeRequest(url, init, this.settings) : fetch(url, init);
  }

  private async take(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    if (this.afterOpenLine && bytes.length) {
      // The last line counted though it lacked its newline; here it comes.
      this.afterOpenLine = false;
      if (bytes[0] === NEWLINE) {
        this.advance(bytes.subarray(0, 1));
        bytes = bytes.subarray(1);
      }
    }
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end === 0) {
      this.carry.push(bytes);
      return;
    }
    const block = join([...this.carry, bytes.subarray(0, end)]);
    this.carry = end < bytes.length ? [bytes.subarray(end)] : [];
    const lines = decode(block).split('\n');
    lines.pop();
    for (const line of lines) {
      this.log.add(line);
      if (performance.now() > this.sliceEnd) {
        await turn();
        signal.throwIfAborted();
        this.sliceEnd = performance.now() + SLICE_MS;
      }
    }
    this.advance(block);
  }

  private finish(): void {
    const rest = join(this.carry);
    this.carry = [];
    this.torn = decode(rest);
    this.size = this.offset + rest.length;
    if (KINDS.has(parse(this.torn)?.kind)) {
      this.log.add(this.torn); // lacks only its newline
      this.torn = '';
      this.afterOpenLine = true;
      this.advance(rest);
    }
  }

  private advance(bytes: Uint8Array): void {
    this.offset += bytes.length;
    this.tail = bytes.length >= OVERLAP ? bytes.slice(-OVERLAP) : join([this.tail, bytes]).slice(-OVERLAP);
  }
}

function join(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.every((value, i) => value === b[i]);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** Let the page handle what waits; unlike a timer this is not delayed. */
function turn(): Promise<void> {
  return new Promise(resolve => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}
