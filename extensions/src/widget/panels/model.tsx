// The computation graph of the model: one node per kernel, repeated blocks once; its operators; what the passes did
// to it.

import { useSignal, type Signal } from '@preact/signals';
import { useCallback, useLayoutEffect, useMemo } from 'preact/hooks';
import { Button } from '../elements/controls';
import { Blank } from '../elements/blank';
import { Dag } from '../dag/dag';
import { fromColumns, type DagNode } from '../dag/graph';
import { bytes, milliseconds, percent, plural } from '../../shared/format';
import type { PassesAnswer, Side, TaskRow } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import type { Store } from '../kernel/store';
import { useAnswer, type Asked } from '../kernel/answers';
import { Colours, errorWords, MEASURED, Scale, useTones, type Errors, type Mode } from '../graph/colours';
import { Passes, Sides } from '../graph/passes';

const KINDS: Record<string, string> = {
  view: 'copies no data',
  input: 'input of the model',
  output: 'output of the model',
  host: 'cannot be tuned',
  op: 'operator'
};
const NOTHING = { nodes: [], edges: [], width: 0, height: 0 };

type Show = 'kernels' | 'nodes' | 'passes';

/** Where one looks: the level, the frames that are open, the pass and its side. */
function useLook(store: Store) {
  const about = store.see('graph');
  const key = about?.key ?? '';
  const show = useSignal<Show>('kernels');
  const expanded = useSignal<readonly string[]>([]);
  const picked = useSignal<number | null>(null);
  const side = useSignal<Side>('before');
  useLayoutEffect(() => {
    // Frames and passes of another model are none of this one.
    expanded.value = [];
    picked.value = null;
  }, [key]);
  const passes = useAnswer(store, key, 'passes', show.value === 'passes' ? {} : null);
  const all = passes.value?.passes ?? [];
  const pass =
    picked.value ??
    Math.max(
      0,
      all.findIndex(p => p.removed + p.added + p.changed > 0)
    );
  const level = show.value === 'nodes' ? 'nodes' : 'kernels';
  const where = show.value === 'passes' ? { pass, side: side.value } : {};
  const waits = show.value === 'passes' && all.length === 0;
  const drawing = useAnswer(store, key, 'graph', waits ? null : { level, expanded: expanded.value, ...where });
  const toggle = (id: string): void => {
    const now = expanded.value;
    expanded.value = now.includes(id) ? now.filter(one => one !== id) : [...now, id].sort();
  };
  return { about, show, expanded, picked, side, passes, pass, drawing, toggle };
}
type Look = ReturnType<typeof useLook>;

function describe(node: DagNode, row: TaskRow | undefined, errors: Errors): string {
  if (node.kind === 'frame') {
    const times = node.times! > 1 ? `repeated ${node.times} times` : '';
    return [node.label, plural(node.count!, 'node'), times].filter(Boolean).join(', ');
  }
  const cost = row ? [`${milliseconds(row.ms)} ms`, row.share == null ? '' : `${percent(row.share)} of the time`] : [];
  return [node.label, node.sub, KINDS[node.kind] ?? '', node.reason ?? '', ...cost, ...errorWords(node, errors)]
    .filter(Boolean)
    .join(', ');
}

interface CostProps {
  node: DagNode;
  row: TaskRow | undefined;
  errors: Errors;
  onToggle: (id: string) => void;
}

/** What a node costs, and a button that shows what is inside. */
function Cost({ node, row, errors, onToggle }: CostProps) {
  const frame = node.kind === 'frame';
  const inside = frame
    ? node.open
      ? 'Fold'
      : `Show all ${node.times}`
    : (node.ops ?? 1) > 1
      ? `${node.ops} operators`
      : '';
  const name = frame ? `${node.label} ${node.sub}` : (row?.name ?? node.label);
  return (
    <>
      <div class="swb-readout-name swb-cut" title={name}>
        {name}
      </div>
      <div class="swb-readout-line">
        <span class="swb-faint swb-cut" title={node.reason || node.sub}>
          {node.reason || (frame ? plural(node.count!, 'node') : node.sub)}
        </span>
        {row?.ms != null && (
          <span>
            {milliseconds(row.ms)} ms{row.weight > 1 ? ` ×${row.weight}` : ''}
          </span>
        )}
        {row?.share != null && <b>{percent(row.share)}</b>}
        {node.dtype && <span title="Element type that it computes in">{node.dtype}</span>}
        {errorWords(node, errors).map(text => (
          <span title="Against float32, or measured inside the network">{text}</span>
        ))}
        {!!node.bytes && (
          <span class="swb-readout-bytes" title="Bytes that one run has to move at least">
            {bytes(node.bytes)}
          </span>
        )}
        {!row && <span class="swb-faint">{KINDS[node.kind] ?? ''}</span>}
        {row && row.ms == null && <span class="swb-faint">not measured</span>}
        {inside && (
          <Button class="swb-link" title={inside} onPress={() => onToggle(frame ? node.id : `kernel:${node.id}`)}>
            {inside}
          </Button>
        )}
      </div>
    </>
  );
}

