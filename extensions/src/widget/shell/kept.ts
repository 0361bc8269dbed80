// What the browser remembers of how the workbench was left.

const at = (name: string): string => `schedule-workbench:${name}`;

/** What was kept under a name; null where nothing was, or where a page may keep nothing. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(at(name));
  } catch {
    return null;
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(at(name), value);
  } catch {
    // it holds as long as the page is open
  }
}
