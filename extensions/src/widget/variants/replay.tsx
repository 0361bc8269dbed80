// Taking the steps of a variant on another task, and which of them were not legal there.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../elements/controls';
import type { VariantRow } from '../../shared/types';
import { markRows } from '../nest/marks';
import type { Store } from '../kernel/store';
import type { Ui } from '../shell/ui';
import { sentence } from '../elements/text';
import { noKernel } from '../kernel/link-words';
import { plain } from './node';

export function ReplayForm({ store, row, onClose }: { store: Store; row: VariantRow; onClose: () => void }) {
  const here = store.see('head')?.task;
  const tasks = store.see('tasks')?.rows.filter(task => task.id !== here) ?? [];
  const task = useSignal(tasks[0]?.id ?? -1);
  const skip = useSignal(false);
  const stop = noKernel(store);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>('select, button')?.focus(), []);
  return (
    <form
      ref={form}
      class="swb-replay"
      aria-label={`Replay v${row.id}`}
      onSubmit={event => {
        event.preventDefault();
        if (stop) return;
        store.act('replay', { node: row.id, task: task.value, skip: skip.value });
        onClose();
      }}
    >
      {tasks.length ? (
        <>
          <label>
            Steps of v{row.id}
            {' on '}
            <select
              value={task.value}
              onChange={event => {
                task.value = Number(event.currentTarget.value);
              }}
            >
              {tasks.map(one => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </select>
          </label>
          <label>
            <input
              type="checkbox"
              onChange={event => {
                skip.value = event.currentTarget.checked;
              }}
            />
            leave out what is not legal there
          </label>
          <Button type="submit" class="swb-button is-primary" reason={stop} onPress={() => {}}>
            Replay
          </Button>
        </>
      ) : (
        <p>
          Only this task is open. <code>w.replay({row.id}, task)</code> takes the steps on any other one.
        </p>
      )}
      <Button onPress={onClose}>Close</Button>
    </form>
  );
}

const SIGNS: Readonly<Record<string, readonly [sign: string, word: string]>> = {
  true: ['√', 'taken'],
  false: ['×', 'not legal'],
  null: ['–', 'not tried']
};

/** Every step with what came of it, as long as the note about it stands. */
export function Report({ store, ui }: { store: Store; ui: Ui }) {
  const report = store.see('status')?.note?.replay;
  if (!report || report.failed_at === null) return null;
  return (
    <section class="swb-why swb-report" aria-label={`Steps on ${report.onto}`}>
      <b>{report.onto}</b>
      <ol>
        {report.steps.map(({ text, ok, reason, hint, where }, k) => (
          <li key={k} class={ok === false ? 'is-failed' : ok === null ? 'swb-faint' : ''}>
            <span role="img" aria-label={SIGNS[`${ok}`]![1]}>
              {SIGNS[`${ok}`]![0]}
            </span>{' '}
            <span class="swb-mono">{plain(text)}</span>
            {reason && (
              <span class="swb-mut">
                {' '}
                {sentence(reason)} {sentence(hint)}{' '}
              </span>
            )}
            {where.length > 0 && (
              <Button
                class="swb-link"
                onPress={() => {
                  ui.middle.value = 'nest';
                  ui.said.value = markRows(store, ui, where);
                }}
              >
                Show me
              </Button>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
