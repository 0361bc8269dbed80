// What can be done with the selection. What is not legal stays in sight, with the reason.

import { useSignal } from '@preact/signals';
import { Button, walk } from '../../shared/a11y';
import { Blank } from '../../shared/blank';
import type { Args, PaletteItem, PaletteSlice, PrimitiveInfo, Verdict } from '../../shared/types';
import { stepText } from '../describe';
import { markRows } from '../marks';
import type { PanelProps } from '../panel';
import { focusOn, useUi } from '../ui';
import { sentence } from '../words';
import { nameOf } from './args';
import { PrimitiveForm } from './form';

/** Where Enter applies: the numbers on offer, or the button where there is nothing to choose. */
const FIRST_CHOICE = '.swb-form [role=radio][tabindex="0"], .swb-form [data-swb-apply]';

type Show = (step: string, verdict: Pick<Verdict, 'reason' | 'hint' | 'where' | 'witness'>) => void;

/** What stands beside the name of a legal primitive. */
function offer(item: PaletteItem, info: PrimitiveInfo | undefined, at: string): string {
  const [first, second] = item.quick;
  if (first && !second && first.label !== at) return first.label;
  return info?.summary.replaceAll('``', '') ?? '';
}

interface LegalProps extends PanelProps {
  item: PaletteItem; info: PrimitiveInfo | undefined; at: string; open: boolean; place: number; stop: boolean; onToggle: () => void; show: Show;
}

function Legal({ item, info, at, open, place, stop, onToggle, show, ...props }: LegalProps) {
  const text = offer(item, info, at);
  return (
    <div class={`swb-item${open ? ' is-open' : ''}`}>
      <button type="button" data-swb-legal data-swb-item={item.id} tabIndex={stop ? 0 : -1} aria-expanded={open ? 'true' : 'false'} title={info?.summary.replaceAll('``', '')} onClick={onToggle}>
        <span class="swb-mono">{item.id}</span>
        <span class="swb-offer swb-cut">{open ? '' : text}</span>
        <span class="swb-faint" title={place <= 9 ? `Key ${place}` : undefined}>{place <= 9 ? place : ''}</span>
      </button>
      {open && info && (
        <PrimitiveForm key={`${item.id} ${at}`} {...props} item={item} info={info} at={at} onDone={onToggle}
          onShow={(args: Args, verdict: Verdict) => show(stepText(item.id, args), verdict)} />
      )}
    </div>
  );
}

interface IllegalProps extends PanelProps {
  item: PaletteItem; info: PrimitiveInfo | undefined; at: string; open: boolean; stop: boolean; onToggle: () => void; show: Show;
}

/** What was tried is not legal; other values may be, so the form is at hand here too. */
function Illegal({ item, info, at, open, stop, onToggle, show, ...props }: IllegalProps) {
  const first = item.quick[0];
  const step = first ? stepText(item.id, first.args) : at ? `${item.id}(${at})` : item.id;
  const visible = item.where.length > 0 || item.witness !== null;
  const onShow = (): void => { if (visible) show(step, item); };
  return (
    <li class={`swb-illegal${open ? ' is-open' : ''}`}>
      <button type="button" aria-disabled="true" data-swb-item={item.id} tabIndex={stop ? 0 : -1} onClick={onShow}
        aria-label={`${item.id}, not legal here: ${item.reason}`} title={visible ? 'Not legal here. Press to see why' : 'Not legal here'}><s>{item.id}</s></button>
      <p>{item.reason} {item.hint && <span class="swb-faint">{sentence(item.hint)} </span>}
        {visible && <><Button class="swb-link" data-swb-show={item.id} aria-label={`Show me why ${item.id} is not legal`} onPress={onShow}>Show me</Button>{' '}</>}
        {info && <Button class="swb-link is-quiet" aria-expanded={open ? 'true' : 'false'} aria-label={`Other values for ${item.id}`} onPress={onToggle}>{open ? 'Close' : 'Other values'}</Button>}</p>
      {open && info && (
        <PrimitiveForm key={`${item.id} ${at}`} {...props} item={item} info={info} at={at} onDone={onToggle}
          onShow={(args: Args, verdict: Verdict) => show(stepText(item.id, args), verdict)} />
      )}
    </li>
  );
}

/** Primitives that want another kind of selection, with the one sentence that holds for all of them. */
function Elsewhere({ items, stop }: { items: readonly PaletteItem[]; stop: string | undefined }) {
  const [first] = items;
  return (
    <li class="swb-illegal is-group">
      <span class="swb-names">
        {items.map(item => (
          <button key={item.id} type="button" aria-disabled="true" data-swb-item={item.id} tabIndex={item.id === stop ? 0 : -1}
            aria-label={`${item.id}, not legal here: ${item.reason}`} title="Not legal here"><s>{item.id}</s></button>
        ))}
      </span>
      <p>{first!.reason} <span class="swb-faint">{sentence(first!.hint)}</span></p>
    </li>
  );
}

/** Sorts of primitives as headings, in the order of use; within a sort those that are used most come first. */
const SORTS: readonly (readonly [string, readonly string[]])[] = [
  ['Loops', ['loop']], ['How a loop runs', ['annotation']], ['Where a statement runs', ['placement']],
  ['Memory', ['memory', 'layout']], ['Algorithm', ['algorithm']]
];
const OFTEN: readonly string[] = ['split', 'tile', 'reorder', 'fuse', 'parallel', 'vectorize', 'unroll', 'tensorize'];

