// A long list of lines of one height, of which only those on the screen are drawn. One line is at hand: keys move it.

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { useUi } from '../shell/ui';

export const LINE = 16;
const TALL = 44;
const BEYOND = 8;

/**
 * `stops` are the lines that the arrows lead to, where it is not every one; `moved` is told of a line that was gone
 * to.
 */
export function useWindow(
  total: number,
  { stops, moved }: { stops?: readonly number[]; moved?: (line: number) => void } = {}
) {
  const box = useRef<HTMLDivElement>(null);
  const { id } = useUi();
  const top = useSignal(0);
  const cursor = useSignal(0);
  const at = Math.max(0, Math.min(cursor.value, total - 1));
  const from = Math.max(0, Math.min(Math.floor(top.value / LINE), total - TALL) - BEYOND);
  const to = Math.min(total, from + TALL + 2 * BEYOND);

  const go = (line: number): void => {
    const next = Math.min(total - 1, Math.max(0, line));
    const el = box.current!;
    cursor.value = next;
    if (next * LINE < el.scrollTop) el.scrollTop = next * LINE;
    else if ((next + 2) * LINE > el.scrollTop + el.clientHeight) el.scrollTop = (next + 2) * LINE - el.clientHeight;
    moved?.(next);
  };
  /** Show a line near the top, without a word to anybody. */
  const reveal = (line: number): void => {
    cursor.value = line;
    if (box.current) box.current.scrollTop = Math.max(0, (line - 2) * LINE);
  };
  const target = (key: string): number | undefined => {
    if (key === 'ArrowDown') return stops ? stops.find(one => one > at) : at + 1;
    if (key === 'ArrowUp') return stops ? stops.filter(one => one < at).pop() : at - 1;
    const far: Readonly<Record<string, number>> = {
      PageDown: at + TALL - 2,
      PageUp: at - TALL + 2,
      Home: 0,
      End: total - 1
    };
    return far[key];
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || !/^(Arrow(Up|Down)|Page(Up|Down)|Home|End)$/.test(event.key))
      return;
    event.preventDefault();
    event.stopPropagation();
    const line = target(event.key);
    if (line !== undefined) go(line);
  };
  const onClick = (event: MouseEvent): void => {
    const line = (event.target as Element).closest<HTMLElement>('[data-line]')?.dataset.line;
    if (line !== undefined && !String(getSelection())) go(Number(line));
  };
  const idOf = (line: number): string => `${id}-line-${line}`;
  return {
    at,
    from,
    to,
    reveal,
    idOf,
    /** For the element that scrolls, for the one as tall as all lines, and for the one with those that are drawn. */
    box: {
      ref: box,
      role: 'listbox' as const,
      tabIndex: 0,
      'aria-activedescendant': idOf(at),
      style: `--swb-tall:${TALL * LINE}px`,
      onKeyDown,
      onClick,
      onScroll: (event: Event) => {
        top.value = (event.currentTarget as Element).scrollTop;
      }
    },
    all: { role: 'presentation' as const, style: `height:${total * LINE}px` },
    part: { role: 'presentation' as const, class: 'swb-lines-part', style: `top:${from * LINE}px` }
  };
}
