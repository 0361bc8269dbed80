// The whole workbench: header, notes, one of two screens, status bar.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Button, Key } from '../shared/a11y';
import { Blank } from '../shared/blank';
import { capacity } from '../shared/format';
import { RooflineFold } from './charts/chart';
import { Header } from './header';
import { Notes } from './notes';
import type { PanelProps } from './panel';
import { PANELS } from './panels';
import { panelOf, Tabs } from './tabs';
import { useUi, type Middle } from './ui';
import { linkWords } from './words';

function Slot({ name, tab, store, model }: PanelProps & { name: string; tab?: boolean }) {
  const ui = useUi();
  const Panel = PANELS[name];
  return Panel ? <div class={`swb-slot swb-slot-${name}`} data-swb-panel={name} {...(tab ? panelOf(ui, 'middle', name) : {})}><Panel store={store} model={model} /></div> : null;
}

/** The model's graph, or the stages of the open task; both where there are both. */
function Pictures({ names, ...props }: PanelProps & { names: readonly string[] }) {
  const wanted = useSignal('');
  const name = names.includes(wanted.value) ? wanted.value : names[0]!;
  return (
    <div class="swb-pictures">
      {names.length > 1 && (
        <div class="swb-switch" role="group" aria-label="Which graph">
          {names.map(one => (
            <button key={one} aria-pressed={one === name} onClick={() => { wanted.value = one; }}>
              {one === 'graph' ? 'Model' : 'Stages'}
            </button>
          ))}
        </div>
      )}
      <Slot key={name} {...props} name={name} />
    </div>
  );
}

type Has = (name: string) => boolean;
const MIDDLE: readonly (readonly [Middle, string])[] = [['nest', 'Loop nest'], ['code', 'Code'], ['diff', 'Diff']];

/** The loop nest, its code, or what differs between two variants: tabs where there is more than one. */
function Centre({ has, ...props }: PanelProps & { has: Has }) {
  const ui = useUi();
  const tabs = MIDDLE.filter(([name]) => has(name));
  const open = tabs.find(([name]) => name === ui.middle.value)?.[0] ?? tabs[0]?.[0];
  const pick = (name: Middle): void => { ui.middle.value = name; };
  if (!open) return null;
  return (
    <>
      {tabs.length > 1 && <Tabs name="middle" label="Views of the schedule" tabs={tabs} open={open} onPick={pick} />}
      <Slot key={open} {...props} name={open} tab={tabs.length > 1} />
      {open === 'nest' && has('accesses') && <Slot {...props} name="accesses" />}
    </>
  );
}

function Schedule({ has, ...props }: PanelProps & { has: Has }) {
  const ui = useUi();
  const pictures = ['graph', 'stages'].filter(has);
  const left = pictures.length > 0 || has('tasks');
  const main = has('nest') || has('palette');
  return (
    <div class={`swb-schedule${left ? '' : ' no-left'}${main ? '' : ' no-main'}`} {...(has('tuning') ? panelOf(ui, 'screens', 'schedule') : {})}>
      {main && <Area name="nest"><Centre {...props} has={has} /></Area>}
      {has('palette') && <Area name="palette"><Slot {...props} name="palette" /></Area>}
      {left && (
        <Area name="left">
          {pictures.length > 0 && <Pictures {...props} names={pictures} />}
          {has('tasks') && <Slot {...props} name="tasks" />}
        </Area>
      )}
      {has('variants') && <Area name="variants"><Slot {...props} name="variants" />{has('chart') && <RooflineFold {...props} />}</Area>}
    </div>
  );
}

const Area = ({ name, children }: { name: string; children: ComponentChildren }) => <div class={`swb-area-${name}`}>{children}</div>;

/** Tuning, or a log to look at, which nothing can be started on. */
function Tuning({ has, ...props }: PanelProps & { has: Has }) {
  const ui = useUi();
  return (
    <div class="swb-tuning-screen" {...(has('tuning') ? panelOf(ui, 'screens', 'tuning') : {})}>
      {has('tuning') && <Slot {...props} name="tuning" />}
      <div class="swb-tuning-grid">
        {has('tasks') && <Slot {...props} name="tasks" />}
        {has('chart') && <Slot {...props} name="chart" />}
      </div>
    </div>
  );
}

function StatusBar({ store }: PanelProps) {
  const ui = useUi();
  const meta = store.see('meta');
  const log = store.see('status')?.log ?? '';
  const words = linkWords(store);
  const caches = meta?.caches.map(cache => `${cache.name} ${capacity(cache.bytes)}`) ?? [];
  const target = [meta?.target, ...caches].filter(Boolean).join(' · ');
  return (
    <footer class="swb-foot">
      <span class="swb-foot-link swb-cut" role="status" title={words.short}><i class={`swb-lamp is-${words.level}`} />{words.short}</span>
      <span class="swb-foot-target swb-cut" title={target}>{target}</span>
      {log && <span class="swb-foot-log swb-cut" title={log}>{log.split(/[\\/]/).pop()}</span>}
      <Button class="swb-link" onPress={() => { ui.sheet.value = true; }}>Keyboard<Key>?</Key></Button>
    </footer>
  );
}

function Nothing() {
  return (
    <Blank title="Nothing is open">
      Pass a model, a task, a schedule or a tuning log: <code>Workbench(load_onnx("model.onnx"))</code>
    </Blank>
  );
}

export function Shell(props: PanelProps) {
  const ui = useUi();
  const panels = props.store.see('meta')?.panels ?? [];
  const has = (name: string): boolean => panels.includes(name);
  const tuning = has('tuning') ? ui.tab.value === 'tuning' : !has('nest');
  return (
    <>
      <Header store={props.store} />
      <Notes store={props.store} />
      {panels.length === 0 ? <Nothing /> : tuning ? <Tuning {...props} has={has} /> : <Schedule {...props} has={has} />}
      <StatusBar {...props} />
    </>
  );
}
