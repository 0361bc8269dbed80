// What each step of the variant on show is worth: the variant without it, timed in turns with the whole.

import { Folded } from '../elements/folded';
import { SteppedWork } from '../elements/stepped-work';
import { milliseconds, percent, times } from '../../shared/format';
import type { LeaveOneOutSlice, WithoutRow } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';

function Row({ row, top }: { row: WithoutRow; top: number }) {
  const { ratio, why_not, ms, whole_ms, known } = row;
  const share = ratio === null ? '' : times(1, ratio);
  return (
    <tr>
      <td>{row.number}</td>
      <td class="swb-l swb-name swb-mono" title={row.step}>
        {row.step}
      </td>
      {ratio === null ? (
        <td class="swb-l" colSpan={5} title={why_not}>
          <span class="swb-faint">not timed: {why_not}</span>
        </td>
      ) : (
        <>
          <td title="All three columns are of the same turns; the time in the header is of others">
            {milliseconds(ms)} <span class="swb-faint">/ {milliseconds(whole_ms)}</span>
          </td>
          <td>
            {known === 'apart' && ratio < 1 ? (
              <b class="swb-careful">{share}</b>
            ) : (
              <span class={known === 'apart' ? '' : 'swb-faint'}>{share}</span>
            )}
          </td>
          <td class="swb-bar-cell">
            <i style={{ width: `${(100 * Math.abs(Math.log(ratio))) / top}%` }} />
          </td>
          <td class="swb-from-m" title="How sure the difference is">
            {row.confidence === null ? '' : percent(row.confidence)}
          </td>
          <td class="swb-l swb-faint swb-outcome">{row.text}</td>
        </>
      )}
    </tr>
  );
}

function Steps({ node, rows }: LeaveOneOutSlice) {
  const top = Math.max(0.05, ...rows.map(row => Math.abs(Math.log(row.ratio ?? 1))));
  return (
    <div class="swb-tasks-scroll" tabIndex={0} role="group" aria-label={`v${node} without each of its steps`}>
      <table aria-label={`v${node} without each of its steps`}>
        <thead>
          <tr>
            <th scope="col">nr.</th>
            <th scope="col" class="swb-l swb-name">
              step of v{node}
            </th>
            <th scope="col" title="Of one run without this step, and of one with all, timed in turns">
              ms without / with it
            </th>
            <th scope="col" title="Median over the rounds in which both ran">
              as fast
            </th>
            <th scope="col">worth</th>
            <th scope="col" class="swb-from-m">
              sure
            </th>
            <th scope="col" class="swb-l">
              outcome
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <Row key={row.number} row={row} top={top} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Body({ store }: PanelProps) {
  const slice = store.see('leave_one_out');
  const history = store.see('history');
  if (!slice || !history) return null;
  const row = history.rows.find(one => one.id === history.at);
  return (
    <>
      <SteppedWork
        store={store}
        slice={slice}
        name="measure-steps"
        label="Leaving out steps"
        begin={`Leave out each step of v${history.at}`}
        reason={history.path.length < 2 ? 'no step was taken' : row?.holes ? 'numbers are open' : ''}
        onBegin={() => store.act('measure_steps', { node: history.at })}
        onCancel={() => store.act('cancel_steps')}
      />
      {slice.rows.length > 0 ? (
        <Steps {...slice} />
      ) : (
        <p class="swb-tasks-tip">
          Each step is left out, and the rest timed in turns with the whole. What a step is worth depends on the others:
          of two that only gain together, each seems to be worth all of it.
        </p>
      )}
    </>
  );
}

function View(props: PanelProps) {
  if (!props.store.see('history')?.rows.length) return null;
  return (
    <Folded name="leave_one_out" label="Leave one out" says="What each step is worth" model={props.model}>
      {() => <Body {...props} />}
    </Folded>
  );
}

export default { name: 'leave_one_out', title: 'Leave one out', at: ['below nest'], View } satisfies Panel;
