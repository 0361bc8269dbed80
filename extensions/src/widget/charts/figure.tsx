// The one plotly figure of the kernel, borrowed as a view. Nothing of plotly is bundled.

import { useSignal, type Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Blank } from '../elements/blank';
import { mountView, type HostedView } from '../kernel/hosted-view';
import { toNest } from '../shell/keys';
import type { ChartName, ErrorInfo } from '../../shared/types';
import type { PanelProps } from '../panel';
import type { Store } from '../kernel/store';
import { useUi } from '../shell/ui';

const FIGURE = 'figure';
const PREFIX = 'IPY_MODEL_';
const RESIZE_MS = 120;

/** 'waiting', 'shown', or why there is none. */
type Phase = string;

/** Plotly fits a figure to its place when the window says that it changed; a panel changes without the window. */
function watchSize(el: HTMLElement, sized: () => void): () => void {
  let timer = 0;
  let size = `${el.clientWidth} ${el.clientHeight}`;
  const observer = new ResizeObserver(() => {
    const now = `${el.clientWidth} ${el.clientHeight}`;
    if (now === size || el.clientWidth === 0) return;
    size = now;
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      sized();
      window.dispatchEvent(new Event('resize'));
    }, RESIZE_MS);
  });
  observer.observe(el);
  return () => {
    clearTimeout(timer);
    observer.disconnect();
  };
}

interface Kept {
  readonly id: string;
  readonly box: HTMLElement;
  readonly view: HostedView;
  free: boolean;
}

/**
 * Views of the figure that were made, also those that nobody looks at now. They are put aside and used again instead of
 * being removed: plotly need not draw anew, and what a reader has zoomed stays.
 */
const made = new WeakMap<Store, Kept[]>();

function views(store: Store): Kept[] {
  const known = made.get(store);
  if (known) return known;
  const fresh: Kept[] = [];
  made.set(store, fresh);
  store.endings.add(() => fresh.splice(0).forEach(one => one.view.dispose()));
  return fresh;
}

/** Put a view of figure `id` into `place`; null when `wanted` turned false meanwhile. */
async function borrow(
  { model, store }: PanelProps,
  id: string,
  place: HTMLElement,
  wanted: () => boolean
): Promise<Kept | null> {
  const known = views(store);
  for (const one of known.filter(other => other.id !== id && other.free)) {
    one.view.dispose();
    known.splice(known.indexOf(one), 1);
  }
  const idle = known.find(one => one.free);
  const box = idle?.box ?? document.createElement('div');
  const attach = (): boolean => {
    if (!wanted()) return false;
    place.hidden = false;
    place.append(box);
    return true;
  };
  if (idle) {
    attach();
    return Object.assign(idle, { free: false });
  }
  const view = await mountView(model, id, box, attach);
  if (!view) return null;
  const one = { id, box, view, free: false };
  known.push(one);
  return one;
}

function giveBack(one: Kept | null): void {
  if (!one) return;
  one.box.remove();
  one.free = true;
}

function useFigure(
  props: PanelProps,
  place: RefObject<HTMLDivElement>,
  phase: Signal<Phase>,
  live: boolean,
  sized: () => void
): void {
  const { model } = props;
  useEffect(() => {
    const el = place.current;
    if (!el || !live) return;
    let view: Kept | null = null;
    let turn = 0;
    const show = async (): Promise<void> => {
      const mine = ++turn;
      const ref = model.get(FIGURE) ?? '';
      giveBack(view);
      view = null;
      phase.value = 'waiting';
      if (!ref.startsWith(PREFIX)) return;
      try {
        const next = await borrow(props, ref.slice(PREFIX.length), el, () => mine === turn);
        if (!next) return;
        view = next;
        phase.value = 'shown';
        sized();
      } catch (error) {
        if (mine === turn)
          phase.value = `The plot could not be shown: ${error instanceof Error ? error.message : String(error)}`;
      }
    };
    const changed = (): void => void show();
    model.on(`change:${FIGURE}`, changed);
    const unwatch = watchSize(el, sized);
    changed();
    return () => {
      turn++;
      model.off(`change:${FIGURE}`, changed);
      unwatch();
      giveBack(view);
    };
  }, [live, model]);
}

