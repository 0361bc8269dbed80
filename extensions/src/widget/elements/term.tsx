// A word of the field with its meaning, which stands in docs/glossary.md only.

import { MEANINGS } from '@glossary';
import type { ComponentChildren } from 'preact';
import { Explained } from './controls';

/** `of` is the word as the glossary has it, and what is shown where nothing else is. */
export const Term = ({ of, children }: { of: string; children?: ComponentChildren }) => (
  <Explained says={`${of}: ${MEANINGS[of] ?? ''}`}>{children ?? of.toLowerCase()}</Explained>
);
