// What one iteration of the innermost loop takes on the ports of the processor, beside its assembly.

import { Folded } from '../elements/folded';
import { useAnswer } from '../kernel/answers';
import { count } from '../../shared/format';
import type { ThroughputAnswer } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import { useUi } from '../shell/ui';

const cycles = (value: number | undefined): string => (value ? String(Number(value.toFixed(2))) : '');

function Ports({ of }: { of: ThroughputAnswer }) {
  return (
    <div class="swb-tasks-scroll swb-ports" tabIndex={0} role="group" aria-label="Instructions of the loop">
      <table aria-label="Instructions of the loop">
        <thead>
          <tr>
            <th scope="col" class="swb-l swb-name">
              instruction
            </th>
            <th scope="col" title="Cycles until its result is there">
              latency
            </th>
            <th scope="col" title="On the longest chain from one iteration to the next">
              chain
            </th>
            {of.ports.map(port => (
              <th scope="col" title={`Cycles that port ${port} is busy`}>
                {port.replace('Port', '')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.instructions.map(one => (
            <tr key={one.line}>
              <td class="swb-l swb-name swb-mono" title={one.row}>
                {one.text.replace(/\s+/g, ' ')}
              </td>
              <td>{one.known ? (one.latency ?? '?') : <b class="swb-careful">not known</b>}</td>
              <td>{one.chain ? '●' : ''}</td>
              {of.ports.map(port => (
                <td>{cycles(one.ports[port])}</td>
              ))}
            </tr>
          ))}
          <tr class="swb-ports-sum">
            <td class="swb-l swb-name">one iteration</td>
            <td />
            <td>{cycles(of.chain_cycles)}</td>
            {of.pressure.map((one, i) => (
              <td key={of.ports[i]}>
                {one >= 0.98 * of.port_cycles ? <b class="swb-careful">{cycles(one)}</b> : cycles(one)}
              </td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function Answer({ store }: PanelProps) {
  const node = store.see('history')?.at;
  const key = `throughput ${store.see('head')?.task}`;
  const { value, error } = useAnswer(store, key, 'throughput', node === undefined ? null : { node });
  if (error)
    return (
      <p class="swb-tasks-tip" role="alert">
        {error.message} {error.hint}
      </p>
    );
  if (!value) return <p class="swb-tasks-tip">The machine code is analysed…</p>;
  return (
    <>
      <p class="swb-tasks-tip" role="status">
        <b>{value.row}</b>: {value.text}
        {value.trips !== null && `; ${count(value.trips)} iterations of the machine loop in one run`}
      </p>
      {value.whole && <p class="swb-tasks-tip">{value.whole}.</p>}
      <Ports of={value} />
    </>
  );
}

/** Under the listing of assembly; nothing is analysed before it is opened. */
function View(props: PanelProps) {
  const { model } = props;
  if (useUi().code.value !== 'asm' && model.get('panel') !== 'throughput') return null;
  return (
    <Folded name="throughput" label="Throughput" says="Throughput of the innermost loop" model={model}>
      {() => <Answer {...props} />}
    </Folded>
  );
}

export default { name: 'throughput', title: 'Throughput', at: ['below code'], View } satisfies Panel;
