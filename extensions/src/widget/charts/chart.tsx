// The charts of a tuning run, and those of the variants under the machine's roofs: one figure, switched.

import { useSignal } from '@preact/signals';
import { Button } from '../../shared/a11y';
import { count, milliseconds } from '../../shared/format';
import type { ChartName } from '../../shared/types';
import type { PanelProps } from '../panel';
import { Figure, isLive } from './figure';

const NO_TRIALS = ['No trials yet', 'Start a tuning run to see how the best time falls over the trials.'] as const;

function TuningCharts(props: PanelProps) {
  const { store } = props;
  const tuning = store.see('tuning');
  const head = store.see('head');
  const rows = store.see('tasks')?.rows ?? [];
  const trials = Math.max(tuning?.trials ?? 0, rows.reduce((sum, row) => sum + row.trials, 0));
  const says = `Charts of the tuning run: best so far of ${head?.name ?? 'all tasks'}, ${milliseconds(head?.best_ms ?? null)} ms after ${count(trials)} trials; where the trials went; predicted against measured${rows[1] ? '; the whole network' : ''}. The table of tasks has the numbers.`;
  return <Figure {...props} chart="tuning" says={says} nothing={trials ? null : NO_TRIALS} more={`${trials} ${head?.task} ${tuning?.state}`} />;
}

/** The button that has the roofs measured, which is never done unasked. */
function Roofs({ store }: PanelProps) {
  const roofs = store.see('chart')?.roofs;
  if (roofs === 'measuring') return <span class="swb-faint" role="status">Measuring the roofs of this machine …</span>;
  if (roofs !== 'none') return null;
  const reason = isLive(store) ? '' : 'This needs a running kernel';
  return <Button reason={reason} title="How fast caches and memory deliver; takes some seconds" data-swb-do="roofs" onPress={() => store.act('measure_roofs')}>Measure the roofs</Button>;
}

export function Roofline(props: PanelProps) {
  const { store } = props;
  const head = store.see('head');
  const says = `Roofline of ${head?.name ?? 'the task'}: speed of every variant over its operations per byte. The variants have the numbers.`;
  return (
    <>
      <div class="swb-chart-tools"><Roofs {...props} /></div>
      <Figure {...props} chart="roofline" says={says} nothing={null} more={null} />
    </>
  );
}

/** The roofline on the schedule's screen: the figure is only made when it is opened. */
export function RooflineFold(props: PanelProps) {
  const open = useSignal(false);
  return (
    <section class="swb-roofline" aria-label="Roofline">
      <Button class="swb-link" aria-expanded={open.value} data-swb-do="roofline" onPress={() => { open.value = !open.value; }}>
        {open.value ? '▾' : '▸'} Roofline
      </Button>
      {open.value && <Roofline {...props} />}
    </section>
  );
}

const CHARTS: readonly (readonly [ChartName, string])[] = [['tuning', 'Tuning'], ['roofline', 'Roofline']];

/** The charts as a panel; by itself it can be switched to the roofline. */
export function ChartPanel(props: PanelProps) {
  const wanted = useSignal<ChartName>('tuning');
  const alone = props.model.get('panel') === 'chart' && (props.store.see('meta')?.panels.includes('variants') ?? false);
  return (
    <section class="swb-chart" aria-label="Charts">
      {alone && (
        <div class="swb-switch" role="group" aria-label="Which chart">
          {CHARTS.map(([name, text]) => (
            <button key={name} aria-pressed={wanted.value === name} onClick={() => { wanted.value = name; }}>{text}</button>
          ))}
        </div>
      )}
      {alone && wanted.value === 'roofline' ? <Roofline {...props} /> : <TuningCharts {...props} />}
    </section>
  );
}
