/** The keyboard goes to what a panel shows, which is drawn after the panel has been opened. */

/** What a workbench has for the keyboard, the best first; the view itself hears all its letters. */
export const IN_WORKBENCH: readonly string[] = [
  '.swb-nest [role=row][tabindex="0"]',
  '.swb-pictures [data-node][tabindex="0"]',
  '.swb'
];

const first = (panel: HTMLElement, places: readonly string[]): [HTMLElement, number] | null => {
  for (const [at, place] of places.entries()) {
    const seen = [...panel.querySelectorAll<HTMLElement>(place)].find(one => one.getClientRects().length > 0);
    if (seen) return [seen, at];
  }
  return null;
};

/**
 * Give the keyboard to the best place of a panel as it is drawn, until it is in the best one or somebody has taken it
 * elsewhere. Gives what ends that.
 */
export function keyboardTo(panel: HTMLElement, places: readonly string[]): () => void {
  let given: Element | null = null;
  const free = (): boolean => {
    const at = document.activeElement;
    return !at || at === given || at.contains(panel) || at === panel;
  };
  const watch = new MutationObserver(() => give());
  const end = (): void => {
    watch.disconnect();
    for (const kind of ['keydown', 'pointerdown']) panel.removeEventListener(kind, end, true);
  };
  const give = (): void => {
    if (!free()) return end();
    const found = first(panel, places);
    if (!found) return;
    const [place, at] = found;
    given = place;
    if (document.activeElement !== place) place.focus({ preventScroll: true });
    if (at < places.length - 1) end();
  };
  if (panel.contains(document.activeElement) && !free()) return end; // it is there already
  watch.observe(panel, { childList: true, subtree: true, attributes: true, attributeFilter: ['class'] });
  for (const kind of ['keydown', 'pointerdown']) panel.addEventListener(kind, end, true);
  give();
  return end;
}
