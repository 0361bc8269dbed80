// What the selected loop does to memory: one row for every access of the statements inside.

import { bytes } from '../../shared/format';
import type { AccessRow } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import { Before } from '../nest/buffers';

/**
 * What a step means: the fact, then what follows from it. In an innermost loop steps of a cache line or more cost,
 * further out they need not.
 */
function Step({ says, step, inner, line }: Pick<AccessRow, 'says' | 'step'> & { inner: boolean; line: number }) {
  const [fact, ...then] = says.split(', ');
  const text = then.join(', ');
  const costly = inner && step !== null && Math.abs(step) >= line;
  return (
    <td class="swb-l" title={costly ? `${says}\nThis loop is innermost: every iteration waits for memory` : says}>
      {costly && (
        <span class="swb-careful" role="img" aria-label="costly">
          {'▲ '}
        </span>
      )}
      {costly ? <b class="swb-careful">{fact}</b> : fact}
      {text && <span class={costly ? '' : 'swb-faint'}>, {text}</span>}
    </td>
  );
}

function View({ store }: PanelProps) {
  const slice = store.see('accesses');
  if (!slice?.row)
    return (
      <section class="swb-accesses">
        <p class="swb-blank">Select a loop to see what its iterations read and write.</p>
      </section>
    );
  const line = store.see('meta')?.line ?? Infinity;
  const inner = !store.see('nest')?.rows.some(row => row.kind === 'loop' && row.parent === slice.row);
  return (
    <section class="swb-accesses" aria-label={`Accesses while ${slice.row} runs`}>
      <table>
        <caption>
          Accesses while <b class="swb-mono">{slice.row}</b> runs
          <Before store={store} />
        </caption>
        <thead>
          <tr>
            <th scope="col">element</th>
            <th scope="col">kind</th>
            <th scope="col">from one iteration to the next</th>
            <th scope="col" class="swb-r" title="Bytes of the cache lines that one run of the loop touches here">
              touched
            </th>
          </tr>
        </thead>
        <tbody>
          {slice.rows.map(row => (
            <tr key={row.id} data-access={row.id}>
              <td class="swb-mono" title={row.text}>
                {row.text}
              </td>
              <td class="swb-mut" title={row.kind}>
                {row.kind}
              </td>
              <Step says={row.says} step={row.step} inner={inner} line={line} />
              <td class="swb-r">{bytes(row.touched)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export default { name: 'accesses', title: 'Accesses', at: ['below nest'], View } satisfies Panel;
