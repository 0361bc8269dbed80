// What stands around the rows of the nest: open numbers, and the buffers.

import { useRef } from 'preact/hooks';
import { walk } from '../elements/controls';
import { plural } from '../../shared/format';
import { valueText } from '../../shared/steps';
import type { NestSlice } from '../../shared/types';
import type { PanelProps } from '../panel';

/** Buffers can be selected too: some primitives act on them. */
export function Buffers({ store, nest }: Pick<PanelProps, 'store'> & { nest: NestSlice }) {
  const box = useRef<HTMLDivElement>(null);
  const { buffers } = nest;
  if (buffers.length === 0) return null;
  const at = store.selected.value;
  const stop = buffers.includes(at) ? at : buffers[0];
  return (
    <div
      ref={box}
      class="swb-buffers"
      role="group"
      aria-label="Buffers"
      onKeyDown={event => {
        if (box.current) walk(event, box.current, 'button');
      }}
    >
      <span class="swb-faint">
        Buffers
        <Before store={store} />
      </span>
      {buffers.map(name => (
        <button
          key={name}
          class="swb-mini is-wide"
          data-buffer={name}
          aria-pressed={name === at}
          tabIndex={name === stop ? 0 : -1}
          title={[`Select buffer ${name}`, ...(nest.storage?.[name] ?? [])].join('\n')}
          onClick={() => store.select(name)}
        >
          {name}
          {nest.storage?.[name]?.map(one => (
            <small key={one} class="swb-stored">
              {' '}
              {one}
            </small>
          ))}
        </button>
      ))}
    </div>
  );
}

/** While a step is previewed in the nest, what stands beside it is of the nest as it is. */
export const Before = ({ store }: Pick<PanelProps, 'store'>) =>
  store.ghost.value ? <em> · before this step</em> : null;

/** What is left open: numbers, which the nest shows as "?", and choices, of which it shows the first. */
export function Holes({ nest, choices }: { nest: NestSlice; choices: number }) {
  const { holes, free = holes.length } = nest;
  const names = holes
    .map(hole => `?${hole.name}${hole.choices ? ` of ${hole.choices.map(valueText).join(', ')}` : ''}`)
    .join('; ');
  return (
    <>
      {holes.length > 0 && (
        <span class="swb-hole" title={`Left open for the tuner: ${names}`}>
          {plural(free, 'open number')}
        </span>
      )}
      {choices > 0 && (
        <span class="swb-hole" title="Left open for the tuner; the nest shows the first choice">
          {plural(choices, 'open choice')}
        </span>
      )}
    </>
  );
}
