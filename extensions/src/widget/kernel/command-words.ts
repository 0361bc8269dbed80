// Commands in words, for the line that says what waits for the kernel.

import { stepText } from '../../shared/steps';
import type { Step } from '../../shared/types';

const WORDS: Readonly<Record<string, string>> = {
  open_task: 'open the task',
  goto: 'go to a variant',
  measure: 'measure',
  auto_measure: 'measure every step',
  tune: 'tune',
  adopt: 'use the best',
  open_trial: 'open a trial',
  select: '',
  theme: '',
  figure: '',
  chart: '',
  measure_roofs: 'measure the roofs',
  compare_precisions: 'compare precisions',
  cancel_precisions: '',
  record_timeline: 'record runs',
  cancel_timeline: '',
  compare_lengths: 'compare lengths',
  cancel_lengths: '',
  measure_steps: 'leave out each step',
  cancel_steps: '',
  retarget: 'change the target',
  compare_variants: 'compare variants',
  cancel_comparison: '',
  dismiss: ''
};

/** What is said of the arguments of some commands. */
interface Said {
  readonly step: Step;
  readonly then?: readonly Step[];
  readonly name: string;
}

/** What a command does; empty for those that are not worth a word. */
export function describe(cmd: string, args: object): string {
  const { step, then, name } = args as Said;
  if (cmd === 'apply') return stepText(step.primitive, step.args) + (then?.length ? ` and ${then.length} more` : '');
  return cmd === 'steer' ? name : (WORDS[cmd] ?? cmd);
}
