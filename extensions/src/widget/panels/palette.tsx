import type { PanelProps } from '../panel';

export function PalettePanel({ store }: PanelProps) {
  return <div class="swb-palette">{JSON.stringify(store.slice('palette').value)}</div>;
}