/** Primitives under their headings; what belongs to no known sort comes last. */
function sorted(items: readonly PaletteItem[], infoOf: (item: PaletteItem) => PrimitiveInfo | undefined): [string, PaletteItem[]][] {
  const often = (item: PaletteItem): number => { const i = OFTEN.indexOf(item.id); return i < 0 ? OFTEN.length : i; };
  const sortOf = (item: PaletteItem): number => {
    const i = SORTS.findIndex(([, names]) => names.includes(infoOf(item)?.category ?? ''));
    return i < 0 ? SORTS.length : i;
  };
  const groups = [...SORTS.map(([title]) => title), 'Others'].map((title, i): [string, PaletteItem[]] => [title, items.filter(item => sortOf(item) === i).sort((a, b) => often(a) - often(b))]);
  return groups.filter(([, own]) => own.length > 0);
}

/** Where another selection is asked for, no value would help. */
const elsewhere = (item: PaletteItem): boolean => item.quick.length === 0 && item.hint.startsWith('select');

/** Illegal primitives: those with reasons of their own one by one, then the others by what they want selected. */
function parted(illegal: readonly PaletteItem[]): [PaletteItem[], PaletteItem[][]] {
  const groups = new Map<string, PaletteItem[]>();
  for (const item of illegal.filter(elsewhere)) {
    groups.set(item.hint, [...(groups.get(item.hint) ?? []), item]);
  }
  return [illegal.filter(item => !elsewhere(item)), [...groups.values()]];
}

function Title({ palette, stale }: { palette: PaletteSlice; stale: boolean }) {
  return (
    <header class={`swb-pal-head${stale ? ' is-stale' : ''}`} aria-live="polite">
      {palette.at ? <><b class="swb-mono">{nameOf(palette.at)}</b> <span class="swb-mut">{palette.about}</span></> : <span class="swb-mut">{palette.about || 'The whole schedule'}</span>}
    </header>
  );
}

export function PalettePanel(props: PanelProps) {
  const { store } = props;
  const ui = useUi();
  const palette = store.slice('palette').value;
  const infos = store.slice('meta').value?.primitives ?? [];
  const opened = useSignal('');
  const tabStop = useSignal('');
  if (!palette || palette.rows.length === 0) {
    return <Blank title="Nothing to change yet">Open a task, then select a loop: what is legal there is listed here, and why the rest is not.</Blank>;
  }
  const show: Show = (step, { reason, hint, where, witness }) => {
    const said = markRows(store, ui, where);
    ui.said.value = said;
    ui.shown.value = witness ? { step, reason, hint, where, witness } : null;
  };
  const at = nameOf(palette.at);
  const infoOf = (item: PaletteItem): PrimitiveInfo | undefined => infos.find(info => info.name === item.id);
  const toggle = (item: PaletteItem): void => {
    opened.value = opened.value === item.id ? '' : item.id;
    if (opened.value) requestAnimationFrame(() => focusOn(ui, FIRST_CHOICE));
  };
  const sorts = sorted(palette.rows.filter(item => item.legal), infoOf);
  const legal = sorts.flatMap(([, items]) => items);
  const illegal = sorted(palette.rows.filter(item => !item.legal), infoOf).flatMap(([, items]) => items);
  const [own, groups] = parted(illegal);
  const all = [...legal, ...own, ...groups.flat()];
  const stop = all.some(item => item.id === tabStop.value) ? tabStop.value : all[0]?.id;
  const stale = store.selecting.value && store.link.value !== 'ok';
  return (
    <section class="swb-pal" aria-label="Primitives for the selection"
      onFocusIn={event => { const name = (event.target as HTMLElement).dataset.swbItem; if (name) tabStop.value = name; }}
      onKeyDown={event => { if ((event.target as Element).matches('[data-swb-item]')) walk(event, event.currentTarget, '[data-swb-item]'); }}>
      <Title palette={palette} stale={stale} />
      <div class="swb-pal-body">
        <div class="swb-pal-part">
          <h3 class="swb-h3 swb-pal-group">Legal here<span>{legal.length}</span></h3>
          {legal.length === 0 && <p class="swb-pal-none">{palette.at ? 'Nothing: the reasons are below. Select another row, or undo a step.' : 'Select a loop or a statement first.'}</p>}
          {sorts.map(([title, items]) => (
            <div key={title} role="group" aria-label={title}>
              {sorts.length > 1 && <p class="swb-pal-sort" aria-hidden="true">{title}</p>}
              {items.map(item => (
                <Legal key={item.id} {...props} item={item} info={infoOf(item)} at={at} place={legal.indexOf(item) + 1} show={show}
                  open={opened.value === item.id} stop={item.id === stop}
                  onToggle={() => toggle(item)} />
              ))}
            </div>
          ))}
        </div>
        <div class="swb-pal-part">
          <h3 class="swb-h3 swb-pal-group">Not legal here<span>{illegal.length}</span></h3>
          <ul class="swb-illegals">
            {own.map(item => (
              <Illegal key={item.id} {...props} item={item} info={infoOf(item)} at={at} stop={item.id === stop} show={show}
                open={opened.value === item.id} onToggle={() => toggle(item)} />
            ))}
            {groups.map(items => <Elsewhere key={items[0]!.hint} items={items} stop={stop} />)}
          </ul>
        </div>
      </div>
    </section>
  );
}
