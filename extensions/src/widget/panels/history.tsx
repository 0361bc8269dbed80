import type { PanelProps } from '../panel';

export function HistoryPanel({ store }: PanelProps) {
  return <div class="swb-history">{JSON.stringify(store.slice('history').value)}</div>;
}
