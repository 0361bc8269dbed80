// What can be taken away: a script, the steps, a network, a page, tables, drawings.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button, Key, walk } from '../elements/controls';
import { measured } from '../../shared/format';
import type { Doubt, ErrorInfo, ExportAnswer } from '../../shared/types';
import type { Store } from '../kernel/store';
import { screenOf } from '../shell/screen';
import { useUi } from '../shell/ui';
import { sentence } from '../elements/text';
import { noKernel } from '../kernel/link-words';
import { pixels, save, urlOf } from './save';

const CHART = { name: 'chart', label: 'Chart on show' };

/** A plot that can be had as SVG. */
interface Plot extends HTMLElement {
  readonly picture?: (background: string) => Promise<string>;
}
interface Wanted {
  readonly what: string;
  readonly panel?: string;
  readonly theme?: string;
  readonly charts?: boolean;
  readonly node?: string | number;
}

/** The schedule on show, then those that are faster: value for the kernel, name, the rest of the words. */
function schedules(store: Store): (readonly [node: string | number, name: string, text: string])[] {
  const history = store.see('history');
  const task = store.see('steering')?.task;
  const now = history?.rows.find(row => row.id === history.at);
  if (!now) return [];
  const { best } = history!;
  const faster = (ms: number | null): ms is number =>
    ms != null && now.id !== best && (now.ms == null || now.doubt != null || ms < 0.99 * now.ms);
  const timed = (row: { ms: number | null; doubt?: Doubt | null; same?: string }): string =>
    row.ms == null ? '' : `, ${measured(row)} ms${row.same ? ` (${row.same})` : ''}`;
  // What turns have shown to be the best goes before what a single time says; what takes the same is none of its own.
  const hand = history!.rows
    .filter(
      row =>
        row.by !== 'tuner' &&
        !row.doubt &&
        row !== now &&
        row.ms != null &&
        (row.id === best || (!row.same && faster(row.ms)))
    )
    .sort((a, b) => Number(b.id === best) - Number(a.id === best) || a.ms! - b.ms!)[0];
  const tuner = store.see('tuning')?.best_ready && task?.trial != null && task.trial !== now.trial && faster(task.ms);
  return [
    ['', `v${now.id}`, `${now.edge === 'start' ? ' as written' : ' on show'}${timed(now)}`],
    ...(hand ? [[hand.id, `v${hand.id}`, ` best by hand${timed(hand)}`] as const] : []),
    ...(tuner ? [['tuner', `trial ${task.trial}`, ` best in the log${timed(task)}`] as const] : [])
  ];
}

