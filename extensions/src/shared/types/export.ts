// What can be taken away.

/** A table or a drawing that can be exported. */
export interface Named {
  readonly name: string;
  readonly label: string;
}
/** An export that the kernel declares; those of one group stand in one line. */
export interface ExportInfo extends Named {
  /** What stands beside the button; `{step}` is the variant that was chosen. */
  readonly about: string;
  readonly needs: '' | 'schedule' | 'model';
  readonly group: string;
}
/** Answer to the question "export": a file to save, or with `keep` where the kernel has saved it. */
export interface ExportAnswer {
  readonly name: string;
  readonly mime: string;
  readonly text: string;
  readonly path?: string;
  readonly beside?: string;
  readonly note?: string;
}
