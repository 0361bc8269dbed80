// The network in motion: what each call and each thread does when, before and after tuning, and the memory meanwhile.

import { useSignal } from '@preact/signals';
import { isLive } from '../charts/figure';
import { Button } from '../elements/controls';
import { ShareBar } from '../elements/share-bar';
import { Switch } from '../elements/switch';
import { useAnswer } from '../kernel/answers';
import { bytes, count, milliseconds, percent, plural, spread } from '../../shared/format';
import type { RecordedRun, ShownRun, TimelineAnswer, TimelineRow, TimelineSlice } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import { colourOf } from '../timeline/drawing';
import { Readout, RunView, type Look } from '../timeline/run-view';

/** What the runs take: calls and gaps are the drawn run, the run without a clock stands beside it. */
function Sums({ runs }: { runs: readonly ShownRun[] }) {
  return (
    <>
      {runs.map((run, i) => (
        <p class="swb-tasks-tip" data-sum={run.name}>
          <b>{run.name} schedules</b> {milliseconds(run.run_ms)} ms = {milliseconds(run.calls_ms)} ms in calls +{' '}
          {milliseconds(run.gaps_ms)} ms between kernels, one of {plural(run.runs, 'run')}; median without a clock
          between the calls {milliseconds(run.whole_ms)} ms {spread(run.whole_spread, run.whole_ms)}
          {run.change && `, ${run.change}`}
          {run.interrupted >= 0 && (
            <b class="swb-careful">; call {count(run.interrupted)} was interrupted: record again when it is quiet</b>
          )}
          {i > 0 && run.untuned > 0 && `; ${plural(run.untuned, 'task')} without a record`}
        </p>
      ))}
    </>
  );
}

