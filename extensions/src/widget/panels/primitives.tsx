// What can be done with the selection. What is not legal stays in sight, with the reason.

import { useSignal, type Signal } from '@preact/signals';
import { useLayoutEffect, useRef, type MutableRef } from 'preact/hooks';
import { Button, walk } from '../elements/controls';
import { Blank } from '../elements/blank';
import type { PaletteItem, PaletteSlice, PrimitiveInfo } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import { ENTRY, focusOn, typeIn, useEscape, useUi, type Ui } from '../shell/ui';
import { nameOf } from '../palette/args';
import { showWhy } from '../palette/witness';
import { Elsewhere, Illegal, Legal, type ItemProps } from '../palette/item';

/** Go to where Enter applies the open form: its first input, or the button where nothing is typed. */
const enter = (ui: Ui): void =>
  typeIn(ui.root.current?.querySelector<HTMLElement>(`.swb-form :is(${ENTRY}, [data-swb-apply])`));

/** Sorts of primitives as headings, in the order of use; within a sort those that are used most come first. */
const SORTS: readonly (readonly [string, readonly string[]])[] = [
  ['Loops', ['loop']],
  ['How a loop runs', ['annotation']],
  ['Where a statement runs', ['placement']],
  ['Memory', ['memory', 'layout']],
  ['Algorithm', ['algorithm']]
];
const OFTEN: readonly string[] = ['split', 'tile', 'reorder', 'fuse', 'parallel', 'vectorize', 'unroll', 'tensorize'];

/** Primitives under their headings; what belongs to no known sort comes last. */
function sorted(
  items: readonly PaletteItem[],
  infoOf: (item: PaletteItem) => PrimitiveInfo | undefined
): [string, PaletteItem[]][] {
  const often = (item: PaletteItem): number => {
    const i = OFTEN.indexOf(item.id);
    return i < 0 ? OFTEN.length : i;
  };
  const sortOf = (item: PaletteItem): number => {
    const i = SORTS.findIndex(([, names]) => names.includes(infoOf(item)?.category ?? ''));
    return i < 0 ? SORTS.length : i;
  };
  const groups = [...SORTS.map(([title]) => title), 'Others'].map((title, i): [string, PaletteItem[]] => [
    title,
    items.filter(item => sortOf(item) === i).sort((a, b) => often(a) - often(b))
  ]);
  return groups.filter(([, own]) => own.length > 0);
}

/** Where another selection is asked for, no value would help. */
const elsewhere = (item: PaletteItem): boolean => item.quick.length === 0 && item.hint.startsWith('select');

/** Nothing of this program, target or selection is of the kind that it is about. */
const idle = (item: PaletteItem): boolean =>
  item.quick.length === 0 && item.where.length === 0 && item.witness === null && !elsewhere(item);

/**
 * Illegal primitives: those with reasons of their own one by one, those by what they want selected, and the idle
 * ones.
 */
function parted(illegal: readonly PaletteItem[]): [PaletteItem[], PaletteItem[][], PaletteItem[]] {
  const groups = new Map<string, PaletteItem[]>();
  for (const item of illegal.filter(elsewhere)) {
    groups.set(item.hint, [...(groups.get(item.hint) ?? []), item]);
  }
  return [illegal.filter(item => !elsewhere(item) && !idle(item)), [...groups.values()], illegal.filter(idle)];
}

function Title({ palette, stale }: { palette: PaletteSlice; stale: boolean }) {
  return (
    <header class={`swb-pal-head${stale ? ' is-stale' : ''}`} aria-live="polite">
      {palette.at ? (
        <>
          <b class="swb-mono">{nameOf(palette.at)}</b> <span class="swb-mut">{palette.about}</span>
        </>
      ) : (
        <span class="swb-mut">{palette.about || 'The whole schedule'}</span>
      )}
    </header>
  );
}

/**
 * Which form is open, if any; one that is drawn anew keeps the keyboard, and one that was meant for something else
 * closes.
 */
function useOpened({ store }: PanelProps, ui: Ui, box: MutableRef<HTMLElement | null>): Signal<string> {
  const palette = store.see('palette');
  const variant = store.see('history')?.at;
  const opened = useSignal('');
  const had = box.current?.querySelector('.swb-form')?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    // A form that is drawn anew, since its primitive is no longer legal or has other values, keeps the keyboard.
    if (had && !box.current?.contains(document.activeElement)) enter(ui);
  });
  const legalNow = palette?.rows.some(item => item.id === opened.value && item.legal) ?? false;
  const wasLegal = useRef(false);
  useLayoutEffect(() => {
    // Nobody asked for a form among what is not legal: one that is not in use does not follow its primitive there.
    if (wasLegal.current && !legalNow && !had) opened.value = '';
    wasLegal.current = legalNow;
  });
  const last = useRef(variant);
  useLayoutEffect(() => {
    if (last.current !== variant) {
      opened.value = ''; // a form was meant for the variant that it was opened at
      // Not at once: the page would be laid out now, and again for the panels that are drawn after this one.
      requestAnimationFrame(() => {
        box.current?.closest('.swb-area-palette')?.scrollTo(0, 0);
      });
    }
    last.current = variant;
  }, [variant]);
  const wanted = ui.wanted.value;
  useLayoutEffect(() => {
    if (!wanted) return;
    if (palette?.at === wanted.row) {
      opened.value = wanted.step.primitive; // the form takes the values
      requestAnimationFrame(() => enter(ui));
    } else if (store.selected.peek() !== wanted.row) ui.wanted.value = null;
  }, [wanted, palette]);
  useEscape(opened.value !== '', () => {
    const own = opened.peek();
    opened.value = '';
    focusOn(ui, `.swb-pal [data-swb-item="${own}"]`);
  });
  return opened;
}

