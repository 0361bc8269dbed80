// Light or dark: JupyterLab says it on the body; elsewhere the browser does.

import { signal, type ReadonlySignal } from '@preact/signals';
import type { Theme } from '../../shared/types';

const ATTRIBUTE = 'data-jp-theme-light';

export function watchTheme(onChange: (theme: Theme) => void): { theme: ReadonlySignal<Theme>; stop: () => void } {
  const media = window.matchMedia('(prefers-color-scheme: dark)');
  const read = (): Theme => {
    const told = document.body.getAttribute(ATTRIBUTE);
    return (told === null ? media.matches : told === 'false') ? 'dark' : 'light';
  };
  const theme = signal(read());
  const look = (): void => {
    const now = read();
    if (now === theme.peek()) return;
    theme.value = now;
    onChange(now);
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, { attributes: true, attributeFilter: [ATTRIBUTE] });
  media.addEventListener('change', look);
  return {
    theme,
    stop: () => {
      observer.disconnect();
      media.removeEventListener('change', look);
    }
  };
}
