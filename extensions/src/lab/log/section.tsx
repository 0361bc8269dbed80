/** A titled part of the page. */
import type { ComponentChildren, VNode } from 'preact';

export function Section({
  title,
  aside,
  children
}: {
  title: string;
  aside?: string;
  children: ComponentChildren;
}): VNode {
  return (
    <section class="swbl-section" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span>{aside}</span>
      </header>
      {children}
    </section>
  );
}
