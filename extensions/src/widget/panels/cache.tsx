// Variants on simulated caches: that on show below the nest, both of a comparison below what differs.

import { useEffect, useMemo } from 'preact/hooks';
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
  useEffect(() => () => made.stop(), [made]);
  return <Frame store={made} inside />;
}

function Answer({ store, nodes }: { store: PanelProps['store']; nodes: readonly number[] }) {
  const { value, error } = useAnswer(store, `cache ${store.see('head')?.task}`, 'cache', { nodes });
  if (error)
    return (
      <p class="swb-tasks-tip" role="alert">
        {error.message} {error.hint}
      </p>
    );
  if (!value) return <p class="swb-tasks-tip">The accesses are run on simulated caches…</p>;
  return <Films store={store} nodes={nodes} of={value} />;
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
