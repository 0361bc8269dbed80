// What each task takes inside the network, before and after tuning: rows of medians that add up to the run.

import { Button } from '../elements/controls';
import { ShareBar } from '../elements/share-bar';
import { bytes, count, milliseconds, percent } from '../../shared/format';
import type { ShownRun, TimelineRow, TimelineSlice } from '../../shared/types';
import { colourOf } from './drawing';

/** The row of the time in which no kernel computes. */
const BETWEEN = -2;

/** Names of tasks, and what a press on one does. */
interface Tasks {
  readonly name: (id: number) => string;
  /** The task whose calls stand out above; null for none. */
  readonly lit: number | null;
  readonly onOpen: (id: number) => void;
  /** Goes on to its schedule; absent where the panel stands alone. */
  readonly onSchedule: (() => void) | undefined;
}

export function Shares({ slice, ...tasks }: Tasks & { slice: TimelineSlice }) {
  const { runs, rows } = slice;
  const gaps = runs.some(run => run.has_gaps);
  const last = runs.length - 1;
  const top = Math.max(0, ...rows.map(row => row.share[last]!));
  return (
    <div class="swb-tasks-scroll" tabIndex={0} role="group" aria-label="Shares of the run">
      <table aria-label="Shares of the run">
        <Heads runs={runs} gaps={gaps} />
        <tbody>
          {rows.map(row => (
            <tr
              key={row.id}
              aria-selected={row.id === tasks.lit}
              onClick={() => row.id !== BETWEEN && tasks.onOpen(row.id)}
              data-row={row.id}
            >
              <Name row={row} {...tasks} />
              <td>{row.id === BETWEEN ? '' : count(row.calls)}</td>
              {row.ms.map(ms => (
                <td>{milliseconds(ms)}</td>
              ))}
              {last > 0 && <td>{row.change}</td>}
              <td class="swb-share">
                <ShareBar share={row.share[last]!} top={top} />
                <span>{percent(row.share[last])}</span>
              </td>
              {gaps && <td class="swb-from-m">{row.id === BETWEEN ? '' : milliseconds(row.gap[last])}</td>}
              <td class="swb-from-l">{row.id === BETWEEN ? '' : bytes(row.bytes)}</td>
            </tr>
          ))}
        </tbody>
        <Totals runs={runs} calls={rows.reduce((sum, row) => sum + row.calls, 0)} />
      </table>
    </div>
  );
}

function Heads({ runs, gaps }: { runs: readonly ShownRun[]; gaps: boolean }) {
  return (
    <thead>
      <tr>
        <th scope="col" class="swb-l swb-name">
          task
        </th>
        <th scope="col">calls</th>
        {runs.map(run => (
          <th
            scope="col"
            title="Medians of the recorded runs: milliseconds of all its calls without gaps; alone, a call may take less"
          >
            {run.name}, in the network ms
          </th>
        ))}
        {runs.length > 1 && (
          <th scope="col" title="By the runs that were recorded in turns; of the same code nothing is claimed">
            change
          </th>
        )}
        <th scope="col" title="Of the sum of the medians">
          share
        </th>
        {gaps && (
          <th scope="col" class="swb-from-m" title="Time of these calls in which no thread computes">
            gaps ms
          </th>
        )}
        <th scope="col" class="swb-from-l" title="Bytes that these calls move at least">
          moved
        </th>
      </tr>
    </thead>
  );
}

/** What the rows add up to, and the measured run. */
const Totals = ({ runs, calls }: { runs: readonly ShownRun[]; calls: number }) => (
  <tfoot>
    <tr class="swb-ports-sum">
      <td class="swb-l swb-name">sum of the rows</td>
      <td>{count(calls)}</td>
      {runs.map(run => (
        <td>{milliseconds(run.sum_ms)}</td>
      ))}
    </tr>
    <tr>
      <td class="swb-l swb-name">measured run, without a clock between the calls</td>
      <td />
      {runs.map(run => (
        <td>{milliseconds(run.whole_ms)}</td>
      ))}
    </tr>
  </tfoot>
);

function Name({ row, name, lit, onSchedule }: Tasks & { row: TimelineRow }) {
  if (row.id === BETWEEN)
    return (
      <td
        class="swb-l swb-name"
        title="Time in which no thread computes: with the rows above, it makes the sum of the rows"
      >
        <i class="swb-run-key" />
        between kernels
      </td>
    );
  const open = row.id === lit;
  const beside = (open && onSchedule ? 120 : 0) + (row.far ? 190 : 0);
  return (
    <td class="swb-l swb-name" title={[name(row.id), row.far].filter(Boolean).join('; ')}>
      <i class="swb-run-key" style={{ background: colourOf(row.id) }} />
      <Button
        class="swb-link"
        aria-pressed={open}
        style={{ maxWidth: `max(30%, calc(100% - ${16 + beside}px))` }}
        title="Its calls stand out above; once more: its schedule"
      >
        {row.id < 0 ? 'of no task' : name(row.id)}
      </Button>
      {open && row.id >= 0 && onSchedule && (
        <>
          {' '}
          <Button class="swb-link" data-swb-do="schedule" onPress={onSchedule}>
            open ▸ Schedule
          </Button>
        </>
      )}
      {row.far && <span class="swb-careful"> {row.far}</span>}
    </td>
  );
}
