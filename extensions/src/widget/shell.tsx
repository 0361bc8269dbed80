import type { PanelProps } from './panel';
import { PANELS } from './panels';

export function Shell({ store, model }: PanelProps) {
  const shown = store.slice('meta').value?.panels ?? [];
  return (
    <>
      {shown.map(name => {
        const Panel = PANELS[name];
        return Panel && <section key={name}><Panel store={store} model={model} /></section>;
      })}
    </>
  );
}
