// One record: what it was, what became of it, what one change would make of it, and how it was written.

import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../widget/elements/controls';
import type { ErrorInfo, Questions } from './protocol';
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

const Line = ({ does, code }: { does: string; code: string }) => (
  <p>
    {does} <code title="A click marks it all, to be copied">{code}</code>
  </p>
);

function Variant({ view, record, replay }: { view: View; record: number; replay: string }) {
  const [told, setTold] = useState<Questions['variant'] | null>(null);
  const [trouble, setTrouble] = useState('');
  const open = (): void => {
    view.store
      .ask('variant', { record })
      .then(setTold, (error: ErrorInfo) => setTrouble(`${error.message}. ${error.hint}`));
  };
  return (
    <div class="swx-variant">
      <Button reason={replay} onPress={open}>
        Replay it here
      </Button>
      {told && (
        <>
          <Line does="To change, measure and tune it, run in a cell:" code={told.code} />
          <Line does="To measure what each of its steps is worth:" code={told.explain} />
        </>
      )}
      {trouble && <p class="swb-careful">{trouble}</p>}
    </div>
  );
}

export function RecordDetail({ view }: { view: View }) {
  const detail = view.detail.value;
  const trouble = view.trouble.value;
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!view.reveal || !detail) return;
    view.reveal = false;
    section.current?.scrollIntoView({ block: 'nearest' });
  }, [detail]);
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
    <section class="swx-detail" ref={section} aria-label={`Record ${detail.record}`} key={detail.record}>
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
