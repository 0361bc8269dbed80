// All keys on one sheet.

import { useEffect, useRef } from 'preact/hooks';
import { Button, Key } from '../elements/controls';
import { SHEET } from './keys';
import { useUi } from './ui';

export function Sheet() {
  const { sheet } = useUi();
  const dialog = useRef<HTMLDialogElement>(null);
  const open = sheet.value;
  useEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    if (!open) dialog.current?.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      class="swb-sheet"
      aria-label="Keyboard"
      onClose={() => {
        sheet.value = false;
      }}
      onKeyDown={event => event.stopPropagation()}
    >
      <h3 class="swb-h3">Keyboard</h3>
      <dl>
        {SHEET.map(([keys, text]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map(one => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <Button
        onPress={() => {
          sheet.value = false;
        }}
      >
        Close<Key>Esc</Key>
      </Button>
    </dialog>
  );
}
