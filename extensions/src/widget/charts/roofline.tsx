// The variants under the machine's roofs.

import { useSignal } from '@preact/signals';
import { Button } from '../elements/controls';
import { bytes, count } from '../../shared/format';
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

/** The schedule on show at each level of memory; the level that allows least is what bounds it. */
function Levels({ store }: PanelProps) {
  const levels = store.see('chart')?.levels ?? [];
  if (!levels.length) return null;
  const least = Math.min(...levels.map(one => one.most ?? Infinity));
  return (
    <table class="swb-levels" aria-label="The schedule on show at each level of memory">
      <thead>
        <tr>
          <th scope="col" class="swb-l">
            from
          </th>
          <th scope="col" title="By the estimate">
            fetched
          </th>
          <th scope="col" title="Operations for each byte that is fetched from there, by the estimate">
            FLOP per byte
          </th>
          <th scope="col" title="What the roof of this level that was measured, or the peak, allows">
            at most GFLOP/s
          </th>
        </tr>
      </thead>
      <tbody>
        {levels.map(one => (
          <tr key={one.name}>
            <th scope="row" class="swb-l">
              {one.name}
            </th>
            <td>≈ {bytes(one.bytes)}</td>
            <td>≈ {count(one.intensity)}</td>
            <td>{one.most === least ? <b>{count(one.most)}</b> : count(one.most)}</td>
          </tr>
        ))}
      </tbody>
    </table>
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
      <Levels {...props} />
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
        {open.value ? '▼' : '►'} Roofline
      </Button>
      {open.value && <Roofline {...props} />}
    </section>
  );
}
