// What the processor counts in one call of the variant on show, each counter beside what the models say.

import { Folded } from '../elements/folded';
import { useAnswer } from '../kernel/answers';
import { count } from '../../shared/format';
import type { CounterRow } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import { useUi } from '../shell/ui';

function Row({ row }: { row: CounterRow }) {
  return (
    <tr>
      <td class="swb-l swb-name" title={row.says}>
        {row.name}
      </td>
      <td title={row.why_not}>{row.counted === null ? '–' : count(Math.round(row.counted))}</td>
      <td>{row.simulated === null ? '–' : count(Math.round(row.simulated))}</td>
      <td class="swb-l swb-faint">{row.source}</td>
    </tr>
  );
}

function Answer({ store }: PanelProps) {
  const node = store.see('history')?.at;
  const key = `counters ${store.see('head')?.task}`;
  const { value, error } = useAnswer(store, key, 'counters', node === undefined ? null : { node });
  if (error)
    return (
      <p class="swb-tasks-tip" role="alert">
        {error.message} {error.hint}
      </p>
    );
  if (!value) return <p class="swb-tasks-tip">It is measured, and counted…</p>;
  return (
    <>
      <p class="swb-tasks-tip" role="status">
        {value.why_not
          ? `Not counted: ${value.why_not}.`
          : 'Each event was counted by itself, in calls one after the other.'}
      </p>
      <div class="swb-tasks-scroll" tabIndex={0} role="group" aria-label="Counters of one call">
        <table aria-label="Counters of one call">
          <thead>
            <tr>
              <th scope="col" class="swb-l swb-name">
                in one call
              </th>
              <th scope="col">counted</th>
              <th scope="col">by the model</th>
              <th scope="col" class="swb-l">
                which
              </th>
            </tr>
          </thead>
          <tbody>
            {value.rows.map(row => (
              <Row key={row.name} row={row} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** Under the listing of assembly; nothing is measured before it is opened. */
function View(props: PanelProps) {
  const { model } = props;
  if (useUi().code.value !== 'asm' && model.get('panel') !== 'counters') return null;
  return (
    <Folded name="counters" label="Counters" says="Counters of the processor, beside the models" model={model}>
      {() => <Answer {...props} />}
    </Folded>
  );
}

export default { name: 'counters', title: 'Counters', at: ['below code'], View } satisfies Panel;