const NoModel = () => (
  <Blank title="No model is open">
    Pass a model to see its graph: <code>Workbench(load_onnx("model.onnx"))</code>
  </Blank>
);

/** Why there is no drawing. */
function Missing({ drawing, passes }: { drawing: Asked<unknown>; passes: Asked<PassesAnswer> }) {
  const error = drawing.error ?? passes.error;
  if (error) {
    return (
      <div class="swb-missing">
        <p>
          {error.message} {error.hint}
        </p>
        <Button
          onPress={() => {
            drawing.again();
            passes.again();
          }}
        >
          Try again
        </Button>
      </div>
    );
  }
  return (
    <p class="swb-missing" role="status">
      {passes.value?.why || 'Drawing the model…'}
    </p>
  );
}

/** Which rows of the table the nodes are, how they are coloured, and which of them are open. */
function useNodes(store: Store, nodes: readonly DagNode[], mode: Mode) {
  const tasks = store.see('tasks');
  const open = store.see('head')?.task ?? null;
  const rows = useMemo(() => new Map(tasks?.rows.map(row => [row.id, row])), [tasks?.rows]);
  const off = store.see('precision')?.answer?.nodes;
  const took = store.see('timeline')?.nodes;
  const errors = useMemo(() => ({ ...off, ...(took && { [MEASURED]: took }) }), [off, took]);
  const [tones, top] = useTones(nodes, rows, mode, errors);
  const current = useMemo(
    () =>
      new Set(open == null ? [] : nodes.filter(node => node.task === open && node.kind !== 'op').map(node => node.id)),
    [nodes, open]
  );
  const rowOf = (node: DagNode): TaskRow | undefined => (node.task == null ? undefined : rows.get(node.task));
  const text = useCallback(
    (node: DagNode) =>
      `${node.label} ${node.sub} ${node.kind} ${node.id} ${node.likes ?? ''} ${rowOf(node)?.name ?? ''}`,
    [rows]
  );
  return { tones, top, current, errors, rowOf, text };
}

/** What Enter and Escape do on a node. */
function steps(store: Store, { show, toggle }: Look, nodes: readonly DagNode[]) {
  const fixed = (node: DagNode): boolean => show.value === 'nodes' && node.times === 1; // its kernel is never whole
  const enter = (node: DagNode, deep: boolean): void => {
    if (node.kind === 'frame' && !fixed(node)) toggle(node.id);
    else if (deep && (node.ops ?? 1) > 1) toggle(`kernel:${node.id}`);
    else if (node.task != null) store.act('open_task', { task: node.task });
  };
  const close = (node: DagNode): string => {
    const frame = node.kind === 'frame' ? node : nodes.find(one => one.id === node.frame);
    if (!frame?.open || fixed(frame)) return '';
    toggle(frame.id);
    return frame.id;
  };
  return { enter, close };
}

/** What is shown, and by what it is coloured or on which side of a pass one looks. */
function Choices({ look: { show, side }, mode }: { look: Look; mode: Signal<Mode> }) {
  return (
    <>
      <select
        aria-label="What is shown"
        title="What is shown"
        value={show.value}
        onChange={event => {
          show.value = event.currentTarget.value as Show;
        }}
      >
        <option value="kernels">kernels</option>
        <option value="nodes">operators</option>
        <option value="passes">passes</option>
      </select>
      {show.value === 'passes' ? (
        <Sides
          side={side.value}
          onSide={one => {
            side.value = one;
          }}
        />
      ) : (
        <Colours mode={mode} />
      )}
    </>
  );
}

function View({ store }: PanelProps) {
  const look = useLook(store);
  const mode = useSignal<Mode>('share');
  const columns = look.drawing.value;
  const graph = useMemo(() => (columns ? fromColumns(columns) : NOTHING), [columns]);
  const { nodes } = graph;
  const { tones, top, current, errors, rowOf, text } = useNodes(store, nodes, mode.value);
  if (!look.about) return <NoModel />;
  const { enter, close } = steps(store, look, nodes);
  const inPasses = look.show.value === 'passes';
  const passes = look.passes.value;
  const missing = !columns || look.drawing.error || (inPasses && passes?.why);
  return (
    <Dag
      graph={graph}
      title="Model"
      current={current}
      tones={tones}
      label={`Computation graph, ${nodes.length} nodes. Arrow keys follow the edges, Enter opens the task or the frame, Shift+Enter the operators, Escape folds.`}
      legend={<Choices look={look} mode={mode} />}
      corner={!inPasses && columns && <Scale mode={mode.value} top={top} />}
      words={node => describe(node, rowOf(node), errors)}
      text={text}
      openable={node => node.task != null || node.kind === 'frame'}
      readout={node => <Cost node={node} row={rowOf(node)} errors={errors} onToggle={look.toggle} />}
      onOpen={enter}
      onClose={close}
    >
      {inPasses && passes && passes.passes.length > 0 && (
        <Passes
          answer={passes}
          at={look.pass}
          onPick={at => {
            look.picked.value = at;
          }}
        />
      )}
      {missing && <Missing drawing={look.drawing} passes={look.passes} />}
    </Dag>
  );
}

export default { name: 'graph', title: 'Model', at: ['drawing'], View } satisfies Panel;
