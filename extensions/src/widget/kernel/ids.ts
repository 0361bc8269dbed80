/** A name that nothing else has. */
export const newId = (): string => Math.random().toString(36).slice(2);
