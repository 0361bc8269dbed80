// Share of the time as colour and length. The scale has six steps, monotone in lightness, so it survives print.

export const STEPS = 6;

/** Step 1 to 6 of the scale for a share, `top` being the largest one shown; 0 when it is not known. */
export function shareStep(share: number | null | undefined, top: number): number {
  if (share == null || !(top > 0)) return 0;
  return Math.min(STEPS, Math.max(1, Math.ceil((share / top) * STEPS - 1e-9)));
}

export function ShareBar({ share, top, guess }: { share: number | null; top: number; guess?: boolean }) {
  if (share == null) return null;
  const width = top > 0 ? Math.max(2, (share / top) * 100) : 0;
  return (
    <span class="swb-share-track" aria-hidden>
      <i
        class={`swb-share-bar swb-bg${Math.max(3, shareStep(share, top))}${guess ? ' is-guess' : ''}`}
        style={{ width: `${width}%` }}
      />
    </span>
  );
}
