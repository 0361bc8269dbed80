// Commands and steps in words, for the line that says what waits for the kernel, and for the history.

import type { Json } from '../shared/types';

type Dict = Readonly<Record<string, Json>>;
const isDict = (value: Json): value is Dict => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value as it is written in a step: names without quotes, an open number as "?". */
export function valueText(value: Json): string {
  if (value === null) return 'rest';
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (isDict(value)) return typeof value.hole === 'string' ? `?${value.hole}` : '?';
  return String(value);
}

const isNames = (value: Json): value is readonly string[] => Array.isArray(value) && value.every(one => typeof one === 'string');

/** A step as it is called: a list of names is written as several arguments. */
export const stepText = (primitive: string, args: Dict): string =>
  `${primitive}(${Object.values(args).map(value => (isNames(value) ? value.join(', ') : valueText(value))).join(', ')})`;

const WORDS: Readonly<Record<string, string>> = {
  open_task: 'open the task', goto: 'go to a variant', measure: 'measure', auto_measure: 'measure every step', tune: 'tune',
  adopt: 'use the best in the log', open_trial: 'open a trial', select: '', theme: '', figure: '', chart: '', measure_roofs: 'measure the roofs', dismiss: ''
};

/** What a command does; empty for those that are not worth a word. */
export function describe(cmd: string, args: Dict): string {
  const step = args.step;
  if (cmd === 'apply' && step !== undefined && isDict(step)) {
    const more = Array.isArray(args.then) ? ` and ${args.then.length} more` : '';
    return stepText(String(step.primitive), isDict(step.args ?? null) ? (step.args as Dict) : {}) + more;
  }
  return cmd === 'steer' ? String(args.name) : (WORDS[cmd] ?? cmd);
}