function Shares({ slice, name, onOpen }: { slice: TimelineSlice; name: (id: number) => string; onOpen: Open }) {
  const { runs, rows } = slice;
  const last = runs.length - 1;
  const top = Math.max(0, ...rows.map(row => row.share[last]!));
  return (
    <div class="swb-tasks-scroll" tabIndex={0} role="group" aria-label="Shares of the run">
      <table aria-label="Shares of the run">
        <thead>
          <tr>
            <th scope="col" class="swb-l swb-name">
              task
            </th>
            <th scope="col">calls</th>
            {runs.map(run => (
              <th
                scope="col"
                title="Milliseconds of all its calls in the run that is drawn, without gaps; alone, a call may take less"
              >
                {run.name}, in the network ms
              </th>
            ))}
            {last > 0 && (
              <th scope="col" title="No difference shows where the runs of a task spread further than the two differ">
                change
              </th>
            )}
            <th scope="col" title="Of the run that is drawn">
              share
            </th>
            <th scope="col" class="swb-from-m" title="Time of these calls in which no thread computes">
              gaps ms
            </th>
            <th scope="col" class="swb-from-l" title="Bytes that these calls move at least">
              moved
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={row.id} onClick={() => onOpen(row.id)} data-row={row.id}>
              <Name row={row} name={name} />
              <td>{row.id === BETWEEN ? '' : count(row.calls)}</td>
              {row.ms.map(ms => (
                <td>{milliseconds(ms)}</td>
              ))}
              {last > 0 && <td>{row.change}</td>}
              <td class="swb-share">
                <ShareBar share={row.share[last]!} top={top} />
                <span>{percent(row.share[last])}</span>
              </td>
              <td class="swb-from-m">{row.id === BETWEEN ? '' : milliseconds(row.gap[last])}</td>
              <td class="swb-from-l">{row.id === BETWEEN ? '' : bytes(row.bytes)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr class="swb-ports-sum">
            <td class="swb-l swb-name">run that is drawn</td>
            <td>{count(rows.reduce((sum, row) => sum + row.calls, 0))}</td>
            {runs.map(run => (
              <td>{milliseconds(run.run_ms)}</td>
            ))}
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

/** The row of the time in which no kernel computes. */
const BETWEEN = -2;

function Name({ row, name }: { row: TimelineRow; name: (id: number) => string }) {
  const between = row.id === BETWEEN;
  return (
    <td
      class="swb-l swb-name"
      title={between ? 'Time in which no thread computes: with the rows above, it makes the run' : name(row.id)}
    >
      <i class="swb-run-key" style={{ background: between ? 'transparent' : colourOf(row.id) }} />
      {between ? 'between kernels' : row.id < 0 ? 'of no task' : <Button class="swb-link">{name(row.id)}</Button>}
    </td>
  );
}

type Open = (task: number) => void;

/** The answer for a run, by its number; two at most are drawn. */
const useRun = (store: PanelProps['store'], run: RecordedRun | undefined): TimelineAnswer | null =>
  useAnswer(store, run ? String(run.number) : '', 'timeline', run ? { number: run.number } : null).value;

function Runs({
  store,
  runs,
  name,
  onOpen
}: PanelProps & { runs: readonly RecordedRun[]; name: (id: number) => string; onOpen: Open }) {
  const look: Look = { range: useSignal(null), picked: useSignal(null) };
  const map = useSignal(true);
  const found = [useRun(store, runs[0]), useRun(store, runs[1])].filter(run => run !== null);
  const all = Math.max(1, ...found.map(run => run.stamps[run.stamps.length - 1]!));
  const at = look.picked.value;
  const shown = found.find(run => run.number === at?.number);
  return (
    <>
      <div class="swb-run-tools">
        <Button
          onPress={() => {
            look.range.value = null;
          }}
          reason={look.range.value ? '' : 'the whole run is shown'}
        >
          Whole run
        </Button>
        <Switch
          label="Memory"
          values={[
            [true, 'memory'],
            [false, 'calls only']
          ]}
          value={map.value}
          onPick={on => {
            map.value = on;
          }}
        />
        <span class="swb-faint">double click or Ctrl+wheel zooms, dragging moves</span>
      </div>
      {found.map(run => (
        <div key={run.number}>
          <h4 class="swb-run-name">{run.name} schedules</h4>
          <RunView {...{ run, all, look, name, onOpen }} map={map.value} theme={store.theme.value} />
        </div>
      ))}
      {shown && at ? (
        <Readout run={shown} call={at.call} name={name} />
      ) : (
        <p class="swb-run-readout swb-faint">Point at a call to see what it does.</p>
      )}
    </>
  );
}

function View(props: PanelProps) {
  const { store } = props;
  const slice = store.see('timeline');
  const tasks = store.see('tasks')?.rows;
  const name = (id: number): string => tasks?.find(row => row.id === id)?.name ?? '';
  if (!slice) return null;
  const { step, error, runs } = slice;
  const onOpen: Open = task => {
    if (task >= 0) store.act('open_task', { task });
  };
  return (
    <section class="swb-tasks swb-timeline" aria-label="Timeline">
      <header class="swb-tasks-head">
        <h3 class="swb-h3">
          Timeline <span class="swb-faint">what each call and each thread does inside the network</span>
        </h3>
        <Button
          data-swb-do="timeline"
          reason={isLive(store) ? '' : 'this needs a running kernel'}
          title={
            step
              ? 'Ends after this step'
              : 'Compiles the network with default and with the best schedules; measurements wait'
          }
          onPress={() => store.act(`${step ? 'cancel' : 'record'}_timeline`)}
        >
          {step ? 'Cancel' : runs.length > 0 ? 'Record again' : 'Record the network'}
        </Button>
      </header>
      {step && (
        <p class="swb-tasks-tip" role="status">
          {step} …{slice.at > 0 && ` (step ${slice.at} of ${slice.of})`} Measurements wait.
        </p>
      )}
      {error && !step && (
        <div class="swb-problem" role="alert">
          <b>Not recorded.</b> {error.message}
          <p>{error.hint}</p>
        </div>
      )}
      {runs.length > 0 ? (
        <>
          <Sums runs={runs} />
          <Runs {...props} {...{ runs, name, onOpen }} />
          <Shares {...{ slice, name, onOpen }} />
        </>
      ) : (
        !step && (
          <p class="swb-tasks-tip">
            Where the time goes inside the network: calls, threads, gaps and memory, with default schedules and with the
            best ones known. In Python: wb.compile(graph).record()
          </p>
        )
      )}
    </section>
  );
}

export default { name: 'timeline', title: 'Timeline', at: ['results'], View } satisfies Panel;
