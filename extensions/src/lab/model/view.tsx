/** The page of a model without a kernel: its graph, and beside it what was chosen in it. */
import { useMemo } from 'preact/hooks';
import { Trouble } from '../../explorer/paste';
import { bytes, count } from '../../shared/format';
import type { ErrorInfo, Theme } from '../../shared/types';
import { Dag } from '../../widget/dag/dag';
import { fromColumns, type DagNode } from '../../widget/dag/graph';
import { shareStep } from '../../widget/elements/share-bar';
import { trans } from '../words';
import { ModelDetails, NodeDetails } from './details';
import type { Contents, Rows } from './reading';

export interface ModelState {
  readonly name: string;
  readonly contents: Contents | null;
  readonly rows: Rows;
  readonly error: ErrorInfo | null;
  /** The node that was chosen; empty for the model. */
  readonly chosen: string;
  /** Whether the form is open that makes a notebook. */
  readonly tuning: boolean;
}
export interface Actions {
  readonly choose: (node: string) => void;
  /** Open a frame of the drawing, or close it. */
  readonly toggle: (frame: string) => void;
  readonly tune: () => void;
  readonly again: () => void;
}

const isOp = ({ kind }: DagNode): boolean => kind === 'op' || kind === 'view';

const nodes = (n: number): string => trans._n('%2 node', '%2 nodes', n, count(n));

const words = (node: DagNode): string =>
  node.kind === 'frame'
    ? trans.__('%1, %2, repeated %3 times', node.label, nodes(node.count!), node.times!)
    : [node.label, node.sub, isOp(node) ? node.id : node.kind].filter(Boolean).join(', ');

/** The name of a node, and how large its weights are. */
const Readout = ({ node }: { node: DagNode }) => (
  <>
    <div class="swb-readout-name swb-cut">
      {node.kind === 'frame' ? `${node.label} ${node.sub}` : isOp(node) ? node.id : node.label}
    </div>
    <div class="swb-readout-line">
      <span class="swb-faint swb-cut">{node.kind === 'frame' ? nodes(node.count!) : node.sub}</span>
      {!!node.bytes && <span title={trans.__('Bytes of the weights that it reads')}>{bytes(node.bytes)}</span>}
    </div>
  </>
);

function Drawing({ contents, chosen, actions }: { contents: Contents; chosen: string; actions: Actions }) {
  const graph = useMemo(() => fromColumns(contents.drawing), [contents]);
  const tones = useMemo(() => {
    const top = Math.max(...graph.nodes.map(node => node.bytes ?? 0), 1);
    return new Map(graph.nodes.map(node => [node.id, node.bytes ? shareStep(node.bytes, top) : 0]));
  }, [graph]);
  const current = useMemo(() => new Set(chosen ? [chosen] : []), [chosen]);
  const frameOf = (node: DagNode): string => (node.kind === 'frame' ? node.id : (node.frame ?? ''));
  return (
    <Dag
      graph={graph}
      title={trans.__('Graph')}
      legend={<span class="swb-faint">{trans.__('coloured by the size of the weights')}</span>}
      current={current}
      tones={tones}
      label={trans.__(
        'Graph of the model, %1 nodes. Arrow keys follow the edges, Enter shows a node or opens a frame, Escape folds.',
        graph.nodes.length
      )}
      words={words}
      text={node => `${node.label} ${node.sub} ${node.id} ${node.likes ?? ''}`}
      openable={node => node.kind === 'frame' || node.id in contents.nodes}
      readout={node => <Readout node={node} />}
      onOpen={node => (node.kind === 'frame' ? actions.toggle(node.id) : actions.choose(node.id))}
      onFind={node => node.id in contents.nodes && actions.choose(node.id)}
      onClose={node => {
        const frame = graph.nodes.find(one => one.id === frameOf(node));
        if (frame?.open) actions.toggle(frame.id);
        return frame?.open ? frame.id : '';
      }}
    />
  );
}

function Bar({ state, actions }: { state: ModelState; actions: Actions }) {
  const { about } = state.contents ?? {};
  return (
    <div class="swbl-bar swbl-model-bar">
      <b class="swbl-cut">{state.name}</b>
      <span class="swbl-quiet swbl-cut">
        {about && trans.__('%1 nodes, %2 parameters, opset %3', about.Nodes, about.Parameters, about.Opset)}
      </span>
      <button class="jp-mod-styled jp-mod-reject" onClick={actions.again}>
        {trans.__('Read again')}
      </button>
      <button
        class="jp-mod-styled jp-mod-accept"
        aria-expanded={state.tuning}
        title={trans.__('Starts a kernel, asks for the shapes, and makes a notebook with the workbench')}
        onClick={actions.tune}
      >
        {trans.__('Tune')}
      </button>
    </div>
  );
}

export function ModelPage({ state, theme, actions }: { state: ModelState; theme: Theme; actions: Actions }) {
  const { contents, error, chosen, rows } = state;
  const node = contents?.nodes[chosen];
  return (
    <div class="swb swbl-model" data-swb-theme={theme}>
      <Bar state={state} actions={actions} />
      {error && <Trouble error={error} />}
      {!contents && !error && <p role="status">{trans.__('Reading the model…')}</p>}
      {contents && (
        <div class="swbl-model-parts">
          <Drawing contents={contents} chosen={node ? chosen : ''} actions={actions} />
          <aside class="swbl-details" tabIndex={0} aria-label={node ? trans.__('Node %1', chosen) : trans.__('Model')}>
            {node && (
              <button class="swbl-button" onClick={() => actions.choose('')}>
                {trans.__('The whole model')}
              </button>
            )}
            {node ? (
              <NodeDetails name={chosen} node={node} contents={contents} rows={rows} />
            ) : (
              <ModelDetails contents={contents} rows={rows} />
            )}
          </aside>
        </div>
      )}
    </div>
  );
}
