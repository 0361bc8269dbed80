// What a view shows of its own: Python puts it into a view that somebody else opens, and says what is opened so.

import { batch, effect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { CodeKind } from '../../shared/types';
import type { Model } from '../kernel/model';
import type { Tab, Ui } from './ui';

export interface Screen {
  readonly tab?: Tab;
  readonly middle?: string;
  readonly whole?: string;
  readonly code?: CodeKind;
  readonly compare?: readonly [number, number];
}

export const screenOf = ({ tab, middle, whole, code, compare }: Ui): Screen => ({
  tab: tab.value,
  middle: middle.value,
  whole: whole.value,
  code: code.value,
  ...(compare.value && { compare: compare.value })
});

function show(ui: Ui, { tab, middle, whole, code, compare }: Screen): void {
  batch(() => {
    if (tab) ui.tab.value = tab;
    if (middle) ui.middle.value = middle;
    if (whole != null) ui.whole.value = whole;
    if (code) ui.code.value = code;
    ui.compare.value = compare ?? null;
  });
}

/** Follow what Python shows, and tell what is changed here; only of whole workbenches. */
export function useScreen(ui: Ui, model: Model, on: boolean): void {
  useEffect(() => {
    if (!on || model.get('page')) return;
    const follow = (): void => show(ui, model.get('screen') ?? {});
    if (Object.keys(model.get('screen') ?? {}).length > 0) follow();
    model.on('change:screen', follow);
    let told = JSON.stringify(screenOf(ui));
    const stop = effect(() => {
      const screen = screenOf(ui);
      const text = JSON.stringify(screen);
      if (text !== told) model.send({ t: 'screen', screen });
      told = text;
    });
    return () => {
      stop();
      model.off('change:screen', follow);
    };
  }, []);
}