/** Arrows walk among the primitives. */
function onKey(event: KeyboardEvent): void {
  if ((event.target as HTMLElement).dataset.swbItem) walk(event, event.currentTarget as Element, '[data-swb-item]');
}

/** What every primitive of a palette is drawn with. */
type Common = (item: PaletteItem) => ItemProps;

function LegalPart({ sorts, at, common }: { sorts: [string, PaletteItem[]][]; at: string; common: Common }) {
  const legal = sorts.flatMap(([, items]) => items);
  return (
    <div class="swb-pal-part">
      <h3 class="swb-h3 swb-pal-group">
        Legal here<span>{legal.length}</span>
      </h3>
      {legal.length === 0 && (
        <p class="swb-pal-none">
          {at
            ? 'Nothing: the reasons are below. Select another row, or undo a step.'
            : 'Select a loop or a statement first.'}
        </p>
      )}
      {sorts.map(([title, items]) => (
        <div key={title} role="group" aria-label={title}>
          {sorts.length > 1 && (
            <p class="swb-pal-sort" aria-hidden>
              {title}
            </p>
          )}
          {items.map(item => (
            <Legal key={item.id} {...common(item)} place={legal.indexOf(item) + 1} />
          ))}
        </div>
      ))}
    </div>
  );
}

interface IllegalPartProps {
  own: PaletteItem[];
  groups: PaletteItem[][];
  rest: PaletteItem[];
  more: Signal<boolean>;
  stop: string | undefined;
  common: Common;
}

function IllegalPart({ own, groups, rest, more, stop, common }: IllegalPartProps) {
  const refused = (item: PaletteItem) => <Illegal key={item.id} {...common(item)} />;
  return (
    <div class="swb-pal-part">
      <h3 class="swb-h3 swb-pal-group">
        Not legal here<span>{own.length + groups.flat().length + rest.length}</span>
      </h3>
      <ul class="swb-illegals">
        {own.map(refused)}
        {groups.map(items => (
          <Elsewhere key={items[0]!.hint} items={items} stop={stop} />
        ))}
        {rest.length > 0 && (
          <li class="swb-illegal">
            <Button
              class="swb-link is-quiet"
              data-swb-do="rest"
              aria-expanded={more.value}
              title={rest.map(item => item.id).join(', ')}
              onPress={() => {
                more.value = !more.value;
              }}
            >
              {more.value ? '▼' : '►'} {rest.length} more that nothing here is suited to
            </Button>
          </li>
        )}
        {more.value && rest.map(refused)}
      </ul>
    </div>
  );
}

function View(props: PanelProps) {
  const { store } = props;
  const ui = useUi();
  const palette = store.see('palette');
  const infos = store.see('meta')?.primitives ?? [];
  const tabStop = useSignal('');
  const more = useSignal(false);
  const box = useRef<HTMLElement>(null);
  const opened = useOpened(props, ui, box);
  if (!palette || palette.rows.length === 0) {
    return (
      <Blank title="Nothing to change yet">
        Open a task, then select a loop: what is legal there is listed here, and why the rest is not.
      </Blank>
    );
  }
  const at = nameOf(palette.at);
  const infoOf = (item: PaletteItem): PrimitiveInfo | undefined => infos.find(info => info.name === item.id);
  const toggle = (item: PaletteItem): void => {
    opened.value = opened.value === item.id ? '' : item.id;
    if (opened.value) requestAnimationFrame(() => enter(ui));
  };
  const sorts = sorted(
    palette.rows.filter(item => item.legal),
    infoOf
  );
  const [own, groups, rest] = parted(
    sorted(
      palette.rows.filter(item => !item.legal),
      infoOf
    ).flatMap(([, items]) => items)
  );
  const all = [...sorts.flatMap(([, items]) => items), ...own, ...groups.flat(), ...(more.value ? rest : [])];
  const stop = all.some(item => item.id === tabStop.value) ? tabStop.value : all[0]?.id;
  const common: Common = item => ({
    ...props,
    item,
    info: infoOf(item),
    at,
    open: opened.value === item.id,
    stop: item.id === stop,
    show: (step, why) => {
      ui.said.value = showWhy(store, ui, step, why);
    },
    onToggle: () => toggle(item),
    // Its step was taken; who has closed it or opened another one meanwhile is not disturbed.
    onDone: () => {
      if (opened.value === item.id) opened.value = '';
    }
  });
  return (
    <section
      ref={box}
      class="swb-pal"
      aria-label="Primitives for the selection"
      onKeyDown={onKey}
      onFocusIn={event => {
        const name = (event.target as HTMLElement).dataset.swbItem;
        if (name) tabStop.value = name;
      }}
    >
      <Title palette={palette} stale={store.selecting.value && store.link.value !== 'ok'} />
      <div class="swb-pal-body">
        <LegalPart sorts={sorts} at={palette.at} common={common} />
        <IllegalPart own={own} groups={groups} rest={rest} more={more} stop={stop} common={common} />
      </div>
    </section>
  );
}

export default { name: 'palette', title: 'Primitives', at: ['right'], View } satisfies Panel;
