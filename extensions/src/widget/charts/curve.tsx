// The curve of the best time so far: a live plotly figure of the kernel, borrowed as a view. Nothing of plotly is bundled.

import { useSignal, type Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Blank } from '../../shared/blank';
import { mountView, type HostedView } from '../hosted';
import type { ErrorInfo } from '../../shared/types';
import type { Model } from '../model';
import type { PanelProps } from '../panel';

const FIGURE = 'figure';
const PREFIX = 'IPY_MODEL_';
const RESIZE_MS = 120;

type Phase = 'waiting' | 'shown' | string;

/** Let plotly follow the window; said to this page's copy of the model only. */
function responsive(figure: Model): void {
  figure.set('_config', { ...(figure.get('_config') as object | undefined), responsive: true });
}

/** Plotly fits a figure to its place when the window says that it changed; a panel changes without the window. */
function watchSize(el: HTMLElement): () => void {
  let timer = 0;
  let width = el.clientWidth;
  const observer = new ResizeObserver(() => {
    if (el.clientWidth === width || el.clientWidth === 0) return;
    width = el.clientWidth;
    clearTimeout(timer);
    timer = window.setTimeout(() => window.dispatchEvent(new Event('resize')), RESIZE_MS);
  });
  observer.observe(el);
  return () => {
    clearTimeout(timer);
    observer.disconnect();
  };
}

function useFigure(props: PanelProps, place: RefObject<HTMLDivElement>, phase: Signal<Phase>, live: boolean): void {
  const { model } = props;
  useEffect(() => {
    const el = place.current;
    if (!el || !live) return;
    let view: HostedView | null = null;
    let turn = 0;
    const show = async (): Promise<void> => {
      const mine = ++turn;
      const ref = String(model.get(FIGURE) ?? '');
      view?.dispose();
      view = null;
      phase.value = 'waiting';
      if (!ref.startsWith(PREFIX)) return;
      try {
        const next = await mountView(model, ref.slice(PREFIX.length), el, () => mine === turn, responsive);
        if (!next) return;
        view = next;
        phase.value = 'shown';
      } catch (error) {
        if (mine === turn) phase.value = `The plot could not be shown: ${error instanceof Error ? error.message : String(error)}`;
      }
    };
    const changed = (): void => void show();
    model.on(`change:${FIGURE}`, changed);
    const unwatch = watchSize(el);
    changed();
    return () => {
      turn++;
      model.off(`change:${FIGURE}`, changed);
      unwatch();
      view?.dispose();
    };
  }, [live, model]);
}

/** Ask for the plot as soon as there is something to draw, and again after a refusal when there is more. */
function useRequest({ model, store }: PanelProps, phase: Signal<Phase>, live: boolean, trials: number): void {
  const asking = useRef(false);
  const task = store.slice('head').value?.task;
  const state = store.slice('tuning').value?.state;
  useEffect(() => {
    if (!live || trials === 0 || asking.current || model.get(FIGURE)) return;
    asking.current = true;
    store.do('figure', {})
      .catch((error: ErrorInfo) => { if (phase.value !== 'shown') phase.value = error.message; })
      .then(() => { asking.current = false; });
  }, [live, trials, task, state]);
}

export function CurvePanel(props: PanelProps) {
  const { store } = props;
  const place = useRef<HTMLDivElement>(null);
  const phase = useSignal<Phase>('waiting');
  const link = store.link.value;
  const live = link !== 'static' && link !== 'dead' && link !== 'restarting';
  const tuning = store.slice('tuning').value;
  useFigure(props, place, phase, live);
  const rows = store.slice('tasks').value?.rows ?? [];
  const trials = Math.max(tuning?.trials ?? 0, rows.reduce((sum, row) => sum + row.trials, 0));
  const nothing = trials === 0;
  useRequest(props, phase, live, trials);
  const name = store.slice('head').value?.name;
  return (
    <section class="swb-curve" aria-label="Best time so far">
      <header class="swb-tasks-head">
        <h3 class="swb-h3">Best so far</h3>
        <span class="swb-faint swb-cut" title={name}>{name}</span>
      </header>
      {!live && <Blank title="The plot needs a running kernel">Run the cell again to see the curve; the table keeps the last numbers.</Blank>}
      {live && phase.value === 'waiting' && (
        <Blank title={nothing ? 'No trials yet' : 'The plot is on its way'}>
          {nothing ? 'Start a tuning run to see how the best time falls over the trials.' : 'It is drawn once; after that only new points are sent.'}
        </Blank>
      )}
      {live && phase.value !== 'waiting' && phase.value !== 'shown' && <Blank title="No plot">{phase.value}</Blank>}
      <div ref={place} class="swb-curve-place" hidden={!live || phase.value !== 'shown'} />
    </section>
  );
}
