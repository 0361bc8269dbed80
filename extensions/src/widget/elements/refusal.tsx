// Why something cannot be done, or was not.

import type { ComponentChildren } from 'preact';
import type { ErrorInfo } from '../../shared/types';
import { sentence } from './text';

interface RefusalProps {
  title: string;
  role?: 'alert' | 'status';
  children: ComponentChildren;
}

export const Refusal = ({ title, role = 'alert', children }: RefusalProps) => (
  <p class="swb-opinion is-not" role={role}>
    <b>{title}</b> {children}
  </p>
);

export const errorText = ({ message, hint }: ErrorInfo): string => `${sentence(message)} ${sentence(hint ?? '')}`;
