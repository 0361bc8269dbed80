/** The tuning sessions of all kernels, as the server knows them: so they survive this page and their kernels. */
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import type { ErrorInfo } from '../../shared/types';
import { Told } from '../notebooks';
import { trans } from '../words';

const ADDRESS = 'schedule-workbench/sessions';

export interface TaskLine {
  readonly name: string;
  readonly ms: number | null;
  readonly trials: number;
  readonly state: string;
}
export interface Session {
  readonly id: string;
  readonly title: string;
  /** Files by their names on the server; empty where it does not give them out. */
  readonly notebook: string;
  readonly log: string;
  /** Whether it has a log, by which it is steered. */
  readonly steered: boolean;
  readonly state: string;
  readonly end: string;
  readonly trials: number;
  readonly total: number | null;
  readonly elapsed_s: number;
  readonly eta_s: number | null;
  readonly fraction: number;
  /** Seconds without a sign of life, where they are many. */
  readonly silent_s?: number;
  readonly ms: number | null;
  readonly spread: number | null;
  readonly untuned_ms: number | null;
  /** How fast it is beside what it was without tuning, or that no difference shows; empty where that is not known. */
  readonly change: string;
  /** After which trial the network was measured, in words; only where it was. */
  readonly at?: string;
  /** Of how many kernels the times are sums; 0 for the whole network, measured. */
  readonly kernels: number;
  readonly rows: readonly TaskLine[];
  readonly more: number;
}
export type Command = 'pause' | 'resume' | 'stop' | 'forget';

const OVER = ['done', 'cancelled', 'failed', 'lost'];
export const isOver = ({ state }: Session): boolean => OVER.includes(state);

async function request<T>(settings: ServerConnection.ISettings, init: RequestInit): Promise<T> {
  const answer = await ServerConnection.makeRequest(URLExt.join(settings.baseUrl, ADDRESS), init, settings);
  if (!answer.ok) {
    const hint = trans.__('Does `jupyter server extension list` on the server name workbench.server?');
    throw new Told(trans.__('The server does not tell of sessions (status %1).', answer.status), hint);
  }
  const found = (await answer.json()) as T & { error?: ErrorInfo };
  if (found.error) throw new Told(found.error.message + '.', found.error.hint ?? '');
  return found;
}

/** Those that run first, then those that have ended. */
export async function sessionsOf(settings: ServerConnection.ISettings): Promise<readonly Session[]> {
  const found = await request<{ sessions: Record<string, Omit<Session, 'id'>> }>(settings, {});
  const all = Object.entries(found.sessions).map(([id, one]) => ({ id, ...one }));
  return all.sort((a, b) => Number(isOver(a)) - Number(isOver(b)) || a.title.localeCompare(b.title));
}

export const steer = (settings: ServerConnection.ISettings, id: string, command: Command): Promise<unknown> =>
  request(settings, { method: 'POST', body: JSON.stringify({ id, command }) });
