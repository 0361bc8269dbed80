// The network in motion: what each call and each thread does when, before and after tuning, and the memory meanwhile.

import { useSignal } from '@preact/signals';
import { isLive } from '../charts/figure';
import { Button } from '../elements/controls';
import { Switch } from '../elements/switch';
import { useAnswer } from '../kernel/answers';
import { count, milliseconds, plural, signedPercent, spread } from '../../shared/format';
import type { RecordedRun, ShownRun, TimelineAnswer } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import { toNest } from '../shell/keys';
import { useEscape, useUi } from '../shell/ui';
import { Readout, RunView, type Look } from '../timeline/run-view';
import { Shares } from '../timeline/shares';

/** What the runs take: medians of the calls and of the gaps, beside the run without a clock between the calls. */
function Sums({ runs }: { runs: readonly ShownRun[] }) {
  return (
    <>
      {runs.map((run, i) => (
        <p class="swb-tasks-tip" data-sum={run.name}>
          <b>{run.name} schedules</b>{' '}
          {run.has_gaps
            ? `${milliseconds(run.sum_ms)} ms = ${milliseconds(run.calls_ms)} ms in calls + ${milliseconds(run.gaps_ms)} ms between kernels`
            : `${milliseconds(run.sum_ms)} ms in calls, one after the other`}
          , medians of {plural(run.runs, 'run')}; a run without a clock between the calls takes{' '}
          {milliseconds(run.whole_ms)} ms {spread(run.whole_spread, run.whole_ms)} (
          {signedPercent(run.whole_ms / run.sum_ms - 1)}){run.change && `, ${run.change}`}
          {i > 0 && run.untuned > 0 && `; ${plural(run.untuned, 'task')} without a record`}
          {run.doubt && <b class="swb-careful">; {run.doubt}</b>}
          {run.interrupted >= 0 && (
            <b class="swb-careful">; in the run that is drawn call {count(run.interrupted)} was interrupted</b>
          )}
        </p>
      ))}
    </>
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
  lit,
  onOpen
}: PanelProps & {
  runs: readonly RecordedRun[];
  name: (id: number) => string;
  lit: Look['lit'];
  onOpen: Open;
}) {
  const look: Look = { range: useSignal(null), picked: useSignal(null), lit };
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
  const ui = useUi();
  const lit = useSignal<number | null>(null);
  useEscape(lit.value !== null, () => {
    lit.value = null;
  });
  const name = (id: number): string => tasks?.find(row => row.id === id)?.name ?? '';
  if (!slice) return null;
  const { step, error, runs } = slice;
  const alone = ui.root.current?.classList.contains('swb-single');
  const onSchedule = alone ? undefined : () => void toNest(ui);
  const onOpen: Open = task => {
    // As in the table of tasks, a second press goes on to the schedule of the task that the first one opened.
    if (task === lit.value) {
      if (task >= 0 && onSchedule) onSchedule();
      else lit.value = null;
      return;
    }
    lit.value = task;
    ui.said.value = `${name(task) || 'What belongs to no task'}: its calls stand out`;
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
          <Runs {...props} {...{ runs, name, lit, onOpen }} />
          <Shares {...{ slice, name, onOpen, onSchedule }} lit={lit.value} />
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

export default { name: 'timeline', title: 'Timeline', at: ['profile'], View } satisfies Panel;
