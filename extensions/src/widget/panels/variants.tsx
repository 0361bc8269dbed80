// The variants as a tree: every step that was taken stays, the tuner's trials are branches. Arrows walk, Enter goes
// there.

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks';
import { Button } from '../elements/controls';
import { Blank } from '../elements/blank';
import { plural } from '../../shared/format';
import type { ErrorInfo, HistorySlice, VariantRow } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import type { Store } from '../kernel/store';
import { focusOn, useEscape, useUi, type Ui } from '../shell/ui';
import { noKernel } from '../kernel/link-words';
import { Comparing, mark, marked, useMarksOf } from '../variants/compare';
import { failed, plain, Shape, shownAs, words } from '../variants/node';
import { ReplayForm, Report } from '../variants/replay';
import { treeOf } from '../variants/tree';
import { Drawing } from '../variants/drawing';

type Open = '' | 'why' | 'replay';

const SHAPES = [
  ['by hand', {}],
  ['by the tuner', { by: 'tuner' }],
  ['open numbers', { holes: 1 }],
  ['failed', { status: 'failed' }]
] as const;
const Legend = () => (
  <span class="swb-history-legend">
    {SHAPES.map(([text, row]) => (
      <span key={text}>
        <Shape row={{ by: 'hand', holes: 0, status: '', ...row }} />
        {text}
      </span>
    ))}
  </span>
);

function Tools({ store, history }: { store: Store; history: HistorySlice }) {
  const head = store.see('head');
  const ready = store.see('tuning')?.best_ready && head?.task != null;
  const stop = noKernel(store);
  return (
    <span class="swb-history-tools">
      {ready && (
        <Button
          data-swb-do="adopt"
          title="Go to the best schedule of this task"
          reason={stop}
          onPress={() => store.act('adopt', { task: head.task })}
        >
          Use the best
        </Button>
      )}
      {head?.task != null && (
        <Button
          data-swb-do="default"
          title="Open the task's schedule without tuning as a branch"
          reason={stop || store.see('why')?.off}
          onPress={() => store.act('open_default', {})}
        >
          Default schedule
        </Button>
      )}
      <label title="Measure after every step that is taken">
        <input
          type="checkbox"
          checked={history.auto}
          disabled={stop !== ''}
          onChange={event => store.act('auto_measure', { on: event.currentTarget.checked })}
        />
        Measure every step
      </label>
    </span>
  );
}

/** The last of the steps ahead of a variant, up to where they part: after a click on it they are still to come. */
function lastAhead(rows: readonly VariantRow[], node: number): number {
  const [next, other] = rows.filter(row => row.parent === node);
  return next && !other ? lastAhead(rows, next.id) : node;
}

/**
 * Show the program before a step, with its form; what is applied there takes the later steps of what was on show with
 * it.
 */
async function change(store: Store, ui: Ui, { id: node, parent }: VariantRow): Promise<void> {
  try {
    const { row, step, place } = await store.ask('step', { node });
    const { at, path, rows } = store.see('history')!;
    const of = { node: node === at ? lastAhead(rows, at) : path.includes(node) ? at : node, step: place };
    await store.do('goto', { step: parent });
    store.select(row);
    ui.wanted.value = { row, step, of };
  } catch (error) {
    store.problem.value = error as ErrorInfo;
  }
}

type Act = readonly [what: string, label: string, title: string, run: () => void, pressed?: boolean];
interface ChosenProps {
  store: Store;
  ui: Ui;
  at: number;
  row: VariantRow;
  open: Open;
  onOpen: (open: Open) => void;
  onName: () => void;
}

