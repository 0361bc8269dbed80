// Whether a view is so wide that the loop nest and its code stand side by side.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { useUi } from './ui';

/** Pixels from which on both have as much room as one has elsewhere. */
const BOTH = 2200;

export function useWide(): boolean {
  const { root } = useUi();
  const wide = useSignal(false);
  useEffect(() => {
    const box = root.current!;
    const watch = new ResizeObserver(() => {
      wide.value = box.clientWidth >= BOTH;
    });
    watch.observe(box);
    return () => watch.disconnect();
  }, []);
  return wide.value;
}
