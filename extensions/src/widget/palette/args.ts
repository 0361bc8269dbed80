// The arguments of a step while a form holds them: where they come from, what they still lack, what they mean in words.

import type { Args, FieldInfo, Json, NestSlice, PaletteItem, PrimitiveInfo } from '../../shared/types';
import { isList, valueText } from '../../shared/steps';

export type Draft = Record<string, Json>;
type Hole = { readonly hole: Json; readonly choices?: Json };
export const OPEN: Hole = { hole: null };
export const isHole = (value: Json | undefined): value is Hole =>
  typeof value === 'object' && value !== null && 'hole' in value;

/** The values among which the tuner chooses; null where the value is not open. */
export const choicesOf = (value: Json | undefined): readonly Json[] | null =>
  isHole(value) && isList(value.choices) ? value.choices : null;

const hasHole = (value: Json): boolean => (isList(value) ? value.some(hasHole) : isHole(value));

/** The loop, block or buffer that a row of the nest stands for. */
export const nameOf = (id: string): string => id.replace(/^(stmt|init):/, '');

/** The names that a field holds: one, or those among which the tuner chooses. */
export const namesIn = (value: Json | undefined): readonly string[] =>
  (choicesOf(value) ?? [value]).filter((one): one is string => typeof one === 'string');

/** Names and words that a field may hold: its own words, or what there is of the sort that it names. */
export function optionsOf(field: FieldInfo, nest: NestSlice | null, draft: Draft = {}): readonly string[] {
  if (field.options?.length) return field.options.map(String);
  const rows = nest?.rows ?? [];
  const unique = (names: readonly (string | null)[]): string[] => [
    ...new Set(names.filter((name): name is string => !!name))
  ];
  const loops = (): string[] => unique(rows.map(row => (row.kind === 'loop' ? row.name : null)));
  const blocks = (): string[] => unique(rows.map(row => (row.kind === 'stmt' ? row.block : null)));
  switch (field.names) {
    case 'loop':
      return loops();
    case 'block':
      return blocks();
    case 'buffer':
      return nest?.buffers ?? [];
    case 'nest':
      return unique([...loops(), ...blocks()]);
    case 'axis':
      return unique(namesIn(draft[field.of ?? '']).flatMap(name => nest?.axes?.[name] ?? []));
    default:
      return [];
  }
}

/** Values of a field that the kernel has suggested: what a form offers where there is no list of all. */
export function suggested(field: FieldInfo, item: PaletteItem): readonly Json[] {
  const found = item.quick
    .map(move => move.args[field.name] ?? field.default)
    .filter((one): one is string | number => typeof one === 'string' || typeof one === 'number');
  return [...new Set(found)];
}

function blank(field: FieldInfo, at: string, nest: NestSlice | null, draft: Draft): Json {
  if (field.default !== undefined) return field.default;
  const options = optionsOf(field, nest, draft);
  switch (field.widget) {
    case 'select':
      return options.includes(at) ? at : (options[0] ?? '');
    case 'multiselect':
      return options.includes(at) ? [at] : [];
    case 'factors':
      return [null, 1];
    case 'size':
      return 8;
    case 'number':
      return 0;
    case 'checkbox':
      return false;
    default:
      return '';
  }
}

/** What the form starts with: the first suggestion without open numbers, else the selection and the defaults. */
export function prefill(info: PrimitiveInfo, item: PaletteItem, at: string, nest: NestSlice | null): Draft {
  const start = (item.quick.find(move => !Object.values(move.args).some(hasHole)) ?? item.quick[0])?.args ?? {};
  const draft: Draft = {};
  for (const field of info.fields) draft[field.name] = start[field.name] ?? blank(field, at, nest, draft);
  return draft;
}

/** What is still missing before the kernel can be asked; empty when nothing is. */
export function missing(info: PrimitiveInfo, draft: Draft): string {
  for (const field of info.fields) {
    const value = draft[field.name];
    const none = value === '' || value === undefined || (isList(value) && (value.length === 0 || value.includes('')));
    if ((choicesOf(value)?.length ?? 2) < 2) return `allow two values or more: ${field.label || field.name}`;
    if (none && field.required) return `choose: ${field.label || field.name}`;
  }
  return '';
}

/** The arguments of the step that a draft means: what is as usual is left out, as the kernel does. */
export const argsOf = (info: PrimitiveInfo, draft: Draft): Args =>
  Object.fromEntries(
    info.fields
      .filter(field => field.default === undefined || canonical(draft[field.name] ?? null) !== canonical(field.default))
      .map(field => [field.name, draft[field.name] ?? null])
  );

export const sameArgs = (a: Args, b: Args): boolean => canonical(a) === canonical(b);

function canonical(value: Json): string {
  if (isList(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const dict = value as Args;
  return `{${Object.keys(dict)
    .filter(key => dict[key] !== undefined && !(key === 'choices' && dict[key] === null))
    .sort()
    .map(key => `${key}:${canonical(dict[key]!)}`)
    .join()}}`;
}

// ------------------------------------------------------------------------------------------------------------ factors

const isNumber = (value: Json): value is number => typeof value === 'number';

/** Inner factors of a list: the first place takes the rest. */
export function innerOf(value: Json | undefined, extent: number | null): readonly Json[] {
  if (!isList(value)) return [1];
  const rest = value.indexOf(null);
  if (rest <= 0) return value.slice(1);
  const others = value.filter((_, i) => i !== rest);
  if (extent === null || !others.every(isNumber)) return value.slice(1);
  const left = extent / others.reduce((a, b) => a * b, 1);
  return value.map((one, i) => (i === rest ? left : one)).slice(1);
}

/** All divisors, in order. */
export function divisors(n: number): readonly number[] {
  const found: number[] = [];
  for (let d = 1; d * d <= n; d++) if (n % d === 0) found.push(d, ...(d * d === n ? [] : [n / d]));
  return found.sort((a, b) => a - b);
}

/**
 * `ic → ic.0 4 × ic.1 16`, with "?" for what is left open; with the tail "guard" the last iteration runs short, with
 * "peel" it is `loop.rest`.
 */
export function splitParts(
  loop: string,
  extent: number | null,
  inner: readonly Json[],
  tail: Json = 'exact'
): readonly { name: string; size: string }[] {
  const product = inner.every(isNumber) ? inner.reduce((a, b) => a * b, 1) : NaN;
  const even = extent !== null && extent % product === 0;
  const peel = tail === 'peel';
  const outer =
    extent !== null && product >= 1 && (even || tail !== 'exact')
      ? String((peel ? Math.floor : Math.ceil)(extent / product))
      : '?';
  const parts = [outer, ...inner.map(one => (isHole(one) ? '?' : valueText(one)))].map((size, i) => ({
    name: `${loop}.${i}`,
    size
  }));
  return peel && outer !== '?' && !even ? [...parts, { name: `${loop}.rest`, size: String(extent! % product) }] : parts;
}
