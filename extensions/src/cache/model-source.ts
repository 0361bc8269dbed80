// The widget's model as a source of films.

import type { Model } from '../widget/kernel/model';
import type { FilmInfo } from './pictures';
import type { Source, Steps } from './store';

const PATIENCE = 20_000;

interface Answer {
  readonly t: string;
  readonly counts: readonly number[];
  readonly error: { readonly message: string };
}

const bytesOf = (packed: DataView): Uint8Array<ArrayBuffer> =>
  new Uint8Array(packed.buffer as ArrayBuffer, packed.byteOffset, packed.byteLength);

export function modelSource(model: Model): Source & { dispose: () => void } {
  const get = model.get.bind(model) as (name: string) => unknown;
  let waiting: [(steps: Steps) => void, (why: { message: string }) => void] | undefined;
  let patience: ReturnType<typeof setTimeout> | undefined;
  const hear = (message: Answer, buffers: readonly DataView[]): void => {
    const [resolve, reject] = waiting ?? [];
    if (message.t === 'failed') reject?.(message.error);
    else if (message.t === 'steps') resolve?.({ counts: message.counts, pictures: bytesOf(buffers[0]!) });
    else return;
    clearTimeout(patience);
    waiting = undefined;
  };
  model.on('msg:custom', hear);
  return {
    films: (get('film') as { films: readonly FilmInfo[] }).films,
    pictures: bytesOf(get('pictures') as DataView),
    steps: at =>
      new Promise((resolve, reject) => {
        waiting = [resolve, reject];
        patience = setTimeout(() => reject({ message: 'The kernel does not answer: run the cell again.' }), PATIENCE);
        model.send({ t: 'steps', at });
      }),
    dispose() {
      clearTimeout(patience);
      model.off('msg:custom', hear);
    }
  };
}
