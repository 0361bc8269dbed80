// The numbers of two variants: what is predicted, what is fetched, what was measured, and how sure that is.

import { bytes, measured, milliseconds, signedPercent, times } from '../../shared/format';
import type { DiffAnswer, HistorySlice } from '../../shared/types';
import type { Store } from '../kernel/store';
import { Timed, contestOf } from '../variants/compare';

type Two = readonly (number | null)[];

/** From one number to the other, and by how much that is more or less. */
const change = ([a, b]: Two, print: (value: number | null) => string, unit = '', unsure = '') => (
  <>
    <b>
      {print(a!)} → {print(b!)}
    </b>
    {unit}{' '}
    {a &&
      b !== null &&
      (unsure ? unsure : Math.abs(b! / a - 1) < 0.0005 ? 'the same' : unit ? times(a, b!) : signedPercent(b! / a - 1))}
  </>
);

export function Facts({
  store,
  history,
  pair,
  answer
}: {
  store: Store;
  history: HistorySlice;
  pair: readonly [number, number];
  answer: DiffAnswer | null;
}) {
  const rows = pair.map(id => history.rows.find(row => row.id === id));
  const both = (what: 'ms' | 'est'): Two => rows.map(row => row?.[what] ?? null);
  const unsure = answer?.versus?.startsWith('cannot tell') ? 'cannot tell' : '';
  const doubt = rows.find(row => row?.doubt)?.doubt;
  const contest = contestOf(history, pair);
  const met = contest?.state === ''; // it says more
  const turns = met && contest.ms ? (contest.a === pair[0] ? contest.ms : [...contest.ms].reverse()) : null;
  return (
    <div class="swb-diff-facts">
      <span title="Worked out from the nest, not measured">
        <i>predicted</i> ≈ {change(both('est'), milliseconds, ' ms est.')}
      </span>
      {Object.entries(answer?.bytes ?? {}).map(([level, two]) => (
        <span
          key={level}
          title={`Bytes that ${level} fetches in one call, worked out from the nest: what is still in it is not fetched again, unlike in the nest's own column`}
        >
          <i>into {level}</i> {change(two, bytes)}
        </span>
      ))}
      <span
        title={
          turns
            ? `Both in turns; each by itself took ${rows.map(row => measured(row!)).join(' and ')} ms`
            : `Each by itself; to be sure, time them against each other${answer?.versus ? ` (${answer.versus})` : ''}`
        }
      >
        <i>{turns ? 'in turns' : 'measured'}</i>{' '}
        {turns ? (
          <>
            <b>{turns.map(milliseconds).join(' → ')}</b> ms
          </>
        ) : doubt ? (
          <>
            <b>{rows.map(row => measured(row!)).join(' → ')}</b> ms {met || `cannot tell: ${doubt.text}`}
          </>
        ) : (
          change(both('ms'), milliseconds, ' ms', met ? ' ' : unsure)
        )}
      </span>
      <Timed store={store} history={history} pair={pair} />
    </div>
  );
}
