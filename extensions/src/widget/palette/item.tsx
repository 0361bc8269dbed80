// One primitive of the palette: legal with its offer and form, or not legal with the reason.

import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { Button } from '../elements/controls';
import type { Args, PaletteItem, PrimitiveInfo, Step, Verdict } from '../../shared/types';
import type { PanelProps } from '../panel';
import { sentence } from '../elements/text';
import { PrimitiveForm } from './form';

type Show = (step: Step, verdict: Pick<Verdict, 'reason' | 'hint' | 'where' | 'witness'>) => void;

/** What stands beside the name of a legal primitive. */
function offer(item: PaletteItem, info: PrimitiveInfo | undefined, at: string): string {
  const [first, second] = item.quick;
  if (first && !second && first.label !== at) return first.label;
  return info?.summary.replaceAll('``', '') ?? '';
}

export interface ItemProps extends PanelProps {
  item: PaletteItem;
  info: PrimitiveInfo | undefined;
  at: string;
  open: boolean;
  stop: boolean;
  onToggle: () => void;
  onDone: () => void;
  show: Show;
}

/** The form of a primitive, while it is open. */
function Form({ item, info, open, show, ...props }: ItemProps) {
  if (!open || !info) return null;
  const onShow = (args: Args, verdict: Verdict): void => show({ primitive: item.id, args }, verdict);
  return <PrimitiveForm {...props} item={item} info={info} onShow={onShow} />;
}

export function Legal({ place, ...props }: ItemProps & { place: number }) {
  const { item, info, at, open, stop, onToggle } = props;
  const text = offer(item, info, at);
  return (
    <div class={`swb-item${open ? ' is-open' : ''}`}>
      <button
        type="button"
        data-swb-legal
        data-swb-item={item.id}
        tabIndex={stop ? 0 : -1}
        aria-expanded={open}
        title={info?.summary.replaceAll('``', '')}
        onClick={onToggle}
      >
        <span class="swb-mono">{item.id}</span>
        <span class="swb-offer swb-cut">{open ? '' : text}</span>
        <span class="swb-faint" title={place <= 9 ? `Key ${place}` : undefined}>
          {place <= 9 ? place : ''}
        </span>
      </button>
      <Form {...props} />
    </div>
  );
}

/**
 * What was tried is not legal, in one line until it is pressed; other values may be, so the form is at hand here too.
 */
export function Illegal(props: ItemProps) {
  const { item, info, at, open, stop, onToggle, show } = props;
  const pressed = useSignal(false);
  useLayoutEffect(() => {
    pressed.value = false;
  }, [at]); // what was unfolded was said of another row
  const told = pressed.value || open;
  const first = item.quick[0];
  const visible = first !== undefined && (item.where.length > 0 || item.witness !== null);
  const onShow = (): void => {
    if (visible) show({ primitive: item.id, args: first.args }, item);
  };
  const links = stop || open ? 0 : -1; // Tab goes on from the primitive to its own links, not through those of all
  return (
    <li class={`swb-illegal${open ? ' is-open' : ''}${told ? ' is-told' : ''}`}>
      <button
        type="button"
        aria-disabled
        data-swb-item={item.id}
        tabIndex={stop ? 0 : -1}
        onClick={() => {
          pressed.value = !pressed.value;
          onShow();
        }}
        aria-expanded={told}
        aria-label={`${item.id}, not legal here: ${item.reason}`}
        title={`Not legal here: ${item.reason}`}
      >
        <s>{item.id}</s>
      </button>
      <p>
        <span
          title={told ? undefined : `${item.reason} ${sentence(item.hint)}`}
          onClick={() => {
            pressed.value = !pressed.value;
          }}
        >
          {item.reason} {told && item.hint && <span class="swb-faint">{sentence(item.hint)} </span>}
        </span>
        {visible && (
          <>
            <Button
              class="swb-link"
              data-swb-show={item.id}
              tabIndex={links}
              aria-label={`Show me why ${item.id} is not legal`}
              onPress={onShow}
            >
              Show me
            </Button>{' '}
          </>
        )}
        {told && info && (
          <Button
            class="swb-link is-quiet"
            tabIndex={links}
            aria-expanded={open}
            aria-label={`Other values for ${item.id}`}
            onPress={onToggle}
          >
            {open ? 'Close' : 'Other values'}
          </Button>
        )}
      </p>
      <Form {...props} />
    </li>
  );
}

/** Primitives that want another kind of selection, with the one sentence that holds for all of them. */
export function Elsewhere({ items, stop }: { items: readonly PaletteItem[]; stop: string | undefined }) {
  const [first] = items;
  return (
    <li class="swb-illegal is-group">
      <span class="swb-names">
        {items.map(item => (
          <button
            key={item.id}
            type="button"
            aria-disabled
            data-swb-item={item.id}
            tabIndex={item.id === stop ? 0 : -1}
            aria-label={`${item.id}, not legal here: ${item.reason}`}
            title="Not legal here"
          >
            <s>{item.id}</s>
          </button>
        ))}
      </span>
      <p>
        {first!.reason} <span class="swb-faint">{sentence(first!.hint)}</span>
      </p>
    </li>
  );
}
