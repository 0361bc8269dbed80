// Variants on simulated caches: that on show below the nest, both of a comparison below what differs.

import { effect } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Frame } from '../../cache/frame';
import { CacheStore } from '../../cache/store';
import type { CacheAnswer } from '../../shared/types';
import { Folded } from '../elements/folded';
import { useAnswer } from '../kernel/answers';
import type { Panel, PanelProps } from '../panel';
import { useUi } from '../shell/ui';
import { pairOf } from '../variants/compare';

const bytesOf = (packed: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(packed), c => c.charCodeAt(0));

function Films({ store, nodes, of }: { store: PanelProps['store']; nodes: readonly number[]; of: CacheAnswer }) {
  const made = useMemo(() => {
    const steps = async (at: readonly number[]) => {
      const found = await store.ask('cache', { nodes, at });
      return { counts: found.counts, pictures: bytesOf(found.pictures) };
    };
    return new CacheStore({ films: of.films, pictures: bytesOf(of.pictures), steps }, store.theme);
  }, [of]); // not its pictures: two variants may have the same ones
  // What was shown stays until its pictures are unpacked, and with it the place of the keyboard.
  const [shown, show] = useState(made);
  useEffect(() => effect(() => void ((made.whole.value.length || made.problem.value) && show(made))), [made]);
  useEffect(() => () => shown.stop(), [shown]);
  return <Frame store={shown} inside />;
}

function Answer({ store, nodes }: { store: PanelProps['store']; nodes: readonly number[] }) {
  const task = store.see('head')?.task;
  const { value, error } = useAnswer(store, `cache ${task}`, 'cache', { nodes });
  const last = useRef<{ task: typeof task; value: CacheAnswer } | null>(null);
  if (value) last.current = { task, value };
  const of = last.current?.task === task ? last.current?.value : undefined;
  if (error)
    return (
      <p class="swb-tasks-tip" role="alert">
        {error.message} {error.hint}
      </p>
    );
  return (
    <>
      {!value && (
        <p class="swb-tasks-tip" role="status">
          The accesses are run on simulated caches…
        </p>
      )}
      {of && <Films store={store} nodes={nodes} of={of} />}
    </>
  );
}

function View({ store, model }: PanelProps) {
  const ui = useUi();
  const history = store.see('history');
  if (!history?.rows.length) return null;
  const pair = ui.middle.value === 'diff' && model.get('panel') !== 'cache' ? pairOf(ui, history) : null;
  const nodes = pair ?? [history.at];
  return (
    <Folded
      name="cache"
      label="Caches"
      says={pair ? `v${pair[0]} and v${pair[1]} on simulated caches` : 'The nest on simulated caches'}
      model={model}
    >
      {() => <Answer store={store} nodes={nodes} />}
    </Folded>
  );
}

export default { name: 'cache', title: 'Caches', at: ['below nest', 'below diff'], View } satisfies Panel;
