// What can be taken away.

export type ExportKind = 'script' | 'trace' | 'csv' | 'svg' | 'png' | 'html' | 'network' | 'library';
/** Answer to the question "export": a file to save, or with `keep` where the kernel has saved it. */
export interface ExportAnswer {
  readonly name: string;
  readonly mime: string;
  readonly text: string;
  readonly path?: string;
  readonly beside?: string;
  readonly note?: string;
}
