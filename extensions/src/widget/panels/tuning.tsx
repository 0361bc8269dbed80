// The tuning run: how far it is, what it does, and the buttons that start, hold and end it.

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Button, Key } from '../elements/controls';
import { Blank } from '../elements/blank';
import type { ErrorInfo, TuningSlice } from '../../shared/types';
import type { Panel, PanelProps } from '../panel';
import { OpenTrial } from '../charts/open-trial';
import { Facts } from '../tuning/run-facts';
import { Steer } from '../tuning/steering';
import { toNest } from '../shell/keys';
import { more, setMore } from '../shell/more';
import { useUi } from '../shell/ui';
import { PlainWords } from '../tuning/plain-words';
import { ACTIONS, STATE_WORDS, trialsOf, whyNot, type Action } from '../tuning/run-states';
import { StartForm } from '../tuning/start-form';

type Run = (cmd: string, args?: object) => void;

function Progress({ tuning }: { tuning: TuningSlice }) {
  const percent = Math.round(Math.min(1, Math.max(0, tuning.fraction ?? 0)) * 100);
  return (
    <div
      class="swb-progress"
      role="progressbar"
      aria-label="Progress of the tuning run"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-valuetext={`${trialsOf(tuning)}, ${percent} %`}
    >
      <i style={{ width: `${percent}%` }} />
    </div>
  );
}

const actionsOf = (state: string): Action[] => [state === 'paused' ? 'resume' : 'pause', 'stop', 'cancel'];

function Actions({ tuning, needs, run }: { tuning: TuningSlice; needs: string; run: Run }) {
  return (
    <span class="swb-actions" role="group" aria-label="Control the tuning run">
      {actionsOf(tuning.state).map((action, i) => (
        <Button
          key={action}
          data-action={action}
          title={ACTIONS[action].join(' ')}
          reason={needs || whyNot(action, tuning.state)}
          onPress={() => run(action)}
        >
          {ACTIONS[action][0]}
          {i === 0 && <Key>T</Key>}
        </Button>
      ))}
    </span>
  );
}

function Meanings({ state }: { state: string }) {
  return (
    <p class="swb-tuning-message">
      {actionsOf(state).map(action => (
        <>
          <b>{ACTIONS[action][0]}</b> {ACTIONS[action][1]}{' '}
        </>
      ))}
    </p>
  );
}

function Problem({ title, text, hint, onClose }: { title: string; text: string; hint?: string; onClose?: () => void }) {
  return (
    <div class="swb-problem" role="alert">
      <b>{title}</b> <span>{text}</span>
      {hint && <p>{hint}</p>}
      {onClose && <Button onPress={onClose}>Close</Button>}
    </div>
  );
}

function Best({
  store,
  tuning,
  needs,
  refuse
}: PanelProps & { tuning: TuningSlice; needs: string; refuse: (error: ErrorInfo) => void }) {
  const ui = useUi();
  const head = store.see('head');
  if (!head) return null;
  const adopt = (): void => void store.do('adopt', { task: head.task }).then(() => toNest(ui), refuse);
  const reason = needs || (head.task == null ? 'no task is open' : tuning.best_ready ? '' : tuning.best_why);
  return (
    <Button data-action="adopt" reason={reason} title="Goes to the best schedule of this task" onPress={adopt}>
      Use the best
    </Button>
  );
}

/** Makes the schedule on show a trial of the run. */
function Measure({ store, tuning, needs }: { store: PanelProps['store']; tuning: TuningSlice; needs: string }) {
  const head = store.see('head');
  const key = store.see('tasks')?.rows.find(row => row.id === head?.task)?.key;
  const sent = useSignal('');
  const refused = useSignal<ErrorInfo | null>(null);
  useEffect(() => {
    sent.value = '';
    refused.value = null;
  }, [head?.task, head?.step]);
  if (!head || !key) return null;
  const reason =
    needs ||
    (tuning.state === 'stopping'
      ? 'the run is already ending'
      : head.holes
        ? 'numbers of it are open'
        : head.step === 'v0'
          ? 'it is as it was written'
          : sent.value);
  const press = (): void => {
    refused.value = null;
    sent.value = 'it is on its way';
    store.do('steer', { name: 'add', args: { task: key, trace: true } }).then(
      () => {
        sent.value = 'it is one of the trials';
      },
      (error: ErrorInfo) => {
        sent.value = '';
        refused.value = error;
      }
    );
  };
  return (
    <>
      <Button
        data-action="add"
        reason={reason}
        onPress={press}
        title="Makes the schedule on show the next trial of this run"
      >
        Measure {head.step} in this run
      </Button>
      {refused.value && (
        <span class="swb-careful" role="alert">
          {refused.value.message}
        </span>
      )}
    </>
  );
}

