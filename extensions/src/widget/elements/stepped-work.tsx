// Work of the kernel that takes many seconds: a button that begins and cancels it, its steps, why it gave no answer.

import { isLive } from '../charts/figure';
import type { WorkSlice } from '../../shared/types';
import type { Store } from '../kernel/store';
import { Busy } from './comparison';
import { Button } from './controls';

interface ButtonProps {
  store: Store;
  slice: WorkSlice;
  /** What the button says that begins the work, what it takes, and why it cannot be begun. */
  begin: string;
  title?: string;
  reason?: string;
  name: string;
  onBegin: () => void;
  onCancel: () => void;
}

/** Begins the work, or cancels it; what waits for its turn is at no step yet. */
export function WorkButton({ store, slice, begin, title, reason, name, onBegin, onCancel }: ButtonProps) {
  const { step, at } = slice;
  const ends = at ? 'Ends after this step' : 'Ends at once';
  return (
    <Button
      data-swb-do={name}
      reason={isLive(store) ? (step ? '' : reason) : 'this needs a running kernel'}
      title={step ? ends : (title ?? 'Measurements wait until it is done')}
      onPress={step ? onCancel : onBegin}
    >
      {step ? 'Cancel' : begin}
    </Button>
  );
}

interface StateProps {
  slice: WorkSlice;
  /** What the work is called, and what is said before the reason why it gave no answer. */
  label: string;
  failed?: string;
}

/** How far the work is, or why it gave no answer. */
export function WorkState({ slice, label, failed }: StateProps) {
  const { step, error } = slice;
  if (step) return <Busy {...slice} label={label} />;
  return (
    error && (
      <div class="swb-problem" role="alert">
        {failed && <b>{failed} </b>}
        {error.message}
        <p>{error.hint}</p>
      </div>
    )
  );
}

/** The button, with what is to be said of the work. */
export function SteppedWork({ label, ...button }: ButtonProps & StateProps) {
  return (
    <>
      <p>
        <WorkButton {...button} />
      </p>
      <WorkState slice={button.slice} label={label} />
    </>
  );
}
