// The form of one primitive, made from what the kernel says about its fields. It asks before it applies.

import { useSignal, type Signal } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { Button, Key } from '../elements/controls';
import { bytes, milliseconds, plural, times } from '../../shared/format';
import type {
  Args,
  ErrorInfo,
  FieldInfo,
  Json,
  NestSlice,
  PaletteItem,
  PreviewAnswer,
  PrimitiveInfo,
  Verdict
} from '../../shared/types';
import type { PanelProps } from '../panel';
import { focusOn, useUi, type Changing } from '../shell/ui';
import { STOP } from '../shell/keys';
import { errorText, Refusal } from '../elements/refusal';
import { sentence } from '../elements/text';
import { noKernel } from '../kernel/link-words';
import { argsOf, missing, nameOf, namesIn, prefill, sameArgs, type Draft } from './args';
import { FieldInput, mayStayOpen } from './fields';
import { usePreview, type Previewed } from './preview';

const AFTER_DRAWING = 30;
const LEGAL: Verdict = { legal: true, code: '', reason: '', hint: '', where: [], witness: null };

/** What is on offer was judged already. */
const ofItem = (item: PaletteItem): Verdict => (item.legal ? LEGAL : { code: '', ...item });

/** A step that would change a number: as it is and as it would be. A part of a loop is compared with the whole. */
function Effects({ seen }: { seen: Previewed | null }) {
  const answer = seen?.answer;
  if (!answer?.verdict.legal) return null;
  const ws = answer.ws.find(one => one.before !== null) ?? answer.ws[0];
  const { estimate } = answer;
  const now = answer.before?.ms ?? null;
  if (!ws && estimate?.ms == null) return null;
  const nameBefore = ({ row }: { row: string }): string =>
    answer.gone.find(whole => row.startsWith(`${whole}.`)) ?? row;
  const before = (one: PreviewAnswer['ws'][number]): string =>
    one.before === null ? '' : `${nameBefore(one) === one.row ? '' : `${nameBefore(one)} `}${bytes(one.before)} → `;
  const after = (one: PreviewAnswer['ws'][number]): string =>
    `${nameBefore(one) === one.row || one.before === null ? '' : `${one.row} `}${bytes(one.after)}`;
  const same = ws !== undefined && (ws.before === null || nameBefore(ws) === ws.row);
  return (
    <dl class="swb-effects">
      {ws && (
        <div title={answer.ws.map(one => `${one.row}: ${before(one)}${after(one)}`).join('\n')}>
          <dt>
            working set
            {same && (
              <>
                {' of '}
                <span class="swb-mono">{ws.row}</span>
              </>
            )}
          </dt>
          <dd>
            {before(ws)}
            <b>{after(ws)}</b>
          </dd>
        </div>
      )}
      {estimate?.ms != null && (
        <div title="By a model of the machine; nothing was run">
          <dt>estimate</dt>
          <dd>
            ≈ {now !== null && `${milliseconds(now)} → `}
            <b>{milliseconds(estimate.ms)} ms</b> {now !== null && times(now, estimate.ms)}
          </dd>
        </div>
      )}
    </dl>
  );
}

/** Of a step that is changed: whether the steps after it are still legal, and which are not. */
function Later({ seen }: { seen: Previewed | null }) {
  const later = seen?.answer.verdict.legal ? seen.answer.later : undefined;
  if (!later?.length) return null;
  const at = later.findIndex(one => one.ok === false);
  if (at < 0)
    return (
      <p class="swb-opinion swb-faint" role="status" data-swb-later>
        With {later.length === 1 ? 'the later step' : `the ${later.length} later steps`}, which still{' '}
        {later.length === 1 ? 'applies' : 'apply'}
      </p>
    );
  const bad = later[at]!;
  const rest = later.slice(at + 1);
  return (
    <p class="swb-opinion swb-careful" role="status" data-swb-later>
      {plural(later.length - at, 'later step')} would go: <b class="swb-mono">{bad.text}</b>, {bad.reason}
      {rest.length > 0 && (
        <>
          {'; and with it '}
          <span class="swb-mono">{rest.map(one => one.text).join(', ')}</span>
        </>
      )}
    </p>
  );
}

