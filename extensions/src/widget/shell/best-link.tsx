// Beside the time in the header: what is to be known of it, and the best time, which leads to its schedule.

import type { ComponentChildren } from 'preact';
import type { HeadSlice } from '../../shared/types';
import { noKernel } from '../kernel/link-words';
import type { Store } from '../kernel/store';
import { toNest } from './keys';
import { useUi } from './ui';

/** Why it is this time; what was measured elsewhere where none of here is known. */
export function Remark({ of }: { of: HeadSlice }) {
  const text = [of.same, of.remark].filter(Boolean).join('; ');
  return text ? (
    <span class="swb-cut" data-swb-value="remark" title={text}>
      {text}
    </span>
  ) : null;
}

/** What the conditions mean that stand beside times. */
const CONDITIONS: readonly (readonly [RegExp, string])[] = [
  [/warm/, 'Inputs, constants and outputs are where the call before left them: in the caches, as far as they fit'],
  [
    /beyond/,
    'Constants (weights) come from the cache that all cores share, as in a network, whose other kernels push them out of the nearer ones; inputs and outputs stay where they are'
  ],
  [
    /from memory/,
    'Constants (weights) come from memory, as in a network that is larger than the caches; inputs and outputs stay where they are'
  ],
  [/flushed/, 'Nothing is in the caches when a call begins']
];

/** What the kernel found in the caches, and what that means. */
function conditionOf(caches: string): string {
  const means = CONDITIONS.find(([words]) => words.test(caches))?.[1];
  return `What the kernel found in the caches: ${caches}.${means ? ` ${means}.` : ''}`;
}

/** Under which condition it is this time. */
export const Caches = ({ of }: { of: HeadSlice }) =>
  of.caches ? (
    <span class="swb-cut" data-swb-value="caches" title={conditionOf(of.caches)}>
      {of.caches}
    </span>
  ) : null;

/** The best goes to its schedule, as “Use the best” does; where that is on show already, it only says it. */
export function BestLink({ store, head, children }: { store: Store; head: HeadSlice; children: ComponentChildren }) {
  const ui = useUi();
  if (!store.see('tuning')?.best_ready || noKernel(store)) return <>{children}</>;
  return (
    <button
      type="button"
      class="swb-link swb-best"
      data-swb-do="best"
      title="Go to the best schedule of this task"
      onClick={() => store.act('adopt', { task: head.task }, () => toNest(ui))}
    >
      {children}
    </button>
  );
}
