// The drawing of the tree of variants: arrows walk, Enter goes there, F2 and Delete do what the buttons do.

import { useEffect, useRef } from 'preact/hooks';
import type { HistorySlice, VariantRow } from '../../shared/types';
import type { Ui } from '../shell/ui';
import { mark, marked } from './compare';
import { NameField, Node } from './node';
import { cell, edge, HEIGHT, next, WIDTH, type Tree } from './tree';

const whole = (at: number, cell: number): number => cell * Math.ceil(at / cell);

/** Scroll the box, and not the page, until a cell can be seen; the first one in sight is not cut. */
function bringIn(box: HTMLElement, [left, top]: readonly [number, number]): void {
  if (left < box.scrollLeft || left + WIDTH > box.scrollLeft + box.clientWidth)
    box.scrollLeft = whole(left - (box.clientWidth - WIDTH) / 2, WIDTH);
  if (top < box.scrollTop || top + HEIGHT > box.scrollTop + box.clientHeight)
    box.scrollTop = whole(top - (box.clientHeight - HEIGHT) / 2, HEIGHT);
}

const idOf = (event: Event): number =>
  Number((event.target as Element).closest<HTMLElement>('[data-step]')?.dataset.step ?? NaN);

interface DrawingProps {
  ui: Ui;
  history: HistorySlice;
  tree: Tree;
  chosen: VariantRow;
  naming: VariantRow | undefined;
  onGo: (id: number) => void;
  onPick: (id: number) => void;
  onName: (name: string | null) => void;
}

/** Keys of a node that do what a button below the tree does. */
const BUTTONS: Readonly<Record<string, string>> = { F2: 'name', Delete: 'forget' };

function Edges({ tree, path }: { tree: Tree; path: readonly number[] }) {
  const shown = new Set(path);
  return (
    <svg class="swb-edges" width={tree.width} height={tree.height} aria-hidden>
      {tree.order
        .filter(row => row.parent !== null)
        .map(row => (
          <path
            key={row.id}
            d={edge(tree, row)}
            class={row.undone ? 'is-undone' : shown.has(row.id) ? 'is-path' : ''}
          />
        ))}
    </svg>
  );
}

export function Drawing({ ui, history, tree, chosen, naming, onGo, onPick, onName }: DrawingProps) {
  const box = useRef<HTMLDivElement>(null);
  const { at, best } = history;
  const here = tree.rows.get(at)!;
  useEffect(() => {
    // At once, and when there is less room.
    const look = new ResizeObserver(() => bringIn(box.current!, cell(tree, here)));
    look.observe(box.current!);
    return () => look.disconnect();
  }, [at, here.x, here.y, tree.rows.size]);
  const focus = (row: VariantRow | undefined): void => {
    if (!row || !box.current) return;
    box.current.querySelector<HTMLElement>(`[data-step="${row.id}"]`)?.focus({ preventScroll: true });
    bringIn(box.current, cell(tree, row));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = tree.rows.get(idOf(event));
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    if (/^(Arrow|Home$|End$)/.test(key)) focus(next(tree, row, at, key));
    else if (key === 'Enter' && event.shiftKey) mark(ui, row.id);
    else if (BUTTONS[key])
      ui.root.current?.querySelector<HTMLElement>(`.swb-chosen [data-swb-do=${BUTTONS[key]}]`)?.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const gain = history.ahead?.gain ?? null;
  const marks = marked(ui);
  const [left, top] = cell(tree, naming ?? chosen);
  return (
    <div ref={box} class="swb-steps">
      <div
        class="swb-tree"
        role="tree"
        aria-label="Variants"
        aria-multiselectable="true"
        style={{ width: `${tree.width}px`, height: `${tree.height}px` }}
        onKeyDown={onKeyDown}
        onFocusIn={event => onPick(idOf(event))}
        onClick={event => {
          if (event.shiftKey) mark(ui, idOf(event));
          else onGo(idOf(event));
        }}
      >
        <Edges tree={tree} path={history.path} />
        {tree.order.map(row => {
          const [x, y] = cell(tree, row);
          const [place, all] = tree.among.get(row.id)!;
          return (
            <Node
              key={row.id}
              row={row}
              left={x}
              top={y}
              current={row.id === at}
              stop={row === chosen}
              place={place}
              all={all}
              best={row.id === best}
              gain={row.id === best ? gain : null}
              marked={marks.includes(row.id)}
            />
          );
        })}
      </div>
      {naming && (
        <NameField
          key={naming.id}
          row={naming}
          left={left}
          top={top}
          onDone={name => {
            onName(name);
            focus(naming);
          }}
        />
      )}
    </div>
  );
}
