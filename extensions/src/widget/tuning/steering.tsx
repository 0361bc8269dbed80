// Commands to a run: a button and a form for each one that the kernel declares, what holds, and what was asked so far.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../elements/controls';
import { count, duration } from '../../shared/format';
import { valueText } from '../../shared/steps';
import type { ErrorInfo, OrderInfo, SpaceInfo, SteeringSlice } from '../../shared/types';
import type { PanelProps } from '../panel';
import type { Store } from '../kernel/store';
import { useEscape } from '../shell/ui';
import { errorText, Refusal } from '../elements/refusal';
import { capital, sentence } from '../elements/text';
import { blankOrder, orderArgs, OrderInput, orderLacks, type OrderDraft } from './order-fields';

const TASK = 'task';

/** What can be chosen from in a task's space; asked when a form needs it. */
function useSpace(store: Store, order: OrderInfo, task: string) {
  const space = useSignal<SpaceInfo | null>(null);
  const problem = useSignal('');
  const wanted = order.fields.some(field => field.names === 'hole' || field.names === 'variant');
  useEffect(() => {
    let mine = true;
    space.value = null;
    problem.value = '';
    if (!wanted || !task) return;
    store.ask('space', { task }).then(
      found => {
        if (mine) space.value = found;
      },
      (error: ErrorInfo) => {
        if (mine && !error.code.endsWith('superseded') && error.code !== 'closed') problem.value = error.message;
      }
    );
    return () => {
      mine = false;
    };
  }, [wanted, task]);
  return {
    space: space.value,
    reading: wanted && task !== '' && !space.value && !problem.value,
    problem: problem.value
  };
}

function OrderForm({
  store,
  order,
  needs,
  onClose
}: {
  store: Store;
  order: OrderInfo;
  needs: string;
  onClose: () => void;
}) {
  const tasks = store.see('tasks')?.rows ?? [];
  const head = store.see('head');
  const now = store.see('steering')?.values[order.name] ?? {};
  const shown = tasks.find(row => row.id === head?.task)?.key ?? tasks[0]?.key ?? '';
  const draft = useSignal<OrderDraft>(blankOrder(order, shown));
  const refused = useSignal<ErrorInfo | null>(null);
  const done = useSignal('');
  const sending = useSignal(false);
  const about = useSignal('');
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>('select, input, button')?.focus(), []);
  const { space, reading, problem } = useSpace(store, order, valueText(draft.value[TASK] ?? ''));
  const lacks = orderLacks(order, draft.value);
  const reason = needs || lacks || (sending.value ? 'it is being sent' : '');
  const set = (name: string, value: OrderDraft[string]): void => {
    // Values belong to a hole, and holes to a task: what no longer fits is taken out.
    const stale = order.fields.filter(
      field => (name === TASK && (field.names === 'hole' || field.names === 'variant' || field.of)) || field.of === name
    );
    const blank = blankOrder(order, shown);
    refused.value = null;
    done.value = '';
    draft.value = {
      ...draft.value,
      ...Object.fromEntries(stale.map(field => [field.name, blank[field.name]!])),
      [name]: value
    };
  };
  const send = async (): Promise<void> => {
    if (reason) return;
    sending.value = true;
    refused.value = null;
    done.value = '';
    const args = orderArgs(order, draft.value);
    try {
      await store.do('steer', { name: order.name, args });
      done.value = 'Accepted; it holds from the next trials on.';
      const kept = draft.value[TASK];
      draft.value = { ...blankOrder(order, shown), ...(kept === undefined ? {} : { [TASK]: kept }) };
    } catch (error) {
      refused.value = error as ErrorInfo;
    } finally {
      sending.value = false;
    }
  };
  useEscape(true, onClose);
  return (
    <form
      ref={form}
      class="swb-order"
      id={`swb-order-${order.name}`}
      aria-label={order.name}
      noValidate
      onFocusCapture={event => {
        about.value = (event.target as Element).closest<HTMLElement>('.swb-field, .swb-check')?.title ?? '';
      }}
      onSubmit={event => {
        event.preventDefault();
        void send();
      }}
    >
      <p class="swb-order-summary">{order.summary}</p>
      <div class="swb-order-fields">
        {order.fields.map(field => (
          <OrderInput
            key={field.name}
            {...{ field, tasks, head, space }}
            draft={draft.value}
            now={now[field.name] ?? null}
            onChange={value => set(field.name, value)}
          />
        ))}
        <Button type="submit" class="swb-button is-primary" data-swb-send reason={reason}>
          {capital(order.name)}
        </Button>
        <Button class="swb-button" onPress={onClose}>
          Close
        </Button>
      </div>
      {refused.value && <Refusal title="Refused.">{errorText(refused.value)}</Refusal>}
      {problem && <Refusal title="The space of this task cannot be read.">{problem}</Refusal>}
      {!refused.value && !problem && (
        <p class="swb-order-said" role="status">
          {reading ? 'Reading the space of this task…' : done.value || sentence(lacks)}
        </p>
      )}
      {about.value && <p class="swb-faint">{sentence(about.value)}</p>}
    </form>
  );
}

