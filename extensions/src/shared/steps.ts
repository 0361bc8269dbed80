// Steps and their values in words.

import type { Args, Json } from './types';

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);
const isDict = (value: Json | undefined): value is Args =>
  typeof value === 'object' && value !== null && !isList(value);

/** A value as it is written in a step: names without quotes, an open number as "?". */
export function valueText(value: Json): string {
  if (value === null) return 'rest';
  if (isList(value)) return `[${value.map(valueText).join(', ')}]`;
  if (isDict(value)) return typeof value.hole === 'string' ? `?${value.hole}` : '?';
  return `${value}`;
}

/** A step as it is called: a list of names is written as several arguments. */
export const stepText = (primitive: string, args: Args): string =>
  `${primitive}(${Object.values(args)
    .map(value => (isList(value) && value.every(one => typeof one === 'string') ? value.join(', ') : valueText(value)))
    .join(', ')})`;
