// The box for a text that a tuner has printed, in a notebook and on JupyterLab's page of a log.

import { useState } from 'preact/hooks';
import type { ErrorInfo } from '../shared/types';
import { Button, Key } from '../widget/elements/controls';
import { sentence } from '../widget/elements/text';

/** What is read as one text; more is a file. */
const MOST_TEXT = 4 << 20;
const TOO_LONG: ErrorInfo = {
  code: 'log.too_large',
  message: 'The text is longer than 4 MiB',
  where: [],
  hint: 'save it as a file, and open that'
};

/** What is wrong with a log, and what to do. */
export function Trouble({ error }: { error: ErrorInfo }) {
  const where = error.where.length ? ` (${error.where.join(', ')})` : '';
  return (
    <p class="swb-note is-error" role="alert">
      <span>
        <b>Problem: </b>
        {error.message}
        {where}. {sentence(error.hint ?? '')}
      </span>
    </p>
  );
}

interface PasteProps {
  /** What the box holds at first. */
  readonly text: string;
  readonly error: ErrorInfo | null;
  readonly read: (text: string) => void;
}

export function Paste({ text: first, error, read }: PasteProps) {
  const [text, setText] = useState(first);
  const [long, setLong] = useState(false);
  const reason = text.trim() === '' ? 'there is no text' : '';
  const send = (): void => {
    setLong(text.length > MOST_TEXT);
    if (!reason && text.length <= MOST_TEXT) read(text);
  };
  const problem = long ? TOO_LONG : error;
  return (
    <div class="swx-paste">
      {problem && <Trouble error={problem} />}
      <label>
        A table that a tuner has printed (Inductor, Triton, Helion, …), JSON lines or a table with commas, with whatever
        stands around it
        <textarea
          rows={14}
          spellcheck={false}
          value={text}
          onInput={event => setText(event.currentTarget.value)}
          onKeyDown={event => {
            event.stopPropagation(); // no key of the notebook is meant here
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            send();
          }}
        />
      </label>
      <Button class="swb-button" reason={reason} onPress={send} data-swx="read">
        Read the text<Key>Ctrl+Enter</Key>
      </Button>
    </div>
  );
}