/** What is pinned and forbidden now; a press takes it back. */
function Held({
  store,
  held,
  needs,
  live,
  many
}: {
  store: Store;
  held: SteeringSlice['held'];
  needs: string;
  live: boolean;
  many: boolean;
}) {
  if (held.length === 0) return null;
  const reason = needs || (live ? '' : 'no run is active');
  return (
    <div class="swb-held" role="group" aria-label="Pinned and forbidden">
      <span class="swb-faint">{live ? 'In force' : 'In force when it goes on'}</span>
      {held.map(one => (
        <Button
          key={`${one.task} ${one.text}`}
          class="swb-mini is-wide"
          reason={reason}
          title={`Take back: ${one.text}, of ${one.task}`}
          aria-label={`Release ${one.text}${many ? ` of ${one.task}` : ''}`}
          onPress={() => store.act('steer', { name: 'release', args: one.args })}
        >
          {one.text}
          {many && <span class="swb-faint"> {one.task.split(' + ')[0]}</span>} <span aria-hidden>×</span>
        </Button>
      ))}
    </div>
  );
}

/** Sources of commands that are no name. */
const WHO: Readonly<Record<string, string>> = {
  widget: 'the workbench',
  sidebar: 'the sidebar',
  'control file': 'the control file',
  'command line': 'the command line'
};

/** Who asked for what, newest first. */
function Asked({ steering }: { steering: SteeringSlice }) {
  const [last] = steering.commands;
  if (!last) return null;
  const says = (one: typeof last) => (
    <>
      <b>{one.name}</b> {one.text} {one.task && <span class="swb-faint">{one.task} </span>}
      <span class="swb-faint">
        by {WHO[one.source] ?? one.source} at {duration(one.at)}
      </span>
      {!one.accepted && <span class="swb-careful"> refused: {one.error}</span>}
    </>
  );
  const hidden = steering.count - steering.commands.length;
  return (
    <details class="swb-asked">
      <summary>
        {count(steering.count)} {steering.count === 1 ? 'command' : 'commands'}
        {steering.refused > 0 && `, ${count(steering.refused)} refused`}
        <span class="swb-faint"> · last: </span>
        {says(last)}
      </summary>
      <ol aria-label="Commands, newest first">
        {steering.commands.map(one => (
          <li key={one.id}>{says(one)}</li>
        ))}
      </ol>
      {hidden > 0 && <p class="swb-faint">{count(hidden)} earlier ones are in the log.</p>}
    </details>
  );
}

export function Steer({ store, needs, live }: { store: PanelProps['store']; needs: string; live: boolean }) {
  const open = useSignal('');
  const bar = useRef<HTMLDivElement>(null);
  const steering = store.see('steering');
  const orders = store.see('meta')?.orders ?? [];
  const many = (store.see('tasks')?.rows.length ?? 0) > 1;
  const order = orders.find(one => one.name === open.value);
  const close = (): void => {
    bar.current?.querySelector<HTMLElement>(`[data-swb-order=${open.value}]`)?.focus();
    open.value = '';
  };
  if (!steering) return null;
  return (
    <div class="swb-steer">
      {live && orders.length > 0 && (
        <div ref={bar} class="swb-orders" role="group" aria-label="Steer the run">
          <span class="swb-faint">Steer</span>
          {orders.map(one => (
            <button
              key={one.name}
              class="swb-button"
              data-swb-order={one.name}
              aria-expanded={one.name === open.value}
              title={one.summary}
              onClick={() => {
                open.value = one.name === open.value ? '' : one.name;
              }}
            >
              {capital(one.name)}
            </button>
          ))}
        </div>
      )}
      {live && order && <OrderForm key={order.name} {...{ store, order, needs }} onClose={close} />}
      <Held {...{ store, needs, live, many }} held={steering.held} />
      <Asked steering={steering} />
    </div>
  );
}
