// The whole workbench: header, notes, one of three screens, status bar.

import { PANELS } from '@panels';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Button, Key } from '../elements/controls';
import { Blank } from '../elements/blank';
import { capacity } from '../../shared/format';
import { Header } from './header';
import { Notes } from './notes';
import type { Panel, PanelProps, Place } from '../panel';
import { roomStyle } from './room';
import { Splitter } from './splitter';
import { Switch } from '../elements/switch';
import { panelOf, Tabs } from '../elements/tabs';
import { useUi } from './ui';
import { linkWords } from '../kernel/link-words';
import { useGraphFirst, WholeButton } from './whole';
import { useWide } from './wide';

/** The panels that stand in a place, of those that the kernel has something for. */
type At = (place: Place) => readonly Panel[];
type Placed = PanelProps & { at: At };

/** Panels that take turns in one `place` have all the room together. */
function Slot({
  panel: { name, title, View },
  place,
  tab,
  ...props
}: PanelProps & { panel: Panel; place?: string; tab?: boolean }) {
  const ui = useUi();
  const own = place ?? name;
  return (
    <div
      class={`swb-slot swb-slot-${name}${ui.whole.value === own ? ' is-whole' : ''}`}
      data-swb-panel={name}
      data-swb-place={own}
      {...(tab ? panelOf(ui, 'middle', name) : {})}
    >
      <WholeButton name={own} title={title} />
      <View {...props} />
    </div>
  );
}

/** Panels one below the other. */
const Slots = ({ panels, ...props }: PanelProps & { panels: readonly Panel[] }) => (
  <>
    {panels.map(panel => (
      <Slot key={panel.name} {...props} panel={panel} />
    ))}
  </>
);

/** The model's graph, or the stages of the open task; both where there are both. */
function Drawings({ panels, ...props }: PanelProps & { panels: readonly Panel[] }) {
  const wanted = useSignal('');
  const open = panels.find(one => one.name === wanted.value) ?? panels[0]!;
  return (
    <div class="swb-pictures">
      {panels.length > 1 && (
        <Switch
          label="Which graph"
          values={panels.map(one => [one, one.title] as const)}
          value={open}
          onPick={({ name }) => {
            wanted.value = name;
          }}
        />
      )}
      <Slot key={open.name} {...props} panel={open} place="drawing" />
      <Splitter part="drawing" />
    </div>
  );
}

/** Panels of the middle that stand side by side where there is room for both. */
const BESIDE: readonly string[] = ['nest', 'code'];

/** The loop nest, its code, or what differs between two variants: tabs where there is more than one. */
function Centre({ at, ...props }: Placed) {
  const { middle } = useUi();
  const wide = useWide();
  const panels = at('middle');
  const open = panels.find(({ name }) => name === middle.value) ?? panels[0];
  if (!open) return null;
  const { name } = open;
  const many = panels.length > 1;
  const tabs = panels.map(one => [one.name, one.title] as const);
  const pick = (picked: string): void => {
    middle.value = picked;
  };
  const both = BESIDE.includes(name) ? panels.filter(one => BESIDE.includes(one.name)) : [];
  const [first = open, second] = wide && both.length === BESIDE.length ? both : [];
  const part = (panel: Panel) => (
    <>
      <Slot key={panel.name} {...props} panel={panel} place="middle" tab={many && panel === open} />
      <Slots {...props} panels={at(`below ${panel.name}`)} />
    </>
  );
  return (
    <Area name="nest" two={second !== undefined}>
      {many && <Tabs name="middle" label="Views of the schedule" tabs={tabs} open={name} onPick={pick} />}
      {part(first)}
      {second && <div style={{ borderLeft: 'var(--swb-hair)' }}>{part(second)}</div>}
    </Area>
  );
}

function Schedule({ at, ...props }: Placed) {
  const ui = useUi();
  const drawings = at('drawing');
  const left = at('left');
  const right = at('right');
  const bottom = at('bottom');
  const aside = drawings.length + left.length > 0;
  const main = at('middle').length + right.length > 0;
  const first = useGraphFirst(props.store) && main && drawings.length > 0;
  const classes = [!aside && 'no-left', !main && 'no-main', first && 'is-graph-first', ui.whole.value && 'has-whole'];
  return (
    <div
      class={['swb-schedule', ...classes].filter(Boolean).join(' ')}
      style={roomStyle()}
      {...(at('run').length > 0 ? panelOf(ui, 'screens', 'schedule') : {})}
    >
      {main && <Centre {...props} at={at} />}
      {right.length > 0 && (
        <Area name="palette">
          <Slots {...props} panels={right} />
        </Area>
      )}
      {aside && (
        <Area name="left">
          {drawings.length > 0 && <Drawings {...props} panels={drawings} />}
          <Slots {...props} panels={left} />
        </Area>
      )}
      {aside && main && <Splitter part="left" />}
      {right.length > 0 && <Splitter part="right" />}
      {bottom.length > 0 && (
        <Area name="variants">
          <Slots {...props} panels={bottom} />
          {at('results').map(({ name, Fold }) => Fold && <Fold key={name} {...props} />)}
        </Area>
      )}
    </div>
  );
}

const Area = ({ name, two, children }: { name: string; two?: boolean; children: ComponentChildren }) => (
  <div class={`swb-area-${name}${two ? ' is-two' : ''}`}>{children}</div>
);

/** Tuning, or a log to look at, which nothing can be started on. */
function Tuning({ at, ...props }: Placed) {
  const ui = useUi();
  const run = at('run');
  return (
    <div
      class={`swb-tuning-screen${ui.whole.value ? ' has-whole' : ''}`}
      {...(run.length > 0 ? panelOf(ui, 'screens', 'tuning') : {})}
    >
      <Slots {...props} panels={run} />
      <div class="swb-tuning-grid">
        <Slots {...props} panels={[...at('results'), ...(run.length > 0 ? [] : at('profile'))]} />
      </div>
    </div>
  );
}

/** Where the time of the network goes. */
function Profile({ at, ...props }: Placed) {
  const ui = useUi();
  return (
    <div class={`swb-tuning-screen${ui.whole.value ? ' has-whole' : ''}`} {...panelOf(ui, 'screens', 'profile')}>
      <div class="swb-tuning-grid">
        <Slots {...props} panels={at('profile')} />
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
      <span class="swb-foot-link swb-cut" role="status" title={words.short}>
        <i class={`swb-lamp is-${words.level}`} />
        {words.short}
      </span>
      <span class="swb-foot-target swb-cut" title={target}>
        {target}
      </span>
      {log && (
        <span class="swb-foot-log swb-cut" title={log}>
          {log.split(/[\\/]/).pop()}
        </span>
      )}
      <Button
        class="swb-link"
        onPress={() => {
          ui.sheet.value = true;
        }}
      >
        Keyboard<Key>?</Key>
      </Button>
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
  const names = props.store.see('meta')?.panels ?? [];
  const panels = names.flatMap(name => PANELS.find(one => one.name === name) ?? []);
  const at: At = place => panels.filter(one => one.at.includes(place));
  const many = at('run').length > 0;
  const profile = many && ui.tab.value === 'profile' && at('profile').length > 0;
  const tuning = many ? ui.tab.value === 'tuning' : at('middle').length === 0;
  const Screen = profile ? Profile : tuning ? Tuning : Schedule;
  return (
    <>
      <Header store={props.store} />
      <Notes store={props.store} />
      {names.length === 0 ? <Nothing /> : <Screen {...props} at={at} />}
      <StatusBar {...props} />
    </>
  );
}