export function ExportDialog({ store }: { store: Store }) {
  const ui = useUi();
  const dialog = useRef<HTMLDialogElement>(null);
  const said = useSignal('');
  const picture = useSignal('');
  const wanted = useSignal('');
  const charts = useSignal(true);
  const here = useSignal(false);
  const plot = useSignal<Plot | null>(null);
  const open = ui.exporting.value;
  useEffect(() => {
    said.value = wanted.value = '';
    if (open && !dialog.current?.open) {
      dialog.current?.showModal();
      dialog.current?.querySelector('button')?.focus();
    }
    plot.value = dialog.current?.closest('.swb')?.querySelector('.js-plotly-plot') ?? null;
  }, [open]);
  if (!open) return null;
  const meta = store.see('meta');
  const offered = store.see('head')?.step ? schedules(store) : [];
  const [node, step] = offered.find(([id]) => String(id) === wanted.value) ?? offered[0] ?? ['', ''];
  const of = node === '' ? {} : { node };
  const model = meta?.panels.includes('graph') ?? false;
  const exports = (meta?.exports ?? []).filter(
    one => (one.needs !== 'schedule' || step) && (one.needs !== 'model' || model)
  );
  const lines = new Set(exports.map(one => one.group || one.label));
  const drawings = [...(meta?.drawings ?? []), ...(plot.value?.picture ? [CHART] : [])];
  const drawing = drawings.find(one => one.name === picture.value)?.name ?? drawings[0]?.name ?? '';
  const ask = (args: object): Promise<ExportAnswer> => store.ask('export', { theme: store.theme.peek(), ...args });
  const chart = async (): Promise<ExportAnswer> => {
    const box = plot.value!;
    const text = await box.picture!(getComputedStyle(box.closest('.swb')!).backgroundColor);
    return { name: `${store.slice('chart').peek()!.name}.svg`, mime: 'image/svg+xml', text };
  };
  /** Charts and pixels are made here, and given to the kernel where it is to keep them. */
  const make = async (args: Wanted, keep: boolean): Promise<ExportAnswer> => {
    const png = args.what === 'png';
    const made = args.panel === CHART.name ? await chart() : null;
    const file = made ?? (await ask({ ...args, ...(png ? { what: 'svg' } : keep && { keep }) }));
    const url = png && (await pixels(file.text));
    if (keep)
      return url || made
        ? ask({
            ...args,
            panel: made ? store.slice('chart').peek()!.name : args.panel,
            keep,
            data: url ? url.split(',')[1] : file.text
          })
        : file;
    const name = png ? file.name.replace(/svg$/, 'png') : file.name;
    save(name, url || urlOf(file.text, file.mime));
    return { ...file, name };
  };
  const get = async (args: Wanted): Promise<void> => {
    said.value = 'Being made…';
    try {
      const { name, path, beside, note } = await make(args, here.value || args.what === 'library');
      said.value = sentence(
        (path
          ? `Saved as ${path}${beside ? ` and ${beside}` : ''}`
          : `Saved ${name}: it is among your browser's downloads`) + (note ? `: ${note}` : '')
      );
    } catch (error) {
      const { message, hint } = error as ErrorInfo;
      said.value = [message, hint].filter(Boolean).map(sentence).join(' ');
    }
  };
  const one = (what: string, label: string, args: object = {}) => (
    <Button key={label} data-swb-export={what} reason={noKernel(store)} onPress={() => void get({ what, ...args })}>
      {label}
    </Button>
  );
  const tick = (of: typeof here, label: string) => (
    <label>
      <input
        type="checkbox"
        checked={of.value}
        onChange={event => {
          of.value = event.currentTarget.checked;
        }}
      />
      {label}
    </label>
  );
  return (
    <dialog
      ref={dialog}
      class="swb-sheet swb-export"
      aria-label="Export"
      onClose={() => {
        ui.exporting.value = false;
      }}
      onKeyDown={event => {
        event.stopPropagation();
        if (!(event.target as Element).matches('select')) walk(event, event.currentTarget, 'button');
      }}
    >
      <h3 class="swb-h3">Export</h3>
      {tick(here, 'save beside the notebook instead of downloading')}
      <dl>
        {offered.length > 1 && (
          <div>
            <dt>Schedule</dt>
            <dd class="swb-export-line">
              <select
                aria-label="Which schedule"
                value={String(node)}
                onChange={event => {
                  wanted.value = event.currentTarget.value;
                }}
              >
                {offered.map(([id, name, text]) => (
                  <option key={id} value={id}>
                    {name}
                    {text}
                  </option>
                ))}
              </select>
              {node === '' && <span class="swb-careful">a faster one is known</span>}
            </dd>
          </div>
        )}
        {[...lines].map(line => {
          const some = exports.filter(one => (one.group || one.label) === line);
          const buttons = some.map(({ name, label, needs }) =>
            one(name, label, { ...(needs === 'schedule' && of), ...(name === 'view' && { screen: screenOf(ui) }) })
          );
          const about = some.map(one => one.about.replace('{step}', step)).join('');
          return (
            <div key={line}>
              <dt>{some[0]!.group || buttons}</dt>
              <dd class="swb-export-line">
                {some[0]!.group && buttons}
                <span>{about}</span>
              </dd>
            </div>
          );
        })}
        <div>
          <dt>{one('html', 'Page', { charts: charts.value, theme: 'auto' })}</dt>
          <dd>
            HTML, to look at without a kernel: the open task with its variants
            {model && ', graph and table of all tasks'}
            {tick(charts, 'with charts (5 MB)')}
          </dd>
        </div>
        <div>
          <dt>Table</dt>
          <dd class="swb-export-line">
            {meta?.tables?.map(({ name, label }) => one('csv', label, { panel: name }))}
            <span>CSV</span>
          </dd>
        </div>
        {drawing && (
          <div>
            <dt>Drawing</dt>
            <dd class="swb-export-line">
              <select
                aria-label="What to draw"
                value={drawing}
                onChange={event => {
                  picture.value = event.currentTarget.value;
                }}
              >
                {drawings.map(({ name, label }) => (
                  <option key={name} value={name}>
                    {label}
                  </option>
                ))}
              </select>
              {one('svg', 'SVG', { panel: drawing })}
              {one('png', 'PNG', { panel: drawing })}
            </dd>
          </div>
        )}
      </dl>
      <p class="swb-export-said" role="status">
        {said.value}
      </p>
      <Button onPress={() => dialog.current?.close()}>
        Close<Key>Esc</Key>
      </Button>
    </dialog>
  );
}
