/** What the server says of a model: lines of JSON, the graph first, then the statistics of the weights. */
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import type { ErrorInfo, GraphColumns } from '../../shared/types';
import { reason } from '../notebooks';
import { trans } from '../words';

const ADDRESS = 'schedule-workbench/model';

export interface FileNode {
  readonly op: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}
/** A model as its file has it; `weights` are bytes by name. */
export interface Contents {
  readonly drawing: GraphColumns;
  readonly nodes: Readonly<Record<string, FileNode>>;
  readonly types: Readonly<Record<string, string>>;
  readonly about: Readonly<Record<string, string>>;
  readonly weights: Readonly<Record<string, number>>;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}
/** Of a weight: its few values, or what is to be known of many; `why` it cannot be read. */
export interface Statistics {
  readonly values?: string;
  readonly why?: string;
  readonly min?: number;
  readonly max?: number;
  readonly mean?: number;
  readonly std?: number;
  /** Share of zeros, and elements that are not finite. */
  readonly zeros?: number;
  readonly odd?: number;
  readonly bars?: readonly number[];
}
export type Rows = Readonly<Record<string, Statistics>>;
type Said =
  | ({ readonly t: 'graph' } & Contents)
  | { readonly t: 'weights'; readonly rows: Rows }
  | { readonly t: 'error'; readonly error: ErrorInfo };

export interface Listener {
  graph(contents: Contents): void;
  weights(rows: Rows): void;
  /** Nothing comes after it. */
  failed(error: ErrorInfo): void;
}

const gone = (why: string): ErrorInfo => ({
  code: 'model.server',
  message: trans.__('The server does not read this model: %1', why),
  where: [],
  hint: trans.__(
    'is it running, and does `jupyter server extension list` there name workbench.server? Tune reads the model with a kernel'
  )
});

const request = (settings: ServerConnection.ISettings, query: URLSearchParams, signal?: AbortSignal) =>
  ServerConnection.makeRequest(`${URLExt.join(settings.baseUrl, ADDRESS)}?${query}`, { signal }, settings);

/** Let the server get ready: a model is likely to be opened. */
export const prepare = (settings: ServerConnection.ISettings): void =>
  void request(settings, new URLSearchParams()).catch(() => undefined); // the answer to a model says what is wrong

/** Read a model; `expanded` are the open frames of its drawing. */
export async function readModel(
  settings: ServerConnection.ISettings,
  of: {
    readonly path: string;
    readonly expanded: readonly string[];
    readonly statistics: boolean;
    readonly mostNodes: number | null;
  },
  listener: Listener,
  signal: AbortSignal
): Promise<void> {
  const query = new URLSearchParams({ path: of.path, statistics: of.statistics ? '1' : '0' });
  if (of.mostNodes !== null) query.set('most', String(of.mostNodes));
  for (const one of of.expanded) query.append('expanded', one);
  let answered = false;
  const hear = (line: string): void => {
    const said = JSON.parse(line) as Said;
    answered ||= said.t !== 'weights';
    if (said.t === 'graph') listener.graph(said);
    else if (said.t === 'weights') listener.weights(said.rows);
    else listener.failed(said.error);
  };
  try {
    const answer = await request(settings, query, signal);
    if (!answer.ok || !answer.body) throw new Error(trans.__('status %1', answer.status));
    let rest = '';
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split('\n');
      rest = lines.pop()!;
      lines.filter(Boolean).forEach(hear);
    }
    if (!answered) throw new Error(trans.__('its answer is empty'));
  } catch (error) {
    if (!signal.aborted) listener.failed(gone(reason(error)));
  }
}
