import type { PanelProps } from '../panel';

export function NestPanel({ store }: PanelProps) {
  return <div class="swb-nest">{JSON.stringify(store.slice('nest').value)}</div>;
}
