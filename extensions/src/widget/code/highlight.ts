// Words of a line of code by what they are: comments, numbers and what the language itself says.

import type { CodeKind } from '../../shared/types';

const WORDS =
  'for|in|parallel|vectorize|unroll|block|reduce|init|when|temp|const|select|static|void|if|return|restrict|b?float\\d*|double|char|u?int\\d*(?:_t)?';
/** What an instruction or a declaration begins with: the first word of the line, or the one behind a result. */
const FIRST = '(?<=^\\s*|= )(?:tail )?[a-zA-Z][\\w.]*(?=\\s|$)';
const NUMBER = '(?<![\\w.%@$])-?(?:0x[\\da-fA-F]+|\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?f?)\\b';

const of = (comment: string, word: string): RegExp => new RegExp(`(${comment})|(${word})|(${NUMBER})`, 'g');
const C = of('/\\*.*?(?:\\*/|$)|^ \\*.*|//.*|^#.*', `\\b(?:${WORDS})\\b`);
const RULES: Readonly<Record<CodeKind, RegExp>> = {
  nest: of('@[\\w.]+', `\\b(?:${WORDS})\\b`),
  c: C,
  cuda: C,
  opencl: C,
  llvm: of(';.*|^[!@].*', FIRST),
  asm: of('\\s# .*|//.*', FIRST),
  kernels: of('^$', '^\\w+:|occupancy|registers|bounded by')
};
const NAMES = ['', 'is-comment', 'is-word', 'is-number'];

/** Pieces of a line in order, each with its class, "" for plain text. */
export function pieces(line: string, kind: CodeKind): (readonly [string, string])[] {
  const out: (readonly [string, string])[] = [];
  let end = 0;
  for (const found of line.matchAll(RULES[kind])) {
    if (found.index > end) out.push(['', line.slice(end, found.index)]);
    out.push([NAMES[found.findIndex((part, k) => k > 0 && part !== undefined)]!, found[0]]);
    end = found.index + found[0].length;
  }
  if (end < line.length) out.push(['', line.slice(end)]);
  return out;
}