/** What a suggestion leaves out. */
const usual = (info: PrimitiveInfo): Draft =>
  Object.fromEntries(info.fields.flatMap(field => (field.default === undefined ? [] : [[field.name, field.default]])));

/** Whether the suggestions differ in one number alone, which its field offers just as well. */
function oneNumber(item: PaletteItem, info: PrimitiveInfo): boolean {
  const differ = info.fields.filter(
    field => new Set(item.quick.map(move => JSON.stringify(move.args[field.name] ?? field.default))).size > 1
  );
  return differ.length === 1 && differ[0]!.widget === 'number';
}

interface SuggestionProps {
  item: PaletteItem;
  info: PrimitiveInfo;
  draft: Draft;
  onPick: (draft: Draft) => void;
  onOver: (draft: Draft | null) => void;
}

function Suggestions({ item, info, draft, onPick, onOver }: SuggestionProps) {
  if (item.quick.length < 2 || item.divisors?.length || oneNumber(item, info)) return null;
  return (
    <div class="swb-quick" role="group" aria-label="Suggestions">
      {item.quick.map(move => (
        <button
          key={move.label}
          type="button"
          class="swb-mini is-wide"
          aria-pressed={sameArgs(move.args, argsOf(info, draft))}
          onMouseEnter={() => onOver({ ...draft, ...usual(info), ...move.args })}
          onMouseLeave={() => onOver(null)}
          onClick={() => onPick({ ...draft, ...usual(info), ...move.args })}
        >
          {move.label}
        </button>
      ))}
    </div>
  );
}

function Opinion({
  verdict,
  lacks,
  onShow
}: {
  verdict: Verdict | null;
  lacks: string;
  onShow: (verdict: Verdict) => void;
}) {
  if (lacks) return <p class="swb-opinion swb-faint" role="status">{`To do: ${lacks}`}</p>;
  if (!verdict || verdict.legal)
    return (
      <p class="swb-opinion swb-aside" role="status">
        {verdict ? 'Legal' : ''}
      </p>
    );
  return (
    <Refusal title="Not legal." role="status">
      {verdict.reason}
      {verdict.hint && ` ${sentence(verdict.hint)}`}{' '}
      {(verdict.where.length > 0 || verdict.witness) && (
        <Button class="swb-link" onPress={() => onShow(verdict)}>
          Show me
        </Button>
      )}
    </Refusal>
  );
}

interface FormProps extends PanelProps {
  item: PaletteItem;
  info: PrimitiveInfo;
  at: string;
  onShow: (args: Args, verdict: Verdict) => void;
  onDone: () => void;
}

/** What the form holds: what somebody has put in, what the pointer is over, and what is thought of it. */
function useDraft({ store, item, info, at }: FormProps, nest: NestSlice | null) {
  const own = useSignal<{ readonly at: string; readonly draft: Draft; readonly of?: Changing } | null>(null);
  const over = useSignal<Draft | null>(null);
  const failure = useSignal<ErrorInfo | null>(null);
  const suggestion = useMemo(() => prefill(info, item, at, nest), [item, at]);
  // What somebody has put in was meant for this selection; until then suggestions that arrive later replace others.
  const { draft, of } = own.value?.at === at ? own.value : { draft: suggestion };
  useLayoutEffect(() => {
    over.value = null;
    failure.value = null;
  }, [at]);
  const ui = useUi();
  const wanted = ui.wanted.value;
  useLayoutEffect(() => {
    if (wanted?.step.primitive !== item.id || nameOf(wanted.row) !== at) return;
    set({ ...suggestion, ...usual(info), ...wanted.step.args }, wanted.of);
    ui.wanted.value = null;
  }, [wanted, at]);
  const lacks = missing(info, draft);
  const step = lacks ? null : { primitive: item.id, args: argsOf(info, draft) };
  const tried =
    over.value && !missing(info, over.value) ? { primitive: item.id, args: argsOf(info, over.value) } : step;
  const seen = usePreview(store, tried, [], undefined, of);
  // While the pointer is over another value, the opinion stays that of what would be applied.
  const known = useRef<Verdict | null>(null);
  if (tried === step)
    known.current =
      step && !of && item.quick.some(move => sameArgs(move.args, step.args))
        ? ofItem(item)
        : (seen?.answer.verdict ?? null);
  const set = (next: Draft, change = of): void => {
    over.value = null;
    failure.value = null;
    own.value = { at, draft: next, of: change };
  };
  return { draft, of, set, over, failure, lacks, step, seen, verdict: known.current };
}

