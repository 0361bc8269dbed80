// Where panels of one page find the workbench that they belong to, whichever module each of them came from.

export type Mount = (panel: string, el: HTMLElement) => () => void;
export interface RootEntry {
  readonly mount: Mount;
  readonly store: unknown;
}

const NAME = 'schedule-workbench';
const SYMBOL = Symbol.for(NAME);
type Roots = Map<string, RootEntry>;

export const roots = (): Roots => ((globalThis as { [SYMBOL]?: Roots })[SYMBOL] ??= new Map<string, RootEntry>());

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
