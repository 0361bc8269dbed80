// A variant: its shape says who made it and how it went, the words beside it how fast it is.

import { useEffect, useRef } from 'preact/hooks';
import { count, factor, measured, milliseconds, spreadOf } from '../../shared/format';
import { memo } from '../elements/memo';
import { outcome } from '../../shared/outcome';
import type { VariantRow } from '../../shared/types';

const CALM = new Set(['', 'ok', 'queued', 'measuring']);
export const failed = (row: { status: string }): boolean => !CALM.has(row.status);

/** An estimate is said as one, and where numbers are open from the least to the most. */
export const guess = (row: VariantRow): string =>
  row.est === null ? '' : `≈ ${milliseconds(row.est)}${row.est_high === null ? '' : `–${milliseconds(row.est_high)}`}`;

export function shownAs(row: VariantRow): string {
  if (failed(row)) return outcome(row.status);
  if (row.status === 'measuring') return 'measuring…';
  if (row.status === 'queued') return 'queued';
  if (row.ms !== null) return `${measured(row)} ms`;
  return row.est === null ? (row.holes ? `${row.holes} open` : 'not measured') : `${guess(row)} est.`;
}

/** A step without the quotes around names. */
export const plain = (text: string): string => text.replaceAll("'", '');
/** A step as the tree has room for it. */
const short = (row: VariantRow): string => row.short ?? plain(row.text);
/** What led to it, in short: the trial's number says more than how many steps it took. */
const origin = (row: VariantRow): string =>
  row.trial !== null && row.by === 'tuner'
    ? `trial ${row.trial}`
    : row.holes
      ? `${row.holes} open · ${short(row)}`
      : short(row);

/** Everything that is known of it, for a title and for a screen reader. */
export function words(row: VariantRow): string {
  const trial = row.trial !== null && `trial ${row.trial}`;
  const who =
    row.by === 'tuner'
      ? trial
        ? `${trial} of the tuner`
        : 'by the tuner'
      : [row.by === 'hand' && 'by hand', trial].filter(Boolean).join(', ');
  return [
    `v${row.id}`,
    row.name,
    row.star && 'starred',
    plain(row.text),
    shownAs(row),
    row.doubt ? `disturbed: ${row.doubt.text}` : spreadOf(row),
    row.same,
    row.caches,
    row.remark,
    row.than,
    row.ms !== null && row.est !== null && !failed(row) && `estimated ${guess(row)} ms`,
    row.gflops !== null && `${count(row.gflops)} GFLOP/s`,
    who,
    row.holes > 0 && `${row.holes} open numbers`,
    row.parent !== null && `from v${row.parent}`,
    row.undone && 'undone'
  ]
    .filter(Boolean)
    .join(', ');
}

interface ShapeProps {
  row: Pick<VariantRow, 'by' | 'holes' | 'status'>;
  current?: boolean;
}

/** Round by hand, a diamond by the tuner, dashed with open numbers, crossed when it failed. */
export function Shape({ row, current }: ShapeProps) {
  const bad = failed(row);
  return (
    <svg
      class={`swb-shape${current ? ' is-current' : ''}${row.holes > 0 ? ' is-open' : ''}${bad ? ' is-failed' : ''}`}
      width="22"
      height="22"
      aria-hidden
    >
      {current && <circle class="swb-halo" cx="11" cy="11" r="9.5" />}
      {row.by === 'tuner' ? (
        <rect x="6.5" y="6.5" width="9" height="9" transform="rotate(45 11 11)" />
      ) : (
        <circle cx="11" cy="11" r="5.5" />
      )}
      {bad && <path d="M8.5 8.5l5 5m0-5l-5 5" />}
    </svg>
  );
}

interface NodeProps {
  row: VariantRow;
  left: number;
  top: number;
  current: boolean;
  stop: boolean;
  marked: boolean;
  best: boolean;
  /** Which of how many branches it is. */
  place: number;
  all: number;
  /** Of the best only: how many times as fast it is as the one on show. */
  gain: number | null;
}

/** The spread is whole, or on the line that is not shown. */
const WHOLE = {
  display: 'flex',
  flexWrap: 'wrap',
  columnGap: '3px',
  justifyContent: 'center',
  maxWidth: '100%',
  height: '16px',
  overflow: 'hidden',
  fontSize: '12px',
  lineHeight: '16px',
  whiteSpace: 'nowrap'
};

export const Node = memo(function Node({ row, left, top, current, stop, marked, gain, best, place, all }: NodeProps) {
  const about =
    words(row) +
    (best ? `, the fastest measured${gain === null ? '' : `, ${factor(gain)}× as fast as the one on show`}` : '');
  const state = `${row.undone ? ' is-undone' : ''}${current ? ' is-current' : ''}${marked ? ' is-marked' : ''}`;
  return (
    <div class={`swb-step${state}`} role="none" style={{ left: `${left}px`, top: `${top}px` }}>
      <button
        role="treeitem"
        data-step={row.id}
        aria-level={row.x + 1}
        aria-posinset={place}
        aria-setsize={all}
        aria-current={current ? 'step' : undefined}
        aria-selected={marked}
        aria-label={about}
        tabIndex={stop ? 0 : -1}
        title={about}
      >
        <span class="swb-step-id swb-cut">
          {row.star && <i>★ </i>}v{row.id}
          {best && (
            <em title={gain !== null ? 'The fastest measured: how many times as fast as the one on show' : undefined}>
              {' best'}
              {gain !== null && !row.name && `, ${factor(gain)}×`}
            </em>
          )}
          {row.name && <b> {row.name}</b>}
        </span>
        <Shape row={row} current={current} />
        <span
          style={WHOLE}
          class={`swb-step-ms${failed(row) ? ' swb-careful' : row.ms === null ? ' swb-faint' : row.doubt ? ' swb-doubt' : ''}${best ? ' is-best' : ''}`}
        >
          {shownAs(row)}
          {row.ms !== null && !failed(row) && <small> {row.same?.replace(' in turns', '') ?? spreadOf(row)}</small>}
        </span>
        <span class="swb-step-text swb-cut">{origin(row)}</span>
      </button>
    </div>
  );
});

/** The name of a variant, to be written where it stands. */
export function NameField({
  row,
  left,
  top,
  onDone
}: {
  row: VariantRow;
  left: number;
  top: number;
  onDone: (name: string | null) => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  const open = useRef(true);
  useEffect(() => {
    field.current?.select();
    return () => {
      open.current = false;
    }; // a field that is taken away loses the focus: that gives no name
  }, []);
  const end = (name: string | null): void => {
    if (!open.current) return;
    open.current = false; // what follows takes the focus away
    onDone(name);
  };
  return (
    <input
      ref={field}
      class="swb-name"
      maxLength={60}
      defaultValue={row.name}
      placeholder={`name of v${row.id}`}
      aria-label={`Name of v${row.id}`}
      style={{ left: `${left}px`, top: `${top}px` }}
      onBlur={event => end(event.currentTarget.value)}
      onKeyDown={event => {
        if (event.key !== 'Enter' && event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        end(event.key === 'Enter' ? event.currentTarget.value : null);
      }}
    />
  );
}
