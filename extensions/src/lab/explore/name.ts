/** Of the viewer, as "Open With" has it. */
export const EXPLORER = 'Log explorer';
