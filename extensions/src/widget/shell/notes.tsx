// Lines between the header and the content: the state of the link, what went wrong, two versions that do not fit.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { Button } from '../elements/controls';
import type { ErrorInfo } from '../../shared/types';
import { markRows } from '../nest/marks';
import type { Store } from '../kernel/store';
import { useUi } from './ui';
import { sentence } from '../elements/text';
import { linkWords, noKernel } from '../kernel/link-words';

/** A short wait is told in the status bar; only a longer one takes room from the content. */
const NOTE_AFTER = 1200;

/** `over`: above the content, which stays where it is, since the note goes by itself. */
interface NoteProps {
  level: string;
  over?: boolean;
  title?: string;
  text: string;
  hint?: string;
  children?: ComponentChildren;
}

function NoteLine({ level, over, title, text, hint, children }: NoteProps) {
  const alarm = level === 'error';
  return (
    <div class={`swb-note is-${level}${over ? ' is-over' : ''}`} role={alarm ? 'alert' : 'status'}>
      <p>
        {title && (
          <b>
            {title}
            {/[.?!…]$/.test(title) ? '' : '.'}{' '}
          </b>
        )}
        {hint ? sentence(text) : text}
        {hint && <span class="swb-note-hint"> {sentence(hint)}</span>}
      </p>
      {children && <span class="swb-note-actions">{children}</span>}
    </div>
  );
}

function LinkNote({ store }: { store: Store }) {
  const { title, text, level } = linkWords(store);
  const queued = store.link.value === 'queued';
  const late = useSignal(false);
  useEffect(() => {
    late.value = false;
    if (!queued) return;
    const timer = setTimeout(() => {
      late.value = true;
    }, NOTE_AFTER);
    return () => clearTimeout(timer);
  }, [queued]);
  if (!title || (queued && !late.value)) return null;
  return <NoteLine level={level} title={title} text={text} over={queued} />;
}

function Versions({ store }: { store: Store }) {
  const python = store.see('meta')?.version;
  const protocol = store.otherProtocol.value;
  if (protocol === null && (!python || python === __VERSION__)) return null;
  return (
    <NoteLine
      level="warn"
      title="Two versions"
      text={`The Python part is ${python ?? 'of an unknown version'}, the part in the browser ${__VERSION__}. Restart the kernel and reload the page.`}
    />
  );
}

function Trouble({ store }: { store: Store }) {
  const ui = useUi();
  const note = store.see('status')?.note ?? null;
  const problem = store.problem.value;
  const own: ErrorInfo | null =
    problem && problem.message !== note?.text && !problem.code.startsWith('link.') ? problem : null;
  const show = (where: readonly string[]): void => {
    ui.said.value = markRows(store, ui, where);
  };
  return (
    <>
      {note && (
        <NoteLine level={note.level} text={note.text} hint={note.hint}>
          {note.where?.length > 0 && <Button onPress={() => show(note.where)}>Show me</Button>}
          <Button
            reason={noKernel(store)}
            onPress={() => {
              store.problem.value = null;
              store.act('dismiss');
            }}
          >
            Dismiss
          </Button>
        </NoteLine>
      )}
      {own && (
        <NoteLine level="error" text={own.message} hint={own.hint}>
          {own.where?.length > 0 && <Button onPress={() => show(own.where)}>Show me</Button>}
          <Button
            onPress={() => {
              store.problem.value = null;
            }}
          >
            Dismiss
          </Button>
        </NoteLine>
      )}
    </>
  );
}

export function Notes({ store }: { store: Store }) {
  return (
    <>
      <Versions store={store} />
      <LinkNote store={store} />
      <Trouble store={store} />
    </>
  );
}
