// A trial by its number: what a click on its point in a chart does, for the keyboard and for those who read the log.

import { Button } from '../elements/controls';
import type { ErrorInfo } from '../../shared/types';
import { toNest } from '../shell/keys';
import type { PanelProps } from '../panel';
import { useUi } from '../shell/ui';

export function OpenTrial({
  store,
  needs,
  refuse
}: PanelProps & { needs: string; refuse: (error: ErrorInfo) => void }) {
  const ui = useUi();
  const id = `${ui.id}-trial`;
  const open = (event: Event): void => {
    event.preventDefault();
    const trial = (event.currentTarget as HTMLFormElement).querySelector('input')!.valueAsNumber;
    if (needs || !Number.isInteger(trial)) return;
    store.do('open_trial', { trial }).then(() => toNest(ui), refuse);
  };
  return (
    <form class="swb-trial" onSubmit={open}>
      <label for={id}>Trial</label>
      <input id={id} type="number" min="0" step="1" required placeholder="no." data-swb-trial-number />
      <Button
        type="submit"
        reason={needs}
        title="Shows the schedule of the trial of this number, as a branch to go on with"
      >
        Open
      </Button>
    </form>
  );
}
