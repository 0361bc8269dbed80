// The form that starts a tuning run: what to tune and for how long.

import { signal, type Signal } from '@preact/signals';
import { Button } from '../elements/controls';
import { count, plural } from '../../shared/format';
import type { PanelProps } from '../panel';
import type { Store } from '../kernel/store';

type Scope = 'schedule' | 'task' | 'all';
type Unit = 'trials' | 'seconds';

const USUAL: Record<Unit, number> = { trials: 200, seconds: 60 };
/** The fewest trials of a round, as the kernel's runs have it. */
const ROUND = 4;
const MOST: Record<Unit, number> = { trials: 1_000_000, seconds: 604_800 };

/** What was chosen last: the form goes away while a run is on, and comes back as it was left. */
interface Plan {
  readonly wanted: Signal<{ readonly scope: Scope; readonly of: string } | null>;
  readonly unit: Signal<Unit>;
  readonly amount: Signal<string>;
}
const plans = new WeakMap<Store, Plan>();

function planOf(store: Store): Plan {
  let plan = plans.get(store);
  if (!plan)
    plans.set(store, (plan = { wanted: signal(null), unit: signal('trials'), amount: signal(String(USUAL.trials)) }));
  return plan;
}

interface Choice {
  scope: Scope;
  label: string;
  title: string;
  reason: string;
}

function choices(holes: number, open: boolean, tasks: number): Choice[] {
  const numbers = `${holes} open number${holes === 1 ? '' : 's'}`;
  return [
    {
      scope: 'schedule',
      label: holes ? `this schedule, ${numbers}` : 'this schedule',
      title: 'Keeps the loops and chooses the open numbers',
      reason: holes ? '' : 'No number is left open: tick "leave open" in a primitive first'
    },
    {
      scope: 'task',
      label: 'this task',
      title: 'Searches all schedules of the open task',
      reason: open ? '' : 'No task is open'
    },
    {
      scope: 'all',
      label: tasks > 1 ? `all ${tasks} tasks` : 'all tasks',
      title: 'Shares the trials among all tasks, more where that saves more',
      reason: tasks > 1 ? '' : 'There is only one task'
    }
  ];
}

export function StartForm({
  store,
  needs,
  run,
  again
}: {
  store: PanelProps['store'];
  needs: string;
  run: (cmd: string, args?: object) => void;
  again: boolean;
}) {
  const head = store.see('head');
  const tasks = store.see('tasks')?.rows.length ?? 0;
  const { wanted, unit, amount } = planOf(store);
  const options = choices(head?.holes ?? 0, head != null, tasks);
  const free = options.filter(option => !option.reason);
  // A schedule with open numbers was made to be tuned: what was chosen for another one does not count.
  const of = head?.holes ? `${head.task} ${head.step}` : '';
  const chosen = wanted.value?.of === of ? wanted.value.scope : null;
  const scope = free.find(option => option.scope === chosen)?.scope ?? free[0]?.scope ?? null;
  const number = Number(amount.value);
  const good = amount.value.trim() !== '' && Number.isInteger(number) && number >= 1 && number <= MOST[unit.value];
  const reason =
    needs || (scope == null ? 'there is no task to tune' : good ? '' : 'the budget must be a whole number from 1 on');

  const submit = (event: Event): void => {
    event.preventDefault();
    if (reason) return;
    const { value } = unit;
    run('tune', { scope, trials: value === 'trials' ? number : null, seconds: value === 'seconds' ? number : null });
  };
  const setUnit = (next: Unit): void => {
    if (amount.value === String(USUAL[unit.value])) amount.value = String(USUAL[next]);
    unit.value = next;
  };
  return (
    <form class="swb-start" aria-label="Start a tuning run" onSubmit={submit} noValidate>
      <fieldset>
        <legend>Tune</legend>
        {options.map(option => (
          <label key={option.scope} title={option.reason || option.title} class={option.reason ? 'is-off' : ''}>
            <input
              type="radio"
              name="scope"
              value={option.scope}
              checked={scope === option.scope}
              disabled={option.reason !== ''}
              onChange={() => {
                wanted.value = { scope: option.scope, of };
              }}
            />
            {option.label}
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend>for</legend>
        <input
          type="number"
          min={1}
          max={MOST[unit.value]}
          step={1}
          value={amount.value}
          aria-label="Budget"
          aria-invalid={!good}
          onInput={event => {
            amount.value = event.currentTarget.value;
          }}
        />
        <select
          aria-label="Unit of the budget"
          value={unit.value}
          onChange={event => setUnit(event.currentTarget.value as Unit)}
        >
          <option value="trials">trials</option>
          <option value="seconds">seconds</option>
        </select>
      </fieldset>
      <Button
        type="submit"
        class="swb-button is-primary"
        data-action="start"
        reason={reason}
        title="Runs in the background: the notebook stays usable"
      >
        {again ? 'Start again' : 'Start'}
      </Button>
      {good && scope === 'all' && unit.value === 'trials' && number < ROUND * tasks && (
        <span class="swb-mut">
          {plural(number, 'trial')} reach {Math.max(1, Math.floor(number / ROUND))} of the {tasks} tasks, those with the
          largest computations;{' '}
          <Button
            class="swb-link"
            title="Sets the budget"
            data-swb-reach
            onPress={() => {
              amount.value = String(ROUND * tasks);
            }}
          >
            {count(ROUND * tasks)} reach all
          </Button>
        </span>
      )}
      {scope === 'task' && head && !['v0', ''].includes(head.step) && (
        <span class="swb-mut">
          It does not go on from your steps: to keep them, leave a number of them open, and take <i>this schedule</i>
        </span>
      )}
      {!good && (
        <span class="swb-careful" role="status">
          A whole number from 1 to {MOST[unit.value].toLocaleString('en')}
        </span>
      )}
    </form>
  );
}
