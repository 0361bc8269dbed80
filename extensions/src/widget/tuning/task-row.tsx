// A row of the task table: it keeps its element, and a changed cell lights up briefly.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { count, micro, milliseconds, percent, signedPercent, spread } from '../../shared/format';
import { memo } from '../elements/memo';
import { ShareBar } from '../elements/share-bar';
import { Spark } from '../elements/sparkline';
import { failureWords, shareOf, TERMS } from './task-columns';
import type { TaskRow } from '../../shared/types';

const FLASH_MS = 150;
const STATES: Record<string, string> = { tuning: 'measuring', exhausted: 'all tried', paused: 'on hold' };
const ESTIMATED =
  'Estimated by a model of the machine, for the schedule that the task has without tuning; nothing was run';
/** A cell that lights up when its text changes, never when it first appears. */
function Cell({
  text,
  name,
  title,
  children
}: {
  text: string;
  name: string;
  title?: string;
  children?: ComponentChildren;
}) {
  const cell = useRef<HTMLTableCellElement>(null);
  const before = useRef(text);
  useEffect(() => {
    if (before.current === text) return;
    before.current = text;
    const el = cell.current;
    if (!el || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const color = getComputedStyle(el).getPropertyValue('--swb-flash').trim();
    if (color) el.animate([{ backgroundColor: color }, { backgroundColor: 'transparent' }], FLASH_MS);
  }, [text]);
  return (
    <td ref={cell} class={name} title={title}>
      {children || text}
    </td>
  );
}

/**
 * Pieces of a name that do not tell tasks apart: the usual kind, an equal channel count, the second side of a square.
 */
const REPEATS = /^conv2d |(?<=\b(\d+))→\1(?= )|(?<=@(\d+))x\2$/g;

/** What a name begins with before its shapes: of a long name this is cut, since shapes tell tasks apart. */
const KIND = /^[a-z]\w* (?=.*\d)/;

/**
 * `conv2d 3x3 64→64 @56x56 + bias + relu`: what is fused into the kernel is drawn fainter. A narrow table leaves out
 * what repeats, so that `3x3 64 @56` stays readable; the title has it all.
 */
function Name({ name }: { name: string }) {
  const at = name.indexOf(' + ');
  const whole = at < 0 ? name : name.slice(0, at);
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const { 0: piece, index } of whole.matchAll(REPEATS)) {
    parts.push(
      whole.slice(from, index),
      <span key={index} class="swb-from-l">
        {piece}
      </span>
    );
    from = index + piece.length;
  }
  const kind = parts.length === 0 ? (KIND.exec(whole)?.[0] ?? '') : '';
  const rest = whole.slice(from + kind.length);
  const fused = at >= 0 && <span class="swb-from-m swb-faint">{name.slice(at)}</span>;
  return kind ? (
    <span class="swb-task-name" style={{ display: 'flex' }}>
      <span class="swb-cut" style={{ flexShrink: 99, whiteSpace: 'pre' }}>
        {kind}
      </span>
      <span class="swb-cut">
        {rest}
        {fused}
      </span>
    </span>
  ) : (
    <>
      {parts}
      {rest}
      {fused}
    </>
  );
}

const known = (value: unknown, text: string): string => (value == null ? '–' : text);

/** What is known of the best time of a task beside the time itself. */
function bestTitle({
  ms,
  untuned_ms: untuned,
  spread: relative,
  confidence,
  compared,
  sure
}: TaskRow): string | undefined {
  if (ms == null) return undefined;
  return (
    [
      sure === 'disturbed' ? sure : relative != null && spread(relative, ms),
      confidence != null && `${percent(confidence)} sure after ${count(compared)} comparisons`,
      untuned != null && `${milliseconds(untuned)} ms untuned`
    ]
      .filter(Boolean)
      .join(' · ') || undefined
  );
}

