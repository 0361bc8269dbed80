/** Commands that steered the run. */
import type { VNode } from 'preact';
import * as f from './format';
import { Section } from './section';
import type { LogSummary } from './summary';
import { Table, type Column } from './table';
import { trans } from '../words';

const columns = (): readonly Column[] => [
  { name: trans.__('At'), number: true },
  { name: trans.__('Command') },
  { name: trans.__('Given by') },
  { name: trans.__('Result') }
];

export function Commands({ log }: { log: LogSummary }): VNode | null {
  if (!log.commandCount) {
    return null;
  }
  const all = f.count(log.commandCount);
  const aside = log.refused
    ? trans.__('%1, %2 refused, newest first', all, f.count(log.refused))
    : trans.__('%1, newest first', all);
  return (
    <Section title={trans.__('Commands')} aside={aside}>
      <List log={log} />
    </Section>
  );
}

function List({ log }: { log: LogSummary }): VNode {
  return (
    <Table label={trans.__('List of commands')} columns={columns()}>
      <tbody>
        {log.lastCommands.map(one => (
          <tr>
            <td class="swbl-num">{one.elapsed === null ? f.UNKNOWN : f.duration(one.elapsed)}</td>
            <th scope="row">
              {one.name} <span class="swbl-quiet">{log.words(one)}</span>
            </th>
            <td>{one.source || f.UNKNOWN}</td>
            <td class={one.accepted ? '' : 'swbl-bad swbl-wrap'}>
              {one.accepted ? trans.__('accepted') : trans.__('refused: %1', one.error)}
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
