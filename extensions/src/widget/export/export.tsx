// What can be taken away: a script, the steps, a page, tables, drawings.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button, Key, walk } from '../../shared/a11y';
import type { ErrorInfo, ExportAnswer } from '../../shared/types';
import type { Store } from '../store';
import { useUi } from '../ui';
import { noKernel, sentence } from '../words';
import { pixels, save } from './save';

type Named = readonly (readonly [name: string, label: string])[];
const TABLES: Named = [['variants', 'Variants'], ['tasks', 'Tasks'], ['trials', 'Trials'], ['nest', 'Loop nest']];
const DRAWINGS: Named = [['nest', 'Loop nest'], ['variants', 'Variants'], ['graph', 'Model'], ['stages', 'Stages'], ['tasks', 'Tasks']];

export function ExportDialog({ store }: { store: Store }) {
  const ui = useUi();
  const dialog = useRef<HTMLDialogElement>(null);
  const said = useSignal('');
  const picture = useSignal('');
  const charts = useSignal(true);
  const open = ui.exporting.value;
  useEffect(() => {
    said.value = '';
    if (open && !dialog.current?.open) dialog.current?.showModal();
  }, [open]);
  if (!open) return null;
  const panels = store.slice('meta').value?.panels ?? [];
  const step = store.slice('head').value?.step ?? '';
  const has = (name: string): boolean => panels.includes(name === 'trials' ? 'chart' : name);
  const drawings = DRAWINGS.filter(([name]) => has(name));
  const drawing = drawings.some(([name]) => name === picture.value) ? picture.value : (drawings[0]?.[0] ?? '');
  const get = async (args: { what: string; panel?: string; charts?: boolean }, png = false): Promise<void> => {
    said.value = 'Being made…';
    try {
      const { name, mime, text } = (await store.ask('export', { theme: store.theme.peek(), ...args })) as ExportAnswer;
      const file = png ? name.replace(/svg$/, 'png') : name;
      save(file, png ? await pixels(text) : new Blob([text], { type: mime }));
      said.value = `Saved ${file}: it is among your browser's downloads.`;
    } catch (error) {
      const { message, hint } = error as ErrorInfo;
      said.value = [message, hint].filter(Boolean).map(sentence).join(' ');
    }
  };
  const one = (what: string, label: string, args: object, png = false) => (
    <Button key={label} data-swb-export={what} reason={noKernel(store)} onPress={() => void get({ what: png ? 'svg' : what, ...args }, png)}>{label}</Button>
  );
  return (
    <dialog ref={dialog} class="swb-sheet swb-export" aria-label="Export" onClose={() => { ui.exporting.value = false; }}
      onKeyDown={event => { event.stopPropagation(); if (!(event.target as Element).matches('select')) walk(event, event.currentTarget, 'button'); }}>
      <h3 class="swb-h3">Export</h3>
      <dl>
        {step && <div><dt>{one('script', 'Python script', {})}</dt><dd>rebuilds {step} and measures it again</dd></div>}
        {step && <div><dt>{one('trace', 'Steps', {})}</dt><dd>JSON: the steps of {step}, and what every variant measured</dd></div>}
        <div>
          <dt>{one('html', 'Page', { charts: charts.value, theme: 'auto' })}</dt>
          <dd>HTML: all this to look at without a kernel or a network
            <label><input type="checkbox" checked={charts.value} onChange={event => { charts.value = event.currentTarget.checked; }} />with charts (5 MB)</label></dd>
        </div>
        <div><dt>Table</dt><dd class="swb-export-line">{TABLES.filter(([name]) => has(name)).map(([name, label]) => one('csv', label, { panel: name }))}<span>CSV</span></dd></div>
        {drawing && <div><dt>Drawing</dt><dd class="swb-export-line">
          <select aria-label="What to draw" value={drawing} onChange={event => { picture.value = event.currentTarget.value; }}>
            {drawings.map(([name, label]) => <option key={name} value={name}>{label}</option>)}
          </select>
          {one('svg', 'SVG', { panel: drawing })}{one('png', 'PNG', { panel: drawing }, true)}
        </dd></div>}
      </dl>
      <p class="swb-export-said" role="status">{said.value}</p>
      <Button onPress={() => dialog.current?.close()}>Close<Key>Esc</Key></Button>
    </dialog>
  );
}
