// What a run knows: why a task is tuned now, who is the best of the open one and how sure that is, how good the model is.

import type { ComponentChildren } from 'preact';
import { Button } from '../../shared/a11y';
import { milliseconds, plural, spread } from '../../shared/format';
import type { SteeringSlice } from '../../shared/types';
import type { Store } from '../store';
import { useUi } from '../ui';

const Row = ({ name, children }: { name: string; children: ComponentChildren }) => <><dt>{name}</dt><dd>{children}</dd></>;

const TERMS = [['backward', 'by the last rounds'], ['optimism', 'if trials go on to pay'], ['similarity', 'by similar tasks']] as const;

/** Whether an expectation in milliseconds is more than nothing. */
const worth = (ms: number | null): boolean => ms !== null && ms >= 1e-5;

function Next({ next }: { next: NonNullable<SteeringSlice['next']> }) {
  const parts = TERMS.flatMap(([term, words]) => (worth(next[term]) ? [`${milliseconds(next[term])} ${words}`] : []));
  const title = 'What the task scheduler expects one more trial to save, and the parts that this comes from, all in milliseconds of the whole model';
  return (
    <>{next.name}: {next.reason}
      {worth(next.gain) && <span class="swb-faint" title={title}> · expects {milliseconds(next.gain)} ms per trial{parts.length > 0 && ` (${parts.join(', ')})`}</span>}
    </>
  );
}

export function Facts({ store, needs, live }: { store: Store; needs: string; live: boolean }) {
  const ui = useUi();
  const steering = store.slice('steering').value;
  const head = store.slice('head').value;
  const task = steering?.task;
  const open = (trial: number): void => {
    store.act('open_trial', { trial, task: head?.task ?? null });
    ui.tab.value = 'schedule';
  };
  const link = (trial: number, text: string) => (
    <Button class="swb-link" reason={needs} title="Shows this trial's schedule, to go on with it by hand; you can go back" data-swb-trial={trial}
      onPress={() => open(trial)}>{text}</Button>
  );
  if (!steering || (!steering.next && !task)) return null;
  const last = task?.last;
  return (
    <dl class="swb-facts">
      {live && steering.next && <Row name="Tuned now"><Next next={steering.next} /></Row>}
      {task && task.trial != null && (
        <Row name="Best">
          {link(task.trial, `trial ${task.trial}`)} {milliseconds(task.ms)} ms {spread(task.spread, task.ms)}
          {task.origin && <span class="swb-faint"> · proposed by {task.origin}</span>}
          {task.resting && <span class="swb-faint"> · rests</span>}
          {task.waiting > 0 && <span> · {plural(task.waiting, 'candidate')} by hand to be measured next</span>}
        </Row>
      )}
      {task && last && (
        <Row name="Comparisons">
          {plural(task.compared, 'comparison')}, {task.won} with a new best · <span class={last.won ? 'swb-won' : ''}>{last.text}</span>
          <span class="swb-facts-open"> · open {last.trials.map((trial, i) => <span key={trial}>{i > 0 && ', '}{link(trial, String(trial))}{last.ms[i] != null && <span class="swb-faint"> {milliseconds(last.ms[i])} ms</span>}</span>)}</span>
        </Row>
      )}
      {task && task.quality != null && (
        <Row name="Model"><span title="Spearman's rank correlation of what the model predicted and what was measured afterwards: 1 is the right order, 0 is guessing">rank correlation {task.quality.toFixed(2)}</span>
          <span class="swb-faint"> with what was measured afterwards</span></Row>
      )}
      {live && task && !task.resting && task.reason && steering.next?.name !== head?.name && <Row name="Its turn"><span class="swb-mut">{task.reason}</span></Row>}
    </dl>
  );
}
