// The frame of a view of a log.

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Best } from './best';
import { RecordDetail } from './detail';
import { Header } from './header';
import { Histogram } from './histogram';
import { Panel } from './panels';
import { Paste } from './paste';
import { Parallel } from './parallel';
import { Records } from './records';
import { Scatter } from './scatter';
import type { ExplorerStore } from './store';
import { View } from './view';

function Explore({ view }: { view: View }) {
  if (!view.store.see('meta')?.scope)
    return (
      <div class="swb-blank">
        <b>The log has no records</b>
        <p>What is written to it later is shown here.</p>
      </div>
    );
  return (
    <>
      <Parallel view={view} />
      <div class="swx-charts">
        <Scatter view={view} />
        <Histogram view={view} />
        <Best view={view} />
      </div>
      <div class="swx-lower">
        <Records view={view} />
        <RecordDetail view={view} />
      </div>
    </>
  );
}

const LINKS: Readonly<Record<string, string>> = {
  restarting: 'The kernel is restarting.',
  restarted: 'The kernel was restarted: run the cell again to explore the log.',
  dead: 'The kernel is gone: run the cell again to explore the log.',
  gone: 'The kernel is gone: run the cell again to explore the log.'
};

function Body({ view }: { view: View }) {
  const { store } = view;
  const shown = view.panel.value;
  const panels = store.see('meta')?.panels ?? [];
  const panel = panels.find(([name]) => name === shown);
  const problem = store.problem.value;
  return (
    <>
      <Header view={view} />
      {problem && (
        <p class="swb-note is-error" role="alert">
          {problem.message}. {problem.hint}
        </p>
      )}
      <div role="tabpanel">
        {panel ? <Panel key={panel[0]} view={view} panel={panel} of={panels} /> : <Explore view={view} />}
      </div>
    </>
  );
}

interface FrameProps {
  readonly store: ExplorerStore;
  /** Whether it has a page of its own: in a notebook the keys would be those of cells. */
  readonly alone?: boolean;
}

export function Frame({ store, alone }: FrameProps) {
  const root = useRef<HTMLDivElement>(null);
  const view = useMemo(() => store.left.pop() ?? new View(store), []);
  useEffect(() => () => void store.left.push(view), []);
  const keys = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = (event.target as Element).matches('input[type=text], select');
    if (event.key === 'Escape') store.clear();
    else if (event.key === '/' && !typing) root.current?.querySelector<HTMLElement>('[data-swx=filter]')?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const focus = (): void => {
    const box = root.current!;
    if (!box.contains((box.getRootNode() as Document | ShadowRoot).activeElement)) box.focus({ preventScroll: true });
  };
  const life = store.life.value;
  const asking = store.asking.value;
  return (
    <div
      ref={root}
      class="swb swx"
      data-swb-theme={store.theme.value}
      role="region"
      aria-label="Log Explorer"
      tabIndex={-1}
      data-lm-suppress-shortcuts={alone ? undefined : 'true'}
      onKeyDown={keys}
      onPointerDown={focus}
    >
      {store.busy.value && (
        <div class="swb-pulse" title="Waiting for the kernel" aria-hidden>
          <i />
        </div>
      )}
      {LINKS[life] && (
        <p class="swb-note is-warn" role="status">
          {LINKS[life]}
        </p>
      )}
      {store.ready.value ? (
        <Body view={view} />
      ) : asking ? (
        <Paste {...asking} read={text => store.give(text)} />
      ) : (
        <p class="swb-waiting" role="status">
          Waiting for the kernel…
        </p>
      )}
    </div>
  );
}
