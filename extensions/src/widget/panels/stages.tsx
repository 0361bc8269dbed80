// The stages of the open task: one node per block of its function, an edge where one reads what the other writes.

import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { Button } from '../elements/controls';
import { Dag } from '../dag/dag';
import type { DagNode } from '../dag/graph';
import { Blank } from '../elements/blank';
import type { Panel, PanelProps } from '../panel';

const KINDS: Record<string, string> = { input: 'input', output: 'output', view: 'view' };
const NO_TONES: ReadonlyMap<string, number> = new Map();

const text = (node: DagNode): string => `${node.label} ${node.sub}`;

function Stage({ node }: { node: DagNode }) {
  return (
    <>
      <div class="swb-readout-name swb-mono swb-cut" title={node.label}>
        {node.label}
      </div>
      <div class="swb-readout-line">
        <span class="swb-faint" title={node.sub}>
          {node.sub}
        </span>
        <span class="swb-faint">{KINDS[node.kind] ?? ''}</span>
      </div>
    </>
  );
}

/** Where there is one statement alone there is little to see: the drawing is folded away, and small. */
function View({ store, model }: PanelProps) {
  const unfolded = useSignal(false);
  const stages = store.see('stages');
  const selected = store.selected.value;
  const nest = store.see('nest');
  const nodes = stages?.nodes ?? [];
  const current = useMemo(() => {
    // A loop of a block is selected far more often than the block itself: outline the block that holds it.
    const block = nest?.rows.find(row => row.id === selected)?.block ?? selected;
    return new Set(nodes.filter(node => node.id === block).map(node => node.id));
  }, [nodes, nest?.rows, selected]);
  if (!stages || nodes.length === 0) {
    return <Blank title="No task is open">Open a task in the table or in the graph to see its stages.</Blank>;
  }
  const drawing = (
    <Dag
      graph={stages}
      title="Stages"
      mono
      current={current}
      tones={NO_TONES}
      label={`Stages of the task, ${nodes.length} blocks and buffers. Arrow keys follow the edges, Enter selects, M then moves a block into a loop.`}
      legend={<span class="swb-faint">{nodes.length === 1 ? '1 block' : `${nodes.length} nodes`}</span>}
      words={node => [node.label, node.sub, KINDS[node.kind] ?? ''].filter(Boolean).join(', ')}
      text={text}
      openable={() => true}
      readout={node => <Stage node={node} />}
      onOpen={node => store.select(node.id)}
    />
  );
  const blocks = nodes.filter(node => !(node.kind in KINDS)).length;
  if (blocks > 1 || model.get('panel') === 'stages') return drawing;
  return (
    <div class="swb-few">
      <Button
        class="swb-link is-quiet"
        aria-expanded={unfolded.value}
        data-swb-do="stages"
        onPress={() => {
          unfolded.value = !unfolded.value;
        }}
      >
        {unfolded.value ? '▼' : '►'} Stages: one statement
      </Button>
      {unfolded.value && drawing}
    </div>
  );
}

export default { name: 'stages', title: 'Stages', at: ['drawing'], View } satisfies Panel;
