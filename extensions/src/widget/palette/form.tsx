// The form of one primitive, made from what the kernel says about its fields. It asks before it applies.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button, Key } from '../../shared/a11y';
import type { Args, ErrorInfo, FieldInfo, Json, PaletteItem, PrimitiveInfo, Verdict } from '../../shared/types';
import type { PanelProps } from '../panel';
import type { Store } from '../store';
import { focusOn, useUi } from '../ui';
import { STOP } from '../keys';
import { noKernel, sentence } from '../words';
import { argsOf, missing, namesIn, prefill, sameArgs, type Draft } from './args';
import { FieldInput } from './fields';

const ASK_AFTER = 150;
const AFTER_DRAWING = 30;
const LEGAL: Verdict = { legal: true, code: '', reason: '', hint: '', where: [], witness: null };

const refused = (error: ErrorInfo): Verdict =>
  ({ legal: false, code: error.code, reason: error.message, hint: error.hint ?? '', where: error.where ?? [], witness: null });
/** What is on offer was judged already. */
const ofItem = (item: PaletteItem): Verdict => (item.legal ? LEGAL : { code: '', ...item });

/** The kernel's opinion of the draft; null while it is not known. */
function useVerdict(store: Store, item: PaletteItem, info: PrimitiveInfo, draft: Draft, lacks: string) {
  const verdict = useSignal<Verdict | null>(null);
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    const args = argsOf(info, draft);
    const quick = item.quick.find(move => sameArgs(move.args, args));
    verdict.value = lacks ? null : quick ? ofItem(item) : null;
    if (lacks || quick || noKernel(store)) return;
    const timer = setTimeout(() => {
      const set = (value: Verdict): void => { if (mine === turn.current) verdict.value = value; };
      store.ask('judge', { step: { primitive: item.id, args } }).then(set, (error: ErrorInfo) => {
        if (error.code !== 'superseded' && error.code !== 'closed') set(refused(error));
      });
    }, ASK_AFTER);
    return () => clearTimeout(timer);
  }, [draft, item, lacks]);
  useEffect(() => () => { turn.current++; }, []);
  return verdict;
}

/** What a suggestion leaves out. */
const usual = (info: PrimitiveInfo): Draft =>
  Object.fromEntries(info.fields.flatMap(field => (field.default === undefined ? [] : [[field.name, field.default]])));

/** Whether the suggestions differ in one number alone, which its field offers just as well. */
function oneNumber(item: PaletteItem, info: PrimitiveInfo): boolean {
  const differ = info.fields.filter(field => new Set(item.quick.map(move => JSON.stringify(move.args[field.name] ?? field.default))).size > 1);
  return differ.length === 1 && differ[0]!.widget === 'number';
}

function Suggestions({ item, info, draft, onPick }: { item: PaletteItem; info: PrimitiveInfo; draft: Draft; onPick: (draft: Draft) => void }) {
  if (item.quick.length < 2 || item.divisors?.length || oneNumber(item, info)) return null;
  return (
    <div class="swb-quick" role="group" aria-label="Suggestions">
      {item.quick.map(move => (
        <button key={move.label} type="button" class="swb-mini is-wide" aria-pressed={sameArgs(move.args, argsOf(info, draft)) ? 'true' : 'false'}
          onClick={() => onPick({ ...draft, ...usual(info), ...move.args })}>{move.label}</button>
      ))}
    </div>
  );
}

function Opinion({ verdict, lacks, onShow }: { verdict: Verdict | null; lacks: string; onShow: (verdict: Verdict) => void }) {
  if (lacks) return <p class="swb-opinion swb-faint" role="status">{`To do: ${lacks}`}</p>;
  if (!verdict || verdict.legal) return <p class="swb-opinion swb-aside" role="status">{verdict ? 'Legal' : ''}</p>;
  return (
    <p class="swb-opinion is-not" role="status"><b>Not legal.</b> {verdict.reason}{verdict.hint && ` ${sentence(verdict.hint)}`}{' '}
      {(verdict.where.length > 0 || verdict.witness) && <Button class="swb-link" onPress={() => onShow(verdict)}>Show me</Button>}
    </p>
  );
}

interface FormProps extends PanelProps {
  item: PaletteItem;
  info: PrimitiveInfo;
  at: string;
  onShow: (args: Args, verdict: Verdict) => void;
  onDone: () => void;
}

export function PrimitiveForm({ store, item, info, at, onShow, onDone }: FormProps) {
  const ui = useUi();
  const nest = store.slice('nest').value;
  const draft = useSignal<Draft>(prefill(info, item, at, nest));
  const touched = useRef(false);
  const failure = useSignal<ErrorInfo | null>(null);
  const sending = useSignal(false);
  useEffect(() => {
    // Suggestions that arrive later replace what nobody has touched yet.
    if (!touched.current) draft.value = prefill(info, item, at, store.slice('nest').peek());
  }, [item, at]);
  const lacks = missing(info, draft.value);
  const verdict = useVerdict(store, item, info, draft.value, lacks);
  const set = (next: Draft): void => {
    touched.current = true;
    failure.value = null;
    draft.value = next;
  };
  const reason = noKernel(store) || lacks || (verdict.value?.legal === false ? 'it is not legal with these values' : sending.value ? 'it is being applied' : '');
  const apply = async (): Promise<void> => {
    if (reason) return;
    sending.value = true;
    const inside = ui.root.current?.querySelector('.swb-form')?.contains(document.activeElement) ?? false;
    try {
      await store.do('apply', { step: { primitive: item.id, args: argsOf(info, draft.value) } });
      onDone();
      // The rows of the new nest are drawn by then; a row that is about to go must not take the focus with it.
      if (inside) setTimeout(() => focusOn(ui, `.swb-nest ${STOP}`) || focusOn(ui, '.swb-pal [data-swb-legal]'), AFTER_DRAWING);
    } catch (error) {
      failure.value = error as ErrorInfo;
    } finally {
      sending.value = false;
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.target as Element).matches('[role=radio]')) return;
    event.preventDefault();
    event.stopPropagation();
    void apply();
  };
  const loopOf = (field: FieldInfo): string => namesIn(draft.value[field.of ?? 'loop'])[0] ?? at;
  return (
    <form class="swb-form" aria-label={item.id} noValidate onKeyDown={onKeyDown} onSubmit={event => { event.preventDefault(); void apply(); }}>
      <p class="swb-summary">{info.summary.split('``').map((part, i) => (i % 2 ? <code key={i} class="swb-mono">{part}</code> : part))}</p>
      <Suggestions item={item} info={info} draft={draft.value} onPick={set} />
      {info.fields.map(field => (
        <FieldInput key={field.name} field={field} value={draft.value[field.name] ?? null} draft={draft.value} item={item} nest={nest} loop={loopOf(field)}
          divisors={loopOf(field) === at ? item.divisors : null} onChange={(value: Json) => set({ ...draft.value, [field.name]: value })} />
      ))}
      <Opinion verdict={verdict.value} lacks={lacks} onShow={one => onShow(argsOf(info, draft.value), one)} />
      {failure.value && <p class="swb-opinion is-not" role="alert"><b>Not applied.</b> {failure.value.message} {sentence(failure.value.hint ?? '')}</p>}
      <Button type="submit" class="swb-button is-primary is-large" data-swb-apply reason={reason} onPress={() => undefined}>Apply<Key>Enter</Key></Button>
    </form>
  );
}
