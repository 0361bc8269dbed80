// Whether all that is known is on show, or what a beginner needs. The browser remembers it.

import { signal } from '@preact/signals';
import { keep, recall } from './kept';

export const more = signal(recall('more') === '1');

export function setMore(on: boolean): void {
  more.value = on;
  keep('more', on ? '1' : '0');
}
