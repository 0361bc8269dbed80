/** Made by the build: the default exports of all files in `panels/`, by the names of the files. */
declare module '@panels' {
  export const PANELS: readonly import('./panel').Panel[];
}

/** Made by the build from docs/glossary.md: what a word of the field means. */
declare module '@glossary' {
  export const MEANINGS: Readonly<Record<string, string>>;
}