/** Takes the step of the form, and leaves the keyboard in the nest. */
function useApply(
  { store, onDone }: FormProps,
  what: readonly [cmd: string, args: object],
  failure: Signal<ErrorInfo | null>,
  sending: Signal<boolean>
) {
  const ui = useUi();
  const toNest = (): void => {
    if (!focusOn(ui, `.swb-nest ${STOP}`)) focusOn(ui, '.swb-pal [data-swb-legal]');
  };
  return async (): Promise<void> => {
    sending.value = true;
    const inside = ui.root.current?.querySelector('.swb-form')?.contains(document.activeElement) ?? false;
    try {
      await store.do(...what);
      onDone();
      // Nothing is drawn yet: a focused element that is taken away would have the whole page laid out in between. The
      // row that has it now may go too, so once more when all is drawn.
      if (!inside) return;
      toNest();
      setTimeout(toNest, AFTER_DRAWING);
    } catch (error) {
      failure.value = error as ErrorInfo;
    } finally {
      sending.value = false;
    }
  };
}

export function PrimitiveForm(props: FormProps) {
  const { store, item, info, at, onShow } = props;
  const nest = store.see('nest');
  const { draft, of, set, over, failure, lacks, step, seen, verdict } = useDraft(props, nest);
  const sending = useSignal(false);
  const more = useSignal(false);
  const reason =
    noKernel(store) ||
    lacks ||
    (verdict?.legal === false ? 'it is not legal with these values' : sending.value ? 'it is being applied' : '');
  const take = useApply(props, of ? ['change', { ...of, args: draft }] : ['apply', { step }], failure, sending);
  const apply = (): void => {
    if (!reason) void take();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.target as Element).matches('[role=radio]')) return;
    event.preventDefault();
    event.stopPropagation();
    apply();
  };
  const loopOf = (field: FieldInfo): string => namesIn(draft[field.of ?? 'loop'])[0] ?? at;
  return (
    <form
      class="swb-form"
      aria-label={item.id}
      noValidate
      onKeyDown={onKeyDown}
      onSubmit={event => {
        event.preventDefault();
        apply();
      }}
    >
      <p class="swb-summary">
        {info.summary.split('``').map((part, i) =>
          i % 2 ? (
            <code key={i} class="swb-mono">
              {part}
            </code>
          ) : (
            part
          )
        )}
      </p>
      <Suggestions
        item={item}
        info={info}
        draft={draft}
        onPick={one => set(one)}
        onOver={one => {
          over.value = one;
        }}
      />
      {info.fields.map(field => (
        <FieldInput
          key={field.name}
          field={field}
          value={draft[field.name] ?? null}
          draft={draft}
          item={item}
          nest={nest}
          loop={loopOf(field)}
          divisors={loopOf(field) === at ? item.divisors : null}
          more={more.value}
          onChange={(value: Json) => set({ ...draft, [field.name]: value })}
          onOver={(value: Json | undefined) => {
            over.value = value === undefined ? null : { ...draft, [field.name]: value };
          }}
        />
      ))}
      {!more.value && info.fields.some(field => mayStayOpen(field, nest, draft)) && (
        <Button
          class="swb-link is-quiet"
          data-swb-do="open-more"
          title="Let the tuner choose among loops or words too"
          onPress={() => {
            more.value = true;
          }}
        >
          Leave more open…
        </Button>
      )}
      <div class="swb-last">
        <Effects seen={seen} />
        <Later seen={seen} />
        <Opinion verdict={verdict} lacks={lacks} onShow={one => onShow(argsOf(info, draft), one)} />
        {failure.value && <Refusal title="Not applied.">{errorText(failure.value)}</Refusal>}
        <Button type="submit" class="swb-button is-primary is-large" data-swb-apply reason={reason}>
          {of ? `Change step ${of.step} of v${of.node}` : 'Apply'}
          <Key>Enter</Key>
        </Button>
      </div>
    </form>
  );
}
