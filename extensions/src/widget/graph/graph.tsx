// The computation graph of the model: one node per fused task, coloured by its share of the end-to-end time.

import { useCallback, useMemo } from 'preact/hooks';
import { Dag } from '../../shared/dag';
import type { DagNode } from '../../shared/daggraph';
import { milliseconds, percent } from '../../shared/format';
import { ShareLegend, shareStep } from '../../shared/sharebar';
import type { TaskRow } from '../../shared/types';
import { Blank } from '../../shared/blank';
import type { PanelProps } from '../panel';

const KINDS: Record<string, string> = { view: 'copies no data', input: 'input of the model', output: 'output of the model' };

function describe(node: DagNode, row: TaskRow | undefined): string {
  const cost = row ? [`${milliseconds(row.ms)} ms`, row.share == null ? '' : `${percent(row.share)} of the time`] : [];
  return [node.label, node.sub, KINDS[node.kind] ?? '', ...cost].filter(Boolean).join(', ');
}

function Cost({ node, row }: { node: DagNode; row: TaskRow | undefined }) {
  return (
    <>
      <div class="swb-readout-name swb-cut" title={row?.name ?? node.label}>{row?.name ?? node.label}</div>
      <div class="swb-readout-line">
        <span class="swb-faint" title={node.sub}>{node.sub}</span>
        {row?.ms != null && <span>{milliseconds(row.ms)} ms{row.weight > 1 ? ` ×${row.weight}` : ''}</span>}
        {row?.share != null && <b>{percent(row.share)}</b>}
        {!row && <span class="swb-faint">{KINDS[node.kind] ?? ''}</span>}
        {row && row.ms == null && <span class="swb-faint">not measured</span>}
      </div>
    </>
  );
}

/** Steps of the colour scale; the same map as long as no colour changes, since the drawing hangs on it. */
function useTones(nodes: readonly DagNode[], rows: ReadonlyMap<number, TaskRow>, top: number): ReadonlyMap<string, number> {
  const steps = nodes.map(node => shareStep(node.task == null ? null : rows.get(node.task)?.share, top));
  const key = steps.join('');
  return useMemo(() => new Map(nodes.map((node, i) => [node.id, steps[i] ?? 0])), [nodes, key]);
}

export function GraphPanel({ store }: PanelProps) {
  const graph = store.slice('graph').value;
  const tasks = store.slice('tasks').value;
  const open = store.slice('head').value?.task ?? null;
  const rows = useMemo(() => new Map(tasks?.rows.map(row => [row.id, row])), [tasks?.rows]);
  const top = Math.max(0, ...(tasks?.rows ?? []).map(row => row.share ?? 0));
  const nodes = graph?.nodes ?? [];
  const tones = useTones(nodes, rows, top);
  const current = useMemo(
    () => new Set(open == null ? [] : nodes.filter(node => node.task === open).map(node => node.id)), [nodes, open]
  );
  const rowOf = (node: DagNode): TaskRow | undefined => (node.task == null ? undefined : rows.get(node.task));
  const text = useCallback((node: DagNode) => `${node.label} ${node.sub} ${node.kind} ${rowOf(node)?.name ?? ''}`, [rows]);
  if (!graph || nodes.length === 0) {
    return <Blank title="No model is open">Pass a model to see its graph: <code>Workbench(load_onnx("model.onnx"))</code></Blank>;
  }
  return (
    <Dag
      graph={graph} title="Model" current={current} tones={tones}
      label={`Computation graph, ${nodes.length} nodes. Arrow keys follow the edges, Enter opens the task.`}
      legend={top > 0 ? <ShareLegend top={top} /> : <span class="swb-faint">no times yet</span>}
      words={node => describe(node, rowOf(node))} text={text} openable={node => node.task != null}
      readout={node => <Cost node={node} row={rowOf(node)} />}
      onOpen={node => store.act('open_task', { task: node.task })}
    />
  );
}
