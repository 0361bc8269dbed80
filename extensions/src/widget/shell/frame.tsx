// The frame of every view, a whole workbench or one panel: theme, keys, notes about the link, the box with a reason.

import { PANELS } from '@panels';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { ExportDialog } from '../export/dialog';
import { useFocusKept } from './focus';
import { onKey, STOP } from './keys';
import { Notes } from './notes';
import { WitnessBox } from '../palette/witness';
import type { Panel, PanelProps } from '../panel';

import { Sheet } from './key-sheet';
import { useScreen } from './screen';
import { Shell } from './shell';
import { TargetsDialog } from './targets';
import { newUi, UiContext } from './ui';
import { linkWords } from '../kernel/link-words';

const panelOf = (name: string): Panel | undefined => PANELS.find(one => one.name === name);

function Single({ panel, ...props }: PanelProps & { panel: string }) {
  const View = panelOf(panel)?.View;
  const words = linkWords(props.store);
  if (!View) return <p class="swb-blank">There is no panel “{panel}”.</p>;
  return (
    <>
      <div class={`swb-slot swb-slot-${panel}`}>
        <View {...props} />
      </div>
      {words.level === 'busy' && (
        <p class="swb-single-foot">
          <i class="swb-lamp is-busy" />
          {words.short}
        </p>
      )}
    </>
  );
}

function Waiting({ store }: { store: PanelProps['store'] }) {
  const words = linkWords(store);
  return words.title ? null : (
    <p class="swb-waiting" role="status">
      Waiting for the kernel…
    </p>
  );
}

/** Enter in an input sends its form. A notebook takes the line break that a browser makes of it for its own. */
function submits({ key, target }: KeyboardEvent): boolean {
  if (key !== 'Enter' || !(target instanceof HTMLInputElement) || !target.form) return false;
  target.form.requestSubmit();
  return true;
}

/** Ctrl Shift and a letter is for all of the page, as Ctrl Shift D of JupyterLab; but redo is the view's own. */
const belongsToPage = ({ ctrlKey, metaKey, shiftKey, altKey, key }: KeyboardEvent): boolean =>
  (ctrlKey || metaKey) && shiftKey && !altKey && /^[a-y]$/i.test(key);

/** JupyterLab hears no key below what has this attribute: it is away while this one goes up. */
function letThrough(box: HTMLElement): void {
  delete box.dataset.lmSuppressShortcuts;
  setTimeout(() => {
    box.dataset.lmSuppressShortcuts = 'true';
  });
}

export function Frame({ store, model, panel }: PanelProps & { panel: string }) {
  const root = useRef<HTMLDivElement>(null);
  const ui = useMemo(() => newUi(root), []);
  const kind = store.see('meta')?.kind ?? '';
  useEffect(() => {
    if (kind === 'tuning') ui.tab.value = 'tuning';
  }, [kind]); // a run is opened to be watched
  useScreen(ui, model, panel === 'all');
  useEffect(
    () => () => {
      store.marked.value = new Set();
    },
    []
  );
  useFocusKept(root, box => box.querySelector<HTMLElement>(`.swb-nest ${STOP}`));
  const onKeyDown = (event: KeyboardEvent): void => {
    if (belongsToPage(event)) return letThrough(root.current!);
    if (event.defaultPrevented || !(submits(event) || onKey(event, store, ui))) return;
    event.preventDefault();
    event.stopPropagation();
  };
  /**
   * Where nothing else takes the focus, the view has it: the keys of who looks at it are not meant for the notebook.
   */
  const onPointerDown = (): void => {
    const box = root.current!;
    if (!box.contains((box.getRootNode() as Document | ShadowRoot).activeElement)) box.focus({ preventScroll: true });
  };
  const busy = linkWords(store).level === 'busy';
  return (
    <UiContext.Provider value={ui}>
      <div
        ref={root}
        class={`swb${panel === 'all' ? '' : ' swb-single'}`}
        data-swb-theme={store.theme.value}
        role="region"
        aria-label={panelOf(panel)?.title ?? 'Schedule Workbench'}
        tabIndex={-1}
        data-lm-suppress-shortcuts="true"
        onKeyDown={onKeyDown}
        onPointerDown={onPointerDown}
      >
        {busy && (
          <div class="swb-pulse" aria-hidden>
            <i />
          </div>
        )}
        {!store.ready.value && <Notes store={store} />}
        {!store.ready.value ? (
          <Waiting store={store} />
        ) : panel === 'all' ? (
          <Shell store={store} model={model} />
        ) : (
          <>
            <Notes store={store} />
            <Single store={store} model={model} panel={panel} />
          </>
        )}
        <WitnessBox store={store} />
        <Sheet />
        <ExportDialog store={store} />
        <TargetsDialog store={store} />
        <div class="swb-aside" role="status" aria-live="polite">
          {ui.said.value}
        </div>
      </div>
    </UiContext.Provider>
  );
}
