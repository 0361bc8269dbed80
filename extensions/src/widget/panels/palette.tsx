// What can be done with the selection. What is not legal stays in sight, with the reason.

import { useSignal } from '@preact/signals';
import { Button, walk } from '../../shared/a11y';
import { Blank } from '../../shared/blank';
import type { PaletteItem, PaletteSlice, PrimitiveInfo, Verdict } from '../../shared/types';
import { stepText } from '../describe';
import { markRows } from '../marks';
import type { PanelProps } from '../panel';
import { focusOn, useUi } from '../ui';
import { sentence } from '../words';
import { nameOf, type Draft } from './args';
import { PrimitiveForm } from './form';

/** Where Enter applies: the numbers on offer, or the button where there is nothing to choose. */
const FIRST_CHOICE = '.swb-form [role=radio][tabindex="0"], .swb-form [data-swb-apply]';

type Show = (step: string, verdict: Pick<Verdict, 'reason' | 'hint' | 'where' | 'witness'>) => void;

/** What stands beside the name of a legal primitive. */
function offer(item: PaletteItem, info: PrimitiveInfo | undefined, at: string): string {
  const legal = item.quick.filter(move => move.legal);
  if (legal.length === 1 && legal[0]!.label !== at) return legal[0]!.label;
  return info?.summary ?? '';
}

interface LegalProps extends PanelProps {
  item: PaletteItem; info: PrimitiveInfo | undefined; at: string; open: boolean; place: number; stop: boolean; onToggle: () => void; show: Show;
}

function Legal({ item, info, at, open, place, stop, onToggle, show, ...props }: LegalProps) {
  const text = offer(item, info, at);
  return (
    <div class={`swb-item${open ? ' is-open' : ''}`}>
      <button type="button" data-swb-legal data-swb-item={item.primitive} tabIndex={stop ? 0 : -1} aria-expanded={open ? 'true' : 'false'} title={info?.summary} onClick={onToggle}>
        <span class="swb-mono">{item.primitive}</span>
        <span class="swb-offer">{open ? '' : text}</span>
        <span class="swb-faint" title={place <= 9 ? `Key ${place}` : undefined}>{place <= 9 ? place : ''}</span>
      </button>
      {open && info && (
        <PrimitiveForm key={`${item.primitive} ${at}`} {...props} item={item} info={info} at={at} onDone={onToggle}
          onShow={(draft: Draft, verdict: Verdict) => show(stepText(item.primitive, draft), verdict)} />
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
  const step = first ? stepText(item.primitive, first.args) : at ? `${item.primitive}(${at})` : item.primitive;
  const visible = item.where.length > 0 || item.witness !== null;
  // Where another selection is asked for, no value would help.
  const form = item.quick.length > 0 || !item.hint.startsWith('select');
  const onShow = (): void => { if (visible) show(step, item); };
  return (
    <li class={`swb-illegal${open ? ' is-open' : ''}`}>
      <button type="button" aria-disabled="true" data-swb-item={item.primitive} tabIndex={stop ? 0 : -1} onClick={onShow}
        aria-label={`${item.primitive}, not legal here: ${item.reason}`} title={visible ? 'Not legal here. Press to see why' : 'Not legal here'}><s>{item.primitive}</s></button>
      <p>{item.reason} {item.hint && <span class="swb-faint">{sentence(item.hint)} </span>}
        {visible && <><Button class="swb-link" data-swb-show={item.primitive} aria-label={`Show me why ${item.primitive} is not legal`} onPress={onShow}>Show me</Button>{' '}</>}
        {info && form && <Button class="swb-link is-quiet" aria-expanded={open ? 'true' : 'false'} aria-label={`Other values for ${item.primitive}`} onPress={onToggle}>{open ? 'Close' : 'Other values'}</Button>}</p>
      {open && info && (
        <PrimitiveForm key={`${item.primitive} ${at}`} {...props} item={item} info={info} at={at} onDone={onToggle}
          onShow={(draft: Draft, verdict: Verdict) => show(stepText(item.primitive, draft), verdict)} />
      )}
    </li>
  );
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
  if (!palette || palette.items.length === 0) {
    return <Blank title="Nothing to change yet">Open a task, then select a loop: what is legal there is listed here, and why the rest is not.</Blank>;
  }
  const show: Show = (step, { reason, hint, where, witness }) => {
    const said = markRows(store, ui, where);
    ui.said.value = said;
    ui.shown.value = witness ? { step, reason, hint, where, witness } : null;
  };
  const at = nameOf(palette.at);
  const infoOf = (item: PaletteItem): PrimitiveInfo | undefined => infos.find(info => info.name === item.primitive);
  const toggle = (item: PaletteItem): void => {
    opened.value = opened.value === item.primitive ? '' : item.primitive;
    if (opened.value) requestAnimationFrame(() => focusOn(ui, FIRST_CHOICE));
  };
  const legal = palette.items.filter(item => item.legal);
  const illegal = palette.items.filter(item => !item.legal);
  const all = [...legal, ...illegal];
  const stop = all.some(item => item.primitive === tabStop.value) ? tabStop.value : all[0]?.primitive;
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
          {legal.map((item, i) => (
            <Legal key={item.primitive} {...props} item={item} info={infoOf(item)} at={at} place={i + 1} show={show}
              open={opened.value === item.primitive} stop={item.primitive === stop}
              onToggle={() => toggle(item)} />
          ))}
        </div>
        <div class="swb-pal-part">
          <h3 class="swb-h3 swb-pal-group">Not legal here<span>{illegal.length}</span></h3>
          <ul class="swb-illegals">
            {illegal.map(item => (
              <Illegal key={item.primitive} {...props} item={item} info={infoOf(item)} at={at} stop={item.primitive === stop} show={show}
                open={opened.value === item.primitive} onToggle={() => toggle(item)} />
            ))}
          </ul>
        </div>
      </div>
    </section>
  );
}
