/** Made by the build: the default exports of all files in `panels/`, by the names of the files. */
declare module '@panels' {
  export const PANELS: readonly import('./panel').Panel[];
}