/** What can be done with the variant that has the focus, or else with that on show. */
function Chosen({ store, ui, at, row, open, onOpen, onName }: ChosenProps) {
  const stop = noKernel(store);
  const node = row.id;
  const toggle = (one: Open): void => onOpen(open === one ? '' : one);
  const plan = (): void => {
    ui.tab.value = 'tuning';
    requestAnimationFrame(() => {
      ui.root.current?.querySelector<HTMLElement>('[name=scope][value=schedule]')?.click();
      focusOn(ui, '[data-action=start], [data-action=pause], [data-action=resume]');
    });
  };
  const tune = (): void => {
    if (node === at) plan();
    else store.act('goto', { step: node }, plan);
  };
  const [other] = ui.compare.value ? [] : marked(ui).filter(id => id !== node);
  const acts: (Act | false)[] = [
    node !== at && [
      'goto',
      `Go to v${node}`,
      'Show it (Enter). The next step that is taken there begins a branch by itself: nothing is lost',
      () => store.act('goto', { step: node })
    ],
    [
      'compare',
      other === undefined ? 'Compare' : `Compare with v${other}`,
      'Mark two to see what differs (Shift+Enter, Shift+click)',
      () => mark(ui, node),
      marked(ui).includes(node)
    ],
    [
      'star',
      '★ Star',
      'Mark it to come back to; it is kept (S)',
      () => store.act('star', { node, on: !row.star }),
      row.star
    ],
    ['name', row.name ? 'Rename…' : 'Name…', 'Write a name beside its number; it is kept (F2, B)', onName],
    row.edge !== 'start' &&
      row.edge !== 'step' && ['unfold', 'Unfold', 'Show every step on the way', () => store.act('unfold', { node })],
    row.edge === 'step' &&
      ui.root.current?.querySelector('.swb-pal') != null && [
        'change',
        'Change…',
        'Take this step with other values, then the later ones',
        () => void change(store, ui, row)
      ],
    row.parent !== null && [
      'replay',
      'Replay…',
      'Take its steps on another task',
      () => toggle('replay'),
      open === 'replay'
    ],
    row.holes > 0 && ['tune-here', 'Tune from here', 'Its steps stay; the tuner chooses the open numbers', tune],
    ['forget', 'Forget', 'Remove it if nothing came of it (Delete)', () => store.act('forget', { node })]
  ];
  return (
    <div class="swb-chosen" role="group" aria-label={`v${node}`}>
      <b>
        v{node} {row.name}
      </b>
      <span class="swb-mono swb-cut" title={words(row)}>
        {plain(row.text)}
      </span>
      {failed(row) && row.error && (
        <Button class="swb-link" onPress={() => toggle('why')}>
          Why?
        </Button>
      )}
      <span class="swb-chosen-acts">
        {acts.map(
          one =>
            one && (
              <Button
                key={one[0]}
                data-swb-do={one[0]}
                title={one[2]}
                reason={stop}
                onPress={one[3]}
                aria-pressed={one[4]}
              >
                {one[1]}
              </Button>
            )
        )}
      </span>
    </div>
  );
}

const Why = ({ row, onClose }: { row: VariantRow; onClose: () => void }) => (
  <div class="swb-why" role="region" aria-label={`Why v${row.id} failed`}>
    <p>
      <b class="swb-careful">
        v{row.id} {shownAs(row)}
      </b>
      <Button onPress={onClose}>Close</Button>
    </p>
    <pre tabIndex={0}>{row.error}</pre>
  </div>
);

function View({ store }: PanelProps) {
  const ui = useUi();
  const history = store.see('history');
  const task = store.see('head')?.task;
  const rows = history?.rows;
  const tree = useMemo(() => (rows?.length ? treeOf(rows) : null), [rows]);
  const picked = useSignal(-1);
  const open = useSignal<Open>('');
  const naming = useSignal(-1);
  useEffect(() => {
    picked.value = -1;
  }, [history?.at, task]);
  useMarksOf(ui, task);
  const chosen = tree?.rows.get(picked.value) ?? tree?.rows.get(history!.at);
  useLayoutEffect(() => {
    open.value = '';
  }, [chosen?.id, task]);
  useEscape(open.value !== '', () => {
    // what was opened below the tree; back to the variant that it is about
    open.value = '';
    focusOn(ui, `[data-step="${chosen?.id}"]`);
  });
  useLayoutEffect(() => {
    naming.value = -1;
  }, [task]); // another task has variants of the same numbers
  if (!history || !tree || !chosen) {
    return <Blank title="No steps yet">Every step that you take on a schedule is kept here, with its time.</Blank>;
  }
  const go = (id: number): void => {
    if (id >= 0 && id !== history.at && !noKernel(store)) store.act('goto', { step: id });
  };
  const row = tree.rows.get(naming.value);
  const named = (name: string | null): void => {
    naming.value = -1;
    if (row && name !== null && name.trim() !== row.name) store.act('name', { node: row.id, text: name });
  };
  return (
    <section class="swb-history" aria-label="Variants">
      <header class="swb-panel-head">
        <h3 class="swb-h3">Variants</h3>
        <Legend />
        {history.hidden > 0 && <span class="swb-faint">{plural(history.hidden, 'old one')} let go</span>}
        <Tools store={store} history={history} />
      </header>
      <Drawing
        ui={ui}
        history={history}
        tree={tree}
        chosen={chosen}
        naming={row}
        onGo={go}
        onName={named}
        onPick={id => {
          if (id >= 0) picked.value = id;
        }}
      />
      <Comparing ui={ui} store={store} history={history} />
      <Chosen
        store={store}
        ui={ui}
        at={history.at}
        row={chosen}
        open={open.value}
        onOpen={one => {
          open.value = one;
        }}
        onName={() => {
          naming.value = chosen.id;
        }}
      />
      {open.value === 'why' && (
        <Why
          row={chosen}
          onClose={() => {
            open.value = '';
          }}
        />
      )}
      {open.value === 'replay' && (
        <ReplayForm
          store={store}
          row={chosen}
          onClose={() => {
            open.value = '';
          }}
        />
      )}
      <Report store={store} ui={ui} />
    </section>
  );
}

export default { name: 'variants', title: 'Variants', at: ['bottom'], View } satisfies Panel;
