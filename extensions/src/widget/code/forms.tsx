// The forms in which code is shown, and why it cannot be.

import { Blank } from '../elements/blank';
import type { CodeKind, ErrorInfo } from '../../shared/types';
import { Tabs } from '../elements/tabs';
import { useUi } from '../shell/ui';
import { sentence } from '../elements/text';

/** The program as text has what the panel of the nest leaves out: buffers, axes, conditions. */
const KINDS: readonly (readonly [CodeKind, string])[] = [
  ['nest', 'Program'],
  ['c', 'C'],
  ['llvm', 'LLVM'],
  ['cuda', 'CUDA'],
  ['opencl', 'OpenCL'],
  ['asm', 'Assembly'],
  ['kernels', 'Kernels']
];

/** Which form of the code is shown. */
export function Forms() {
  const { code } = useUi();
  return (
    <Tabs
      name="code"
      label="Form of the code"
      tabs={KINDS}
      open={code.value}
      onPick={kind => {
        code.value = kind;
      }}
    />
  );
}

export const Problem = ({ of }: { of: ErrorInfo }) => <Blank title={of.message}>{sentence(of.hint)}</Blank>;
