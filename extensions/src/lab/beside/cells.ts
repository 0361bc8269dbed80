/** Workbenches in the cells of a notebook. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { readSaved, VIEW_TYPE, type Saved } from '../saved';

/** The part of a cell that is read. */
export type Cell = NotebookPanel['content']['widgets'][number];

/** An output as it stands in the file. */
export type Stored = Readonly<Record<string, unknown>>;

interface Outputs {
  readonly length: number;
  get(i: number): { readonly data: Stored; readonly trusted: boolean; toJSON(): Stored };
  set(i: number, output: Stored): void;
  readonly changed: { connect(slot: () => void): unknown; disconnect(slot: () => void): unknown };
}

/** The outputs of a cell that has some. */
export const outputsOf = (cell: Cell): Outputs | null =>
  cell.model.type === 'code' ? (cell.model as unknown as { readonly outputs: Outputs }).outputs : null;

/** What the cell shows of a workbench; null where it shows none, or nobody has trusted it. */
export function workbenchIn(cell: Cell): Saved | null {
  const outputs = outputsOf(cell);
  for (let i = 0; i < (outputs?.length ?? 0); i++) {
    const output = outputs!.get(i);
    if (output.trusted && output.data[VIEW_TYPE]) return readSaved(output.data[VIEW_TYPE]);
  }
  return null;
}

export const cellOf = (notebook: NotebookPanel, id: string): Cell | null =>
  notebook.content.widgets.find(one => one.model.id === id) ?? null;
