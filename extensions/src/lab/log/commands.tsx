/** Commands that steered the run. */
import type { VNode } from 'preact';
import * as f from './format';
import { Section } from './section';
import type { LogSummary } from './summary';
import { Table, type Column } from './table';

const COLUMNS: readonly Column[] = [
  { name: 'At', number: true },
  { name: 'Command' },
  { name: 'Given by' },
  { name: 'Result' }
];

export function Commands({ log }: { log: LogSummary }): VNode | null {
  if (!log.commandCount) {
    return null;
  }
  const refused = log.refused ? `, ${f.count(log.refused)} refused` : '';
  return (
    <Section title="Commands" aside={`${f.count(log.commandCount)}${refused}, newest first`}>
      <List log={log} />
    </Section>
  );
}

function List({ log }: { log: LogSummary }): VNode {
  return (
    <Table label="List of commands" columns={COLUMNS}>
      <tbody>
        {log.lastCommands.map(one => (
          <tr>
            <td class="swbl-num">{one.elapsed === null ? f.UNKNOWN : f.duration(one.elapsed)}</td>
            <th scope="row">
              {one.name} <span class="swbl-quiet">{log.words(one)}</span>
            </th>
            <td>{one.source || f.UNKNOWN}</td>
            <td class={one.accepted ? '' : 'swbl-bad swbl-wrap'}>
              {one.accepted ? 'accepted' : `refused: ${one.error}`}
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
