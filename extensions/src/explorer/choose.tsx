// Inputs that choose a column and its scale.

import type { ColumnInfo } from './protocol';
import type { View } from './view';

const GROUPS = [
  ['result', 'result'],
  ['parameter', 'parameters'],
  ['record', 'record'],
  ['time', 'time spent']
] as const;

interface SelectProps {
  readonly view: View;
  readonly label: string;
  readonly value: string;
  readonly onPick: (name: string) => void;
}

export function ColumnSelect({ view, label, value, onPick }: SelectProps) {
  const columns = view.store.see('meta')?.columns ?? [];
  const of = (group: ColumnInfo['group']): readonly ColumnInfo[] => columns.filter(one => one.group === group);
  return (
    <label class="swx-pick">
      <span>{label}</span>
      <select value={value} onChange={event => onPick(event.currentTarget.value)}>
        {GROUPS.filter(([group]) => of(group).length > 0).map(([group, words]) => (
          <optgroup key={group} label={words}>
            {of(group).map(one => (
              <option key={one.name} value={one.name}>
                {one.title}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

/** Whether an axis is one of factors; nothing where it cannot be. */
export const LogCheck = ({ view, axis }: { view: View; axis: { name: string; positive: boolean; log: boolean } }) =>
  axis.positive ? (
    <label class="swx-pick">
      <input type="checkbox" checked={axis.log} onChange={() => view.toggleLog(axis.name)} />
      <span>log</span>
    </label>
  ) : null;
