// Whether all that is known is on show, or what a beginner needs. The browser remembers it.

import { signal } from '@preact/signals';

const KEY = 'schedule-workbench:more';

function remembered(): boolean {
  try {
    return localStorage.getItem(KEY) === '1';
  } catch {
    return false; // a page may be forbidden to keep anything
  }
}

export const more = signal(remembered());

export function setMore(on: boolean): void {
  more.value = on;
  try {
    localStorage.setItem(KEY, on ? '1' : '0');
  } catch {
    // it holds as long as the page is open
  }
}
