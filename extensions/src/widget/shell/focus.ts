// The keyboard stays in the view: where the element that has the focus goes away, one near it takes its place.

import { useEffect, type MutableRef } from 'preact/hooks';

const STOPS = '[tabindex="0"], button:not([tabindex="-1"]), select, input, textarea, a[href]';

/** The first place for the keyboard in an element that can be seen. */
const stopIn = (box: Element): HTMLElement | undefined =>
  [...box.querySelectorAll<HTMLElement>(STOPS)].find(one => one.getClientRects().length > 0);

/**
 * Watch over the focus of a view. A browser gives it to the page when its element is removed or moved, and then no key
 * means anything any more. `first` says where to go when nothing near it is left.
 */
export function useFocusKept(
  root: MutableRef<HTMLElement | null>,
  first: (root: HTMLElement) => HTMLElement | null
): void {
  useEffect(() => {
    const box = root.current!;
    /** What has the focus, and all that it is in up to the view, innermost first. */
    let path: Element[] = [];
    const come = (event: FocusEvent): void => {
      path = [];
      for (let at = event.target as Element | null; at && at !== box; at = at.parentElement) path.push(at);
    };
    /** Whoever leaves of his own will, by a click elsewhere or Escape, is not brought back. */
    const go = (): void => {
      const [own] = path;
      setTimeout(() => {
        if (own === path[0] && own?.isConnected && own !== document.activeElement) path = [];
      });
    };
    const watch = new MutationObserver(changes => {
      const [own] = path;
      if (!own || document.activeElement !== document.body) return;
      if (!own.isConnected)
        (
          path
            .filter(one => one.isConnected)
            .map(stopIn)
            .find(one => one) ??
          first(box) ??
          stopIn(box)
        )?.focus({ preventScroll: true });
      else if (changes.some(change => [...change.removedNodes].some(one => one.contains(own))))
        (own as HTMLElement).focus({ preventScroll: true });
    });
    box.addEventListener('focusin', come);
    box.addEventListener('focusout', go);
    watch.observe(box, { childList: true, subtree: true });
    return () => {
      watch.disconnect();
      box.removeEventListener('focusin', come);
      box.removeEventListener('focusout', go);
    };
  }, []);
}