/** Ask for the plot as soon as there is something to draw, and again after a refusal when there is more. */
function useRequest({ model, store }: PanelProps, phase: Signal<Phase>, wanted: boolean, more: unknown): void {
  const asking = useRef(false);
  useEffect(() => {
    if (!wanted || asking.current || model.get(FIGURE)) return;
    asking.current = true;
    void store
      .do('figure', {})
      .catch((error: ErrorInfo) => {
        if (phase.value !== 'shown') phase.value = error.message;
      })
      .then(() => {
        asking.current = false;
      });
  }, [wanted, more]);
}

interface Point {
  customdata?: number | readonly number[];
  data: { meta?: string };
}
interface Plot extends HTMLElement {
  on?(event: string, f: (event: { points: readonly Point[] }) => void): void;
  heard?: true;
}

/**
 * A click on a point opens its schedule. Plotly makes its element late, so it is listened to when a pointer comes
 * near.
 */
function useClicks({ store }: PanelProps): (event: { currentTarget: EventTarget | null }) => void {
  const ui = useUi();
  const open = ({ points }: { points: readonly Point[] }): void => {
    const { customdata: data, data: { meta } = {} } = points[0] ?? {};
    const [id, of = store.slice('head').peek()?.task ?? null] = typeof data === 'number' ? [data] : (data ?? []);
    if (id === undefined || id < 0) return;
    const [cmd, args] = meta === 'variant' ? ['goto', { step: id }] : ['open_trial', { trial: id, task: of }];
    store.act(cmd, args, () => toNest(ui));
  };
  return event => {
    const plot = (event.currentTarget as HTMLElement).querySelector<Plot>('.js-plotly-plot');
    if (!plot?.on || plot.heard) return;
    plot.heard = true;
    plot.on('plotly_click', open);
  };
}

export const isLive = (store: PanelProps['store']): boolean =>
  !['static', 'dead', 'restarting'].includes(store.link.value);

interface FigureProps extends PanelProps {
  readonly chart: ChartName;
  /** What the chart says, for those who cannot see it. */
  readonly says: string;
  /** Why there is nothing to draw yet. */
  readonly nothing: readonly [title: string, text: string] | null;
  /** Changes when there is more to draw. */
  readonly more: unknown;
}

/** The figure, switched to the chart that is wanted here. */
export function Figure({ chart, says, nothing, more, ...props }: FigureProps) {
  const { store } = props;
  const place = useRef<HTMLDivElement>(null);
  const phase = useSignal<Phase>('waiting');
  const live = isLive(store) || (props.model.get('page') === true && Boolean(props.model.get(FIGURE)));
  const wide = useSignal(false);
  // The page says whether there is room around the task table: it knows where the figure stands.
  const sized = (): void => {
    wide.value = place.current != null && getComputedStyle(place.current).getPropertyValue('--swb-around') === '1';
  };
  useEffect(sized, []);
  const shown = store.see('chart');
  const name = shown?.name;
  useEffect(() => {
    if (live && shown && (name !== chart || shown.wide !== wide.value))
      store.act('chart', { name: chart, wide: wide.value });
  }, [live, chart, wide.value, shown != null]);
  // Said again by whoever shows it: a figure that was put aside may have been told another theme.
  const theme = store.theme.value;
  useEffect(() => {
    if (live && props.model.get(FIGURE)) store.do('theme', { theme }).catch(() => undefined);
  }, [live, theme]);
  useFigure(props, place, phase, live && !nothing, sized); // one with other charts may be there already
  useRequest(props, phase, live && !nothing, more);
  const near = useClicks(props);
  const failed = phase.value !== 'waiting' && phase.value !== 'shown';
  return (
    <>
      {!live && (
        <Blank title="The plot needs a running kernel">
          Run the cell again to see the charts; the table keeps the last numbers.
        </Blank>
      )}
      {live && phase.value === 'waiting' && (
        <Blank title={nothing ? nothing[0] : 'The plot is on its way'}>
          {nothing ? nothing[1] : 'It is drawn once; after that only new points are sent.'}
        </Blank>
      )}
      {live && failed && <Blank title="No plot">{phase.value}</Blank>}
      <div
        ref={place}
        class="swb-chart-place"
        style={{ height: shown?.height }}
        role="img"
        aria-label={says}
        hidden={!live || phase.value !== 'shown'}
        onPointerMove={near}
        onPointerDown={near}
      />
    </>
  );
}
