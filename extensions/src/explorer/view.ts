// What belongs to one view of a log: the open panel, the record on show, where the keys are. A notebook takes a view
// away when it is scrolled out of sight; what belonged to it is kept for the next one.

import { signal, type Signal } from '@preact/signals';
import type { Detail, ErrorInfo } from './protocol';
import type { ExplorerStore } from './store';

export class View {
  /** The panel on show, or `explore`; and the one that each tab showed last. */
  readonly panel: Signal<string> = signal('explore');
  readonly last = new Map<string, string>();
  /** The record on show. */
  readonly record: Signal<number | null> = signal(null);
  readonly detail: Signal<Detail | null> = signal(null);
  readonly trouble: Signal<ErrorInfo | null> = signal(null);
  /** The axis that is to have the focus as soon as it is drawn, and the one that Tab leads to. */
  readonly focusAxis: Signal<string> = signal('');
  readonly stopAxis: Signal<string> = signal('');
  /** Whether the record on show is to be scrolled into sight: it was asked for far above. */
  reveal = false;
  /** What is read aloud. */
  readonly said: Signal<string> = signal('');

  constructor(readonly store: ExplorerStore) {}

  /** Change the scale of a column, wherever it is an axis. */
  toggleLog(name: string): void {
    const column = this.store
      .slice('meta')
      .peek()
      ?.columns.find(one => one.name === name);
    if (!column?.positive) return;
    const logs = this.logs();
    this.store.set({ logs: logs.includes(name) ? logs.filter(one => one !== name) : [...logs, name] });
  }

  /** The columns whose axes are those of factors, among those that are drawn; others keep what they have. */
  logs(): readonly string[] {
    return this.store.slice('meta').peek()?.logs ?? [];
  }

  /** Show a record. */
  async open(record: number | null, reveal = false): Promise<void> {
    this.record.value = record;
    this.reveal = reveal;
    this.trouble.value = null;
    if (record === null) {
      this.detail.value = null;
      return;
    }
    try {
      this.detail.value = await this.store.ask('detail', { record });
    } catch (error) {
      const info = error as ErrorInfo;
      if (info.code !== 'superseded') this.trouble.value = info;
    }
  }
}
