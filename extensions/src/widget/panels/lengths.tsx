// A model for ranges of lengths: which kernels run which of them, and what that costs against kernels of one length.

import { Table, type Cell, type Column } from '../elements/comparison';
import { WorkButton, WorkState } from '../elements/stepped-work';
import { milliseconds, times } from '../../shared/format';
import type { LengthsRow, LengthsSlice } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';

const range = (least: number, most: number): string => (least === most ? `${least}` : `${least}…${most}`);
const reach = ({ least, most }: LengthsRow): string => least.map((n, i) => range(n, most[i]!)).join(' × ');

function Rows({ ranges, rows: found }: { ranges: LengthsSlice['ranges']; rows: readonly LengthsRow[] }) {
  const columns: Column[] = [
    [ranges.map(one => one.name).join(' × '), 'Lengths that share kernels'],
    ['kernels of', 'The length whose kernels run the smallest of these: its own, or of a larger one that is faster'],
    ['ms', 'Milliseconds of a run of these kernels, by themselves'],
    ['alone', 'Milliseconds of a run of kernels of the smallest of these lengths alone'],
    ['against that', 'What running lengths on shared kernels costs; careful above 1.15'],
    ['untuned', 'Tasks without a record, that borrow no schedule either', 'm']
  ];
  const rows = found.map((row): Cell[] => [
    [reach(row)],
    [row.kernels.join(' × ')],
    [milliseconds(row.ms)],
    [milliseconds(row.fixed_ms)],
    row.fixed_ms ? [times(row.fixed_ms, row.ms), '', row.ms > 1.15 * row.fixed_ms] : [''],
    [`${row.untuned}`]
  ]);
  return (
    <div class="swb-tasks-scroll" tabIndex={0} role="group" aria-label="Kernels of the lengths">
      <Table label="Kernels of the lengths" {...{ columns, rows }} />
    </div>
  );
}

function View({ store }: PanelProps) {
  const slice = store.see('lengths');
  if (!slice) return null;
  const { step, answer, ranges } = slice;
  const said = ranges.map(({ name, least, most }) => `${name} = ${range(least, most)}`).join(', ');
  return (
    <section class="swb-tasks swb-precision" aria-label="Lengths">
      <header class="swb-tasks-head">
        <h3 class="swb-h3">
          Lengths <span class="swb-faint">{said}</span>
        </h3>
        <WorkButton
          {...{ store, slice }}
          name="lengths"
          begin={answer ? 'Compare again' : 'Compare with kernels of one length'}
          title="Takes as long as compiling it for every row; measurements wait"
          onBegin={() => store.act('compare_lengths')}
          onCancel={() => store.act('cancel_lengths')}
        />
      </header>
      <WorkState slice={slice} label="Comparison of lengths" failed="Not compared." />
      {answer?.reason && <p class="swb-tasks-tip">Each shape is compiled as it comes: {answer.reason}</p>}
      {answer?.rows.length ? (
        <Rows {...{ ranges, rows: answer.rows }} />
      ) : (
        !step && (
          <p class="swb-tasks-tip">
            Which kernels run which lengths, and what that takes; for some of them, against kernels of that length
            alone. In Python: compile(graph).dynamic_table(fixed=True)
          </p>
        )
      )}
    </section>
  );
}

export default { name: 'lengths', title: 'Lengths', at: ['results'], View } satisfies Panel;
