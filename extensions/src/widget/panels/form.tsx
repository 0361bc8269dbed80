// The form of one primitive, made from what the kernel says about its fields. It asks before it applies.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button, Key } from '../../shared/a11y';
import type { ErrorInfo, Json, PaletteItem, PrimitiveInfo, QuickMove, Verdict } from '../../shared/types';
import type { PanelProps } from '../panel';
import type { Store } from '../store';
import { focusOn, useUi } from '../ui';
import { STOP } from '../keys';
import { noKernel, sentence } from '../words';
import { missing, prefill, sameArgs, type Draft } from './args';
import { FieldInput } from './fields';

const ASK_AFTER = 150;
const AFTER_DRAWING = 30;
const LEGAL: Verdict = { legal: true, code: '', reason: '', hint: '', where: [], witness: null };

const refused = (error: ErrorInfo): Verdict =>
  ({ legal: false, code: error.code, reason: error.message, hint: error.hint ?? '', where: error.where ?? [], witness: null });
const fromQuick = (move: QuickMove, reason: string): Verdict => (move.legal ? LEGAL : { ...LEGAL, legal: false, reason: move.reason ?? reason });

/** The kernel's opinion of the draft; null while it is not known. */
function useVerdict(store: Store, item: PaletteItem, draft: Draft, lacks: string) {
  const verdict = useSignal<Verdict | null>(null);
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    const quick = item.quick.find(move => sameArgs(move.args, draft));
    verdict.value = lacks ? null : quick ? fromQuick(quick, item.reason) : null;
    if (lacks || quick || noKernel(store)) return;
    const timer = setTimeout(() => {
      const set = (value: Verdict): void => { if (mine === turn.current) verdict.value = value; };
      store.ask('judge', { step: { primitive: item.id, args: draft } }).then(set, (error: ErrorInfo) => {
        if (error.code !== 'superseded' && error.code !== 'closed') set(refused(error));
      });
    }, ASK_AFTER);
    return () => clearTimeout(timer);
  }, [draft, item, lacks]);
  useEffect(() => () => { turn.current++; }, []);
  return verdict;
}

function Suggestions({ item, draft, onPick }: { item: PaletteItem; draft: Draft; onPick: (draft: Draft) => void }) {
  if (item.quick.length < 2 || item.divisors?.length) return null;
  return (
    <div class="swb-quick" role="group" aria-label="Suggestions">
      {item.quick.map(move => (
        <button key={move.label} type="button" class={`swb-mini is-wide${move.legal ? '' : ' is-not'}`} aria-pressed={sameArgs(move.args, draft) ? 'true' : 'false'}
          title={move.legal ? undefined : move.reason} onClick={() => onPick({ ...draft, ...move.args })}>{move.label}</button>
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
  onShow: (draft: Draft, verdict: Verdict) => void;
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
  const verdict = useVerdict(store, item, draft.value, lacks);
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
      await store.do('apply', { step: { primitive: item.id, args: draft.value } });
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
  const loop = String(draft.value.loop ?? at);
  return (
    <form class="swb-form" aria-label={item.id} noValidate onKeyDown={onKeyDown} onSubmit={event => { event.preventDefault(); void apply(); }}>
      <p class="swb-summary">{info.summary}</p>
      <Suggestions item={item} draft={draft.value} onPick={set} />
      {info.fields.map(field => (
        <FieldInput key={field.name} field={field} value={draft.value[field.name] ?? null} nest={nest} loop={loop}
          divisors={loop === at ? item.divisors : null} onChange={(value: Json) => set({ ...draft.value, [field.name]: value })} />
      ))}
      <Opinion verdict={verdict.value} lacks={lacks} onShow={one => onShow(draft.value, one)} />
      {failure.value && <p class="swb-opinion is-not" role="alert"><b>Not applied.</b> {failure.value.message} {sentence(failure.value.hint ?? '')}</p>}
      <Button type="submit" class="swb-button is-primary is-large" data-swb-apply reason={reason} onPress={() => undefined}>Apply<Key>Enter</Key></Button>
    </form>
  );
}
