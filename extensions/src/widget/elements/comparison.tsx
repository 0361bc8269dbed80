// What comparisons of the model have: a table of numbers, and how far the work is.

export type Cell = readonly [text: string | null, title?: string, careful?: boolean];
export type Column = readonly [text: string, title: string, from?: 'm' | 'l'];

/** Cells of numbers beside a name; what is careful is above the bound. */
export function Table({
  label,
  columns,
  rows
}: {
  label: string;
  columns: readonly Column[];
  rows: readonly Cell[][];
}) {
  const name = (i: number): string => (i ? `swb-from-${columns[i]![2] ?? 's'}` : 'swb-l swb-name');
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {columns.map(([text, title], i) => (
            <th key={text} scope="col" class={name(i)} title={title}>
              {text}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr>
            {row.map(([text, title, careful], i) => (
              <td class={name(i)} title={title}>
                {careful ? <b class="swb-careful">{text}</b> : text}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Work {
  readonly step: string;
  readonly at: number;
  readonly of: number;
}

/** Work of many steps, under way. */
export function Busy({ label, step, at, of }: Work & { label: string }) {
  return (
    <>
      <p class="swb-tasks-tip" role="status">
        {step} …{at > 0 && ` (step ${at} of ${of})`} Measurements wait.
      </p>
      <div
        class="swb-progress"
        style={{ flex: 'none' }}
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={of}
        aria-valuenow={at}
      >
        <i style={{ width: `${(100 * Math.max(0, at - 1)) / (of || 1)}%` }} />
      </div>
    </>
  );
}
