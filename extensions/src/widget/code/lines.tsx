// The lines of a listing, linked to the rows of the nest.

import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks';
import { memo } from '../elements/memo';
import type { CodeKind } from '../../shared/types';
import { pieces } from './highlight';
import type { Listing } from './pages';
import { useWindow } from './window';

export const Text = ({ line, kind }: { line: string; kind: CodeKind }) => (
  <code>
    {pieces(line, kind).map(([name, part], k) =>
      name ? (
        <span key={k} class={`swb-${name}`}>
          {part}
        </span>
      ) : (
        part
      )
    )}
  </code>
);

/** A statement's row is called after its block; `of`, which rows there are, says whether it has a first value apart. */
export function nameOf(row: string, of: ReadonlySet<string>): string {
  const [, kind, name] = /^(stmt|init):(.*)/.exec(row) ?? [];
  return !name ? row : kind === 'init' ? `${name} (init)` : of.has(`init:${name}`) ? `${name} (update)` : name;
}

interface LineProps {
  at: number;
  total: number;
  line?: string;
  kind: CodeKind;
  row: string;
  name: string;
  first: boolean;
  lit: string;
  cursor: boolean;
  id: string;
}

const Line = memo(({ at, total, line = '…', kind, row, name, first, lit, cursor, id }: LineProps) => (
  <div
    role="option"
    id={id}
    class={`swb-text ${lit}`}
    data-line={at}
    data-of={row}
    aria-selected={cursor}
    aria-posinset={at + 1}
    aria-setsize={total}
    title={name && `of ${name}`}
  >
    <span class="swb-ln" aria-hidden>
      {at + 1}
    </span>
    <span class="swb-of" aria-hidden>
      {first ? name : ''}
    </span>
    <Text line={line} kind={kind} />
  </div>
));

interface LinesProps {
  listing: Listing;
  /** Row whose lines are lit, and the rows inside it. */
  row: string;
  inside: ReadonlySet<string>;
  onRow: (row: string) => void;
}

export function Lines({ listing, row, inside, onRow }: LinesProps) {
  const { lines, of, kind, stale, need } = listing;
  const { at, from, to, reveal, idOf, box, all, part } = useWindow(lines.length, {
    moved: line => {
      if (of[line] && of[line] !== row) onRow(of[line]);
    }
  });

  const rows = useMemo(() => new Set(of), [of]);
  useEffect(() => need(from, to - 1));
  useLayoutEffect(() => {
    // What is selected elsewhere is shown from its first line on; what is selected here is on the screen already.
    if (!row || of[at] === row) return;
    const own = of.indexOf(row);
    const first = own < 0 ? of.findIndex(one => inside.has(one)) : own;
    if (first >= 0) reveal(first);
  }, [row, of]);

  return (
    <div
      {...box}
      class={`swb-lines is-${kind}${stale ? ' is-stale' : ''}`}
      aria-label="Code"
      aria-busy={stale || undefined}
    >
      <div {...all}>
        <div {...part}>
          {lines.slice(from, to).map((line, k) => {
            const n = from + k;
            const own = of[n]!;
            const lit = own && own === row ? 'is-lit' : inside.has(own) ? 'is-inside' : '';
            return (
              <Line
                key={n}
                id={idOf(n)}
                at={n}
                total={lines.length}
                line={line}
                kind={kind}
                row={own}
                name={nameOf(own, rows)}
                first={own !== '' && (k === 0 || own !== of[n - 1])}
                lit={lit}
                cursor={n === at}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}
