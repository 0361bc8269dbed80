// What can be taken away.

export type ExportKind = 'script' | 'trace' | 'csv' | 'svg' | 'html';
/** Answer to the question "export": a file to save. */
export interface ExportAnswer { readonly name: string; readonly mime: string; readonly text: string }
