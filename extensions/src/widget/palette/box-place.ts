// Where the box with a reason stands: beside the rows that it is about, never on them.

const GAP = 8;

/** Put the box below its rows, else above them, else at the side of the view; then bring both into sight. */
export function putBeside(root: HTMLElement, box: HTMLElement, ids: ReadonlySet<string>): void {
  const rows = [...root.querySelectorAll<HTMLElement>('.swb-nest [data-row]')].filter(row => ids.has(row.dataset.row!));
  if (rows.length === 0) return;
  const { top: from, bottom: to } = root.getBoundingClientRect();
  const edges = rows.map(row => row.getBoundingClientRect());
  const [first, last] = [Math.min(...edges.map(edge => edge.top)), Math.max(...edges.map(edge => edge.bottom))];
  const height = box.offsetHeight;
  const places = [last + GAP, first - GAP - height].filter(top => top >= from && top + height <= to);
  const together = last - first + GAP + height <= innerHeight;
  const top = together ? (places.find(at => at >= 0 && at + height <= innerHeight) ?? places[0]) : undefined;
  if (top === undefined) box.style.right = '16px'; // over the palette: of the rows only numbers are covered
  box.style.top = `${(top ?? Math.max(from, Math.min(first, to - height - GAP))) - from}px`;
  for (const one of [box, rows[0]!]) one.scrollIntoView({ block: 'nearest' });
}
