// Where panels of one page find the workbench that they belong to, whichever module each of them came from.

export type Mount = (panel: string, el: HTMLElement) => () => void;
export interface RootEntry { readonly mount: Mount; readonly store: unknown }

const NAME = 'schedule-workbench';
const SYMBOL = Symbol.for(NAME);
type Shared = { [SYMBOL]?: Map<string, RootEntry> };

export function roots(): Map<string, RootEntry> {
  const shared = globalThis as Shared;
  return (shared[SYMBOL] ??= new Map());
}

const announce = (): void => void globalThis.dispatchEvent(new Event(NAME));

export function register(key: string, entry: RootEntry): () => void {
  roots().set(key, entry);
  announce();
  return () => {
    if (roots().get(key) !== entry) return;
    roots().delete(key);
    announce();
  };
}

/** Call `back` whenever a workbench came or went. */
export function onRoots(back: () => void): () => void {
  globalThis.addEventListener(NAME, back);
  return () => globalThis.removeEventListener(NAME, back);
}
