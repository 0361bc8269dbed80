// The model in float32, bfloat16 and int8 side by side: time, error and bytes, of the network and of each task.

import { Table, type Cell, type Column } from '../elements/comparison';
import { WorkButton, WorkState } from '../elements/stepped-work';
import { bytes, errorOf, milliseconds, percent, plural, times } from '../../shared/format';
import type { PrecisionAnswer } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';

const MS = 'Milliseconds of one run, inside the network, with default schedules';
const ERROR = 'Root mean square of the difference from float32, against that of the numbers';
const MOVED = 'Bytes that one run moves at least';

function Network({ precisions, bound }: PrecisionAnswer) {
  const [base] = precisions;
  const columns: Column[] = [
    ['network in', 'Element type of products and convolutions'],
    ['ms', MS],
    ['against float32', MS, 'm'],
    ['error', `${ERROR}; of the worst output`],
    [`first above ${percent(bound)}`, 'The first layer whose error is above the bound', 'm'],
    ['moved', MOVED, 'l'],
    ['weights', 'Bytes of weights', 'l']
  ];
  const rows = precisions.map((one, i): Cell[] => [
    [one.precision, one.note],
    [milliseconds(one.ms)],
    [i && one.ms && base?.ms ? times(base.ms, one.ms) : ''],
    [i ? errorOf(one.error) : '', '', one.error! > bound],
    [i && one.ms ? one.first_above || 'none' : '', one.first_above],
    [bytes(one.bytes)],
    [bytes(one.weights)]
  ]);
  return <Table label="The network in each precision" {...{ columns, rows }} />;
}

function Tasks({
  store,
  answer: { made, rows: found, bound }
}: {
  store: PanelProps['store'];
  answer: PrecisionAnswer;
}) {
  const names = new Map(store.see('tasks')?.rows.map(row => [row.id, row.name]));
  const columns: Column[] = [
    ['task', 'All kernels of a task in one run of the network'],
    ...made.map((one): Column => [`${one} ms`, MS]),
    ...made.slice(1).map((one): Column => [`${one} error`, `${ERROR}; of the worst kernel`]),
    ...made.map((one): Column => [`${one} moved`, MOVED, 'l'])
  ];
  const rows = found.map((row): Cell[] => {
    const name = names.get(row.id) ?? `${plural(row.kernels, 'kernel')} of no task`;
    return [
      [name, name],
      ...row.ms.map((one): Cell => [milliseconds(one)]),
      ...row.error.slice(1).map((one): Cell => [errorOf(one), '', one! > bound]),
      ...row.bytes.map((one): Cell => [bytes(one)])
    ];
  });
  return (
    <div class="swb-tasks-scroll" tabIndex={0} role="group" aria-label="Tasks in each precision">
      <Table label="Tasks in each precision" {...{ columns, rows }} />
    </div>
  );
}

function View({ store }: PanelProps) {
  const slice = store.see('precision');
  if (!slice) return null;
  const { step, answer } = slice;
  const notes = answer?.precisions.filter(one => one.note).map(one => `${one.precision}: ${one.note}`) ?? [];
  return (
    <section class="swb-tasks swb-precision" aria-label="Precision">
      <header class="swb-tasks-head">
        <h3 class="swb-h3">
          Precision{' '}
          <span class="swb-faint">
            {answer?.random ? 'inputs are random: real ones may have larger or smaller errors' : ''}
          </span>
        </h3>
        <WorkButton
          {...{ store, slice }}
          name="precision"
          begin={answer ? 'Compare again' : 'Compare float32, bfloat16, int8'}
          title="Takes about a minute; measurements wait"
          onBegin={() => store.act('compare_precisions')}
          onCancel={() => store.act('cancel_precisions')}
        />
      </header>
      <WorkState slice={slice} label="Comparison of precisions" failed="Not compared." />
      {answer ? (
        <>
          <Network {...answer} />
          {notes.map(note => (
            <p class="swb-tasks-tip">{note}</p>
          ))}
          <Tasks {...{ store, answer }} />
        </>
      ) : (
        !step && (
          <p class="swb-tasks-tip">
            What each type takes and loses: time, error against float32 and bytes, of the network and of every task,
            with random inputs. With your own: session.run("compare_precisions", samples=…)
          </p>
        )
      )}
    </section>
  );
}

export default { name: 'precision', title: 'Precision', at: ['results'], View } satisfies Panel;
