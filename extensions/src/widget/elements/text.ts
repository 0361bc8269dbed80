// Sentences made of what the kernel says.

/** With a capital, unless it begins with code or the name of a loop: `W` is not `w`. */
export const capital = (text: string): string =>
  /^(\w*\d|\w+[._]\w|[\w.]+\(|[^\Wa]\b)/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);

/** A hint as a sentence of its own. */
export const sentence = (text: string): string => text && capital(text) + (/[.?!:]$/.test(text) ? '' : '.');
