// The variants under the machine's roofs.

import { useSignal } from '@preact/signals';
import { Button } from '../elements/controls';
import type { PanelProps } from '../panel';
import { Figure, isLive } from './figure';

/** The button that has the roofs measured, which is never done unasked. */
function Roofs({ store }: PanelProps) {
  const roofs = store.see('chart')?.roofs;
  if (roofs === 'measuring')
    return (
      <span class="swb-faint" role="status">
        Measuring the roofs of this machine …
      </span>
    );
  if (roofs !== 'none') return null;
  const reason = isLive(store) ? '' : 'This needs a running kernel';
  return (
    <Button
      reason={reason}
      title="How fast caches and memory deliver; takes some seconds"
      data-swb-do="roofs"
      onPress={() => store.act('measure_roofs')}
    >
      Measure the roofs
    </Button>
  );
}

export function Roofline(props: PanelProps) {
  const { store } = props;
  const head = store.see('head');
  const says = `Roofline of ${head?.name ?? 'the task'}: speed of every variant over its operations per byte. The variants have the numbers.`;
  return (
    <>
      <div class="swb-chart-tools">
        <Roofs {...props} />
      </div>
      <Figure {...props} chart="roofline" says={says} nothing={null} more={null} />
    </>
  );
}

/** The roofline on the schedule's screen: the figure is only made when it is opened. */
export function RooflineFold(props: PanelProps) {
  const open = useSignal(false);
  return (
    <section class="swb-roofline" aria-label="Roofline">
      <Button
        class="swb-link"
        aria-expanded={open.value}
        data-swb-do="roofline"
        onPress={() => {
          open.value = !open.value;
        }}
      >
        {open.value ? '▾' : '▸'} Roofline
      </Button>
      {open.value && <Roofline {...props} />}
    </section>
  );
}
