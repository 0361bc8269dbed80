// One record: what it was, what became of it, what one change would make of it, and how it was written.

import { useState } from 'preact/hooks';
import { Button } from '../widget/elements/controls';
import type { ErrorInfo } from './protocol';
import type { View } from './view';

const Pairs = ({ pairs }: { pairs: readonly (readonly [string, string])[] }) => (
  <dl class="swx-pairs">
    {pairs.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

function Variant({ view, record, replay }: { view: View; record: number; replay: string }) {
  const [code, setCode] = useState('');
  const [trouble, setTrouble] = useState('');
  const open = (): void => {
    view.store.ask('variant', { record }).then(
      answer => setCode(answer.code),
      (error: ErrorInfo) => setTrouble(`${error.message}. ${error.hint}`)
    );
  };
  return (
    <div class="swx-variant">
      <Button reason={replay} onPress={open}>
        Open as a variant
      </Button>
      {code && (
        <p>
          Run this in a cell: <code>{code}</code>
        </p>
      )}
      {trouble && <p class="swb-careful">{trouble}</p>}
    </div>
  );
}

export function RecordDetail({ view }: { view: View }) {
  const detail = view.detail.value;
  const trouble = view.trouble.value;
  if (trouble) return <p class="swb-blank">{trouble.message}</p>;
  if (!detail)
    return (
      <div class="swb-blank">
        <b>No record on show</b>
        <p>Press a row of the table to see its parameters, what was written of it, and what is faster nearby.</p>
      </div>
    );
  const { neighbour } = detail;
  return (
    <section class="swx-detail" aria-label={`Record ${detail.record}`} key={detail.record}>
      <div class="swx-head">
        <h3 class="swb-h3">Record {detail.record}</h3>
        <button class="swb-link" type="button" onClick={() => void view.open(null)}>
          close
        </button>
      </div>
      <div class="swx-detail-body" tabIndex={0} role="group" aria-label="What is known of it">
        <Pairs pairs={detail.facts} />
        {detail.error && <pre class="swx-error">{detail.error}</pre>}
        <h3 class="swb-h3">Parameters</h3>
        <Pairs pairs={detail.params} />
        <h3 class="swb-h3">Better by one change</h3>
        <p>
          {detail.neighbour_words}{' '}
          {neighbour && (
            <button class="swb-link" type="button" onClick={() => void view.open(neighbour.record)}>
              show record {neighbour.record}
            </button>
          )}
        </p>
        <Variant view={view} record={detail.record} replay={detail.replay} />
        <details>
          <summary>As it was written</summary>
          <pre>{detail.raw}</pre>
        </details>
      </div>
    </section>
  );
}
