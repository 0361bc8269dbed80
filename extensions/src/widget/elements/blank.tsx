// A panel with nothing to show says in one sentence what to do.

import type { ComponentChildren } from 'preact';

export function Blank({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="swb-blank">
      <b>{title}</b>
      <p>{children}</p>
    </div>
  );
}
