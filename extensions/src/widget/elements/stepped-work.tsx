// Work of the kernel that takes many seconds: a button that begins and cancels it, its steps, why it gave no answer.

import { isLive } from '../charts/figure';
import type { WorkSlice } from '../../shared/types';
import type { Store } from '../kernel/store';
import { Busy } from './comparison';
import { Button } from './controls';

interface WorkProps {
  store: Store;
  slice: WorkSlice;
  /** What the work is called, what the button says that begins it, and why it cannot be begun. */
  label: string;
  begin: string;
  reason?: string;
  name: string;
  onBegin: () => void;
  onCancel: () => void;
}

/** The button, with what is to be said of the work. */
export function SteppedWork({ store, slice, label, begin, reason, name, onBegin, onCancel }: WorkProps) {
  const { step, error } = slice;
  return (
    <>
      <p>
        <Button
          data-swb-do={name}
          reason={isLive(store) ? (step ? '' : reason) : 'this needs a running kernel'}
          title={step ? 'Ends after this step' : 'Measurements wait until it is done'}
          onPress={step ? onCancel : onBegin}
        >
          {step ? 'Cancel' : begin}
        </Button>
      </p>
      {step && <Busy {...slice} label={label} />}
      {error && !step && (
        <div class="swb-problem" role="alert">
          {error.message}
          <p>{error.hint}</p>
        </div>
      )}
    </>
  );
}
