// The charts of a tuning run, and those of the variants under the machine's roofs: one figure, switched.

import { useSignal } from '@preact/signals';
import { count, milliseconds } from '../../shared/format';
import type { ChartName } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import { Switch } from '../elements/switch';
import { Figure } from '../charts/figure';
import { Roofline, RooflineFold } from '../charts/roofline';

const NO_TRIALS = ['No trials yet', 'Start a tuning run to see how the best time falls over the trials.'] as const;

function TuningCharts(props: PanelProps) {
  const { store } = props;
  const tuning = store.see('tuning');
  const head = store.see('head');
  const rows = store.see('tasks')?.rows ?? [];
  const trials = Math.max(
    tuning?.trials ?? 0,
    rows.reduce((sum, row) => sum + row.trials, 0)
  );
  const says = `Charts of the tuning run: best so far of ${head?.name ?? 'all tasks'}, ${milliseconds(head?.best_ms ?? null)} ms after ${count(trials)} trials; where the trials went; predicted against measured${rows[1] ? '; the whole network' : ''}. The table of tasks has the numbers.`;
  return (
    <Figure
      {...props}
      chart="tuning"
      says={says}
      nothing={trials ? null : [NO_TRIALS[0], tuning?.off ? '' : NO_TRIALS[1]]}
      more={`${trials} ${head?.task} ${tuning?.state}`}
    />
  );
}

const CHARTS: readonly (readonly [ChartName, string])[] = [
  ['tuning', 'Tuning'],
  ['roofline', 'Roofline']
];

/** The charts as a panel; by itself it can be switched to the roofline. */
function View(props: PanelProps) {
  const wanted = useSignal<ChartName>('tuning');
  const alone = props.model.get('panel') === 'chart' && (props.store.see('meta')?.panels.includes('variants') ?? false);
  return (
    <section class="swb-chart" aria-label="Charts">
      {alone && (
        <Switch
          label="Which chart"
          values={CHARTS}
          value={wanted.value}
          onPick={name => {
            wanted.value = name;
          }}
        />
      )}
      {alone && wanted.value === 'roofline' ? <Roofline {...props} /> : <TuningCharts {...props} />}
    </section>
  );
}

export default { name: 'chart', title: 'Charts', at: ['results'], View, Fold: RooflineFold } satisfies Panel;