const basename = (path: string): string => path.split(/[\\/]/).pop() ?? path;

function Result(props: PanelProps & { tuning: TuningSlice; needs: string; refuse: (error: ErrorInfo) => void }) {
  const { log } = props.tuning;
  return (
    <div class="swb-tuning-result">
      <span class="swb-faint" title={log || undefined}>
        {log ? (
          <>
            log <span class="swb-mono">{basename(log)}</span>
          </>
        ) : (
          'no log file yet'
        )}
      </span>
      {more.value && ACTIVE.has(props.tuning.state) && (
        <Measure store={props.store} tuning={props.tuning} needs={props.needs} />
      )}
      {more.value && props.tuning.trials > 0 && <OpenTrial {...props} />}
      <Best {...props} />
    </div>
  );
}

/** Shows all that is known of the run, or hides it again. */
const More = () => (
  <Button
    class="swb-link"
    data-action="more"
    aria-expanded={more.value}
    title="How sure the best is, the model, commands that steer the run, more columns"
    onPress={() => setMore(!more.value)}
  >
    {more.value ? 'Less' : 'More'}
  </Button>
);

const NEXT = '[data-action=pause], [data-action=resume], [data-action=start]';
const AFTER = new Set(['done', 'cancelled']);
const ACTIVE = new Set(['running', 'paused', 'stopping']);

function View(props: PanelProps) {
  const { store } = props;
  const tuning = store.see('tuning');
  const section = useRef<HTMLElement>(null);
  const had = section.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    // The form gives way to the buttons and back; the keyboard stays where the next thing to do is.
    if (had && !section.current?.contains(document.activeElement))
      section.current?.querySelector<HTMLElement>(NEXT)?.focus();
  });
  const refused = useSignal<ErrorInfo | null>(null);
  const link = store.link.value;
  const needs = link === 'static' || link === 'dead' || link === 'restarting' ? 'this needs a running kernel.' : '';
  const run: Run = (cmd, args) => {
    refused.value = null;
    store.do(cmd, args).catch((error: ErrorInfo) => {
      refused.value = error;
    });
  };
  if (!tuning)
    return (
      <Blank title="Nothing to tune">
        Open a task first: <code>Workbench(task)</code>
      </Blank>
    );
  const active = ACTIVE.has(tuning.state);
  const started = tuning.state !== 'none' && tuning.state !== 'idle';
  const error = refused.value;
  return (
    <section ref={section} class={`swb-tuning is-${tuning.state}`} aria-label="Tuning">
      <div class="swb-tuning-line">
        <b class="swb-tuning-state" role="status">
          {tuning.end === 'stopped' ? 'Stopped' : (STATE_WORDS[tuning.state] ?? tuning.state)}
        </b>
        {started && <Progress tuning={tuning} />}
        {active && <Actions {...{ tuning, needs, run }} />}
        <More />
      </div>
      <PlainWords store={store} tuning={tuning} />
      {tuning.state === 'failed' && (
        <Problem title="The tuning run ended early." text={tuning.message || 'The note above says why.'} />
      )}
      {tuning.state !== 'failed' && tuning.message && <p class="swb-tuning-message">{tuning.message}</p>}
      {error && (
        <Problem
          title="This was refused."
          text={error.message}
          hint={error.hint}
          onClose={() => {
            refused.value = null;
          }}
        />
      )}
      {AFTER.has(tuning.state) && tuning.trials > 0 && (
        <p class="swb-tuning-message">
          <b>What next?</b> <i>Use the best</i> shows the fastest schedule of the open task: look at it, change it,
          export it. All trials are in the log file; <i>Start again</i> goes on from there.
        </p>
      )}
      <div class="swb-tuning-next">
        {active ? (
          <Meanings state={tuning.state} />
        ) : tuning.off ? (
          <p class="swb-mut">{tuning.off}</p>
        ) : (
          <StartForm store={store} needs={needs} run={run} again={started} />
        )}
        <Result
          {...props}
          tuning={tuning}
          needs={needs}
          refuse={error => {
            refused.value = error;
          }}
        />
      </div>
      {more.value && (
        <div class="swb-tuning-more">
          <Facts store={store} needs={needs} live={active} />
          <Steer store={store} needs={needs} live={active && tuning.state !== 'stopping'} />
        </div>
      )}
    </section>
  );
}

export default { name: 'tuning', title: 'Tuning', at: ['run'], View } satisfies Panel;
