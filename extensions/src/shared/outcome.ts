// How a trial or a measurement ended, in the words of the Python side.

const WORDS: Readonly<Record<string, readonly [string, string]>> = {
  build_error: ['build error', 'build errors'],
  run_error: ['run error', 'run errors'],
  wrong_answer: ['wrong answer', 'wrong answers'],
  timeout: ['timeout', 'timeouts'],
  'no time': ['without a time', 'without a time']
};

/** One outcome as a word; a status that is new here as it is spelled in the log. */
export const outcome = (status: string, count = 1): string =>
  WORDS[status]?.[count === 1 ? 0 : 1] ?? status.replaceAll('_', ' ');