/** What was found so far. */
function Results({ row, top, state, peak, all }: Pick<RowProps, 'row' | 'top' | 'state' | 'peak' | 'all'>) {
  const guess = row.share == null;
  const share = known(shareOf(row), `${guess ? '≈ ' : ''}${percent(shareOf(row))}`);
  const est = row.ms == null && row.est != null;
  return (
    <>
      <Cell
        text={row.sure === 'disturbed' ? `≤ ${milliseconds(row.ms)}` : known(row.ms, milliseconds(row.ms))}
        name={est ? 'swb-mut' : 'swb-strong'}
        title={est ? ESTIMATED : bestTitle(row)}
      >
        {est && `≈ ${milliseconds(row.est)}`}
      </Cell>
      {all && <Cell text={known(row.gflops, count(row.gflops))} name="swb-from-l" />}
      {all && (
        <Cell
          text={row.gflops == null || !peak ? '–' : percent(row.gflops / peak) + (row.above ? '*' : '')}
          name="swb-from-m"
          title={row.above ?? (row.product && `Of the peak of ${row.product}`)}
        />
      )}
      <Cell text={count(row.trials)} name={`swb-from-m${row.trials ? '' : ' swb-faint'}`} />
      <Cell
        text={share}
        name={`swb-share${guess ? ' swb-mut' : ''}`}
        title={
          guess && row.est_share != null
            ? 'Of times that are in part estimates; it is measured once every task has a time'
            : undefined
        }
      >
        <ShareBar share={shareOf(row)} top={top} guess={guess} />
        <span>{share}</span>
      </Cell>
      {all && (
        <Cell
          text={known(row.delta, row.delta ? signedPercent(row.delta) : '0')}
          name={`swb-from-l${row.delta ? '' : ' swb-faint'}`}
        />
      )}
      <td class="swb-l swb-from-l">
        <Spark values={row.spark} live={state === 'tuning'} />
      </td>
      {all && (
        <Cell
          text={row.failed ? count(row.failed) : '0'}
          name={`swb-from-l${row.failed ? ' swb-careful' : ' swb-faint'}`}
          title={failureWords(row.failures) || 'No failed candidates'}
        />
      )}
      <Cell
        text={STATES[state] ?? state}
        name={`swb-l swb-from-m swb-state is-${state.replace(' ', '-') || 'none'}`}
        title={state === row.state ? row.reason : 'The run is paused in a round of this task'}
      />
    </>
  );
}

/** Why the task is taken next, or not. */
function Outlook({ row, top }: { row: TaskRow; top: number }) {
  return (
    <>
      <Cell text={micro(row.gain)} name="swb-share">
        <ShareBar share={row.gain ?? null} top={top} />
        <span>{micro(row.gain)}</span>
      </Cell>
      <Cell text={count(row.trials)} name={`swb-from-l${row.trials ? '' : ' swb-faint'}`} />
      <Cell text={known(row.rounds, count(row.rounds))} name="swb-from-m" />
      {TERMS.map(([key]) => (
        <Cell key={key} text={micro(row[key])} name={`swb-from-l${row[key] ? '' : ' swb-faint'}`} />
      ))}
      <Cell text={known(row.more, count(row.more))} name={row.more ? 'swb-strong' : 'swb-faint'} />
      <td
        class={`swb-l swb-from-m swb-state swb-why-next is-${row.state.replace(' ', '-') || 'none'}`}
        title={row.reason}
      >
        {row.reason}
      </td>
    </>
  );
}

interface RowProps {
  row: TaskRow;
  state: string;
  top: number;
  peak: number | null;
  open: boolean;
  stop: boolean;
  next: boolean;
  /** Whether all columns are shown. */
  all: boolean;
  onOpen: (id: number) => void;
}

export const Row = memo<RowProps>(({ row, state, top, peak, open, stop, next, all, onOpen }) => (
  <tr
    data-task={row.id}
    tabIndex={stop ? 0 : -1}
    aria-selected={open}
    onClick={() => onOpen(row.id)}
    class={`swb-task${state === 'tuning' ? ' is-tuning' : ''}`}
  >
    <td class="swb-l swb-name" title={row.name}>
      <Name name={row.name} />
    </td>
    <td class="swb-mut">{row.weight}</td>
    {next ? <Outlook row={row} top={top} /> : <Results {...{ row, top, state, peak, all }} />}
  </tr>
));
