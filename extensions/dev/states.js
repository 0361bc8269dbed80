// The states in which every panel is looked at. Numbers of tuned tasks are made up; everything else was recorded.

import { EMPTY, ORDERS, VARIANT } from './samples.js';

const tuned = slices => {
  let seed = 7;
  const random = () => (seed = (seed * 1664525 + 1013904223) >>> 0) / 2 ** 32;
  const rows = slices.tasks.rows.map((row, i) => {
    const ms = row.flops ? row.flops / (40 + 80 * random()) / 1e6 : 0.08;
    const trials = 32 * Math.ceil(3 * random());
    const spark = Array.from({ length: 12 }, (_, k) => ms * (1 + 2.5 * Math.exp(-k / 3)));
    return {
      ...row,
      ms,
      gflops: row.flops / ms / 1e6,
      trials,
      failed: i % 5 ? 0 : 2,
      failures: i % 5 ? {} : { timeout: 1, wrong_answer: 1 },
      untuned_ms: ms * 3,
      delta: -0.08 * random(),
      state: i === 5 ? 'tuning' : 'measured',
      spark
    };
  });
  const total = rows.reduce((sum, row) => sum + row.ms * row.weight, 0);
  for (const row of rows) row.share = (row.ms * row.weight) / total;
  const covers = `sum of ${rows.length} kernels`;
  return { ...slices, tasks: { rows, total_ms: total, untuned_ms: 3 * total, covers } };
};

/** While a run is on, the table has what the scheduler expects of every task. */
const expecting = slices => {
  const rows = slices.tasks.rows.map((row, i) => {
    const known = i % 7 !== 6;
    const reason = known
      ? ['saves most', 'few rounds so far', 'recent progress', 'slower than similar tasks'][i % 4]
      : 'has not been tried yet';
    const optimism = known ? row.ms * row.weight * 0.01 * (1 + (i % 3)) : null;
    return {
      ...row,
      reason,
      confidence: known ? 0.998 - 0.01 * (i % 4) : null,
      compared: i % 6,
      spread: 0.02,
      optimism,
      backward: known ? row.ms * 0.002 * (i % 3) : 0,
      similarity: i % 5 ? 0 : row.ms * 0.004,
      rounds: known ? 1 + (i % 7) : 0,
      gain: optimism && optimism * 0.8,
      more: known ? 784 >> (1 + (i % 9)) : 32
    };
  });
  return { ...slices, tasks: { ...slices.tasks, rows } };
};
const running = (slices, steering) => ({
  ...expecting(tuned(slices)),
  tuning: RUNNING,
  steering,
  meta: { ...slices.meta, orders: ORDERS }
});

const RUNNING = {
  state: 'running',
  trials: 1216,
  total: 2000,
  elapsed_s: 640,
  eta_s: 413,
  fraction: 0.608,
  rate: 1.9,
  failed: 17,
  scope: 'all',
  log: 'squeezenet.tunelog.jsonl',
  message: '',
  best_ready: true
};

const STEERING = {
  next: {
    name: 'conv 3x3 48→192 @27x27 + relu',
    reason: 'saves most',
    gain: 0.0042,
    backward: 0.0011,
    optimism: 0.0049,
    similarity: 0
  },
  task: {
    trial: 187,
    ms: 0.438,
    spread: 0.006,
    origin: 'a fast one with another number',
    quality: 0.87,
    reason: 'few rounds so far',
    resting: false,
    compared: 5,
    won: 3,
    waiting: 1,
    failures: [
      ['timeout', 11, 'The measurement took longer than 10 s.'],
      ['wrong_answer', 4, 'out[0, 12, 5, 33] is 0.4182, the reference says 0.4494'],
      ['build_error', 2, 'no register is left']
    ].map(([kind, count, error], i) => ({ kind, count, error, trial: 31 + 40 * i, opens: i < 2 })),
    last: {
      text: 'trials 187 and 181 against trial 143: 187 is 4.2 % faster (confidence 0.998)',
      won: true,
      why: 'new best',
      trials: [143, 187, 181],
      winner: 187,
      ms: [0.457, 0.438, 0.451]
    }
  },
  held: [],
  values: { budget: { trials: 2000 }, epsilon: { value: 0.08 } },
  count: 0,
  refused: 0,
  commands: []
};
const command = (id, name, text, source, more) => ({
  id,
  name,
  text,
  task: '',
  source,
  accepted: true,
  error: '',
  at: 12.3 + 40 * id,
  ...more
});
const steered = slices => {
  const { key, name } = slices.tasks.rows[0];
  const held = [
    ['h_0 = 4', { hole: 'h_0' }],
    ['w_2 ≠ 28, 56', { hole: 'w_2' }],
    ['not sketch 3', { variant: 3 }]
  ].map(([text, args]) => ({ task: name, text, args: { task: key, ...args } }));
  const commands = [
    command(4, 'pin', 'hole h_1, value 3', 'widget', {
      task: name,
      accepted: false,
      error: "'h_1' cannot be 3: it is no value that it may have (it may be 1, 2, 4, 7, 8, 14, 28, 56) [steer.value]"
    }),
    command(3, 'forbid', 'sketch 3', 'control file', { task: name }),
    command(2, 'epsilon', 'value 0.2', 'python'),
    command(1, 'pin', 'hole h_0, value 4', 'widget', { task: name })
  ];
  return { ...STEERING, held, commands, count: 12, refused: 1 };
};

const failedStep = slices => {
  const rows = slices.history.rows.map(row => ({ ...row }));
  const last = rows.at(-1);
  Object.assign(last, {
    status: 'wrong_answer',
    ms: null,
    spread: null,
    gflops: null,
    error:
      'out[0, 12, 5, 33] is 0.4182, the reference says 0.4494 (tolerance 1e-4).\nThe kernel was not timed.\n\n' +
      'in worker 4711: check(...)\n'.repeat(12)
  });
  rows[2] = { ...rows[2], status: 'timeout', ms: null, error: 'The measurement took longer than 10 s.' };
  const note = {
    level: 'error',
    text: `v${last.id} computes a wrong result: out[0, 12, 5, 33] is 0.4182, the reference says 0.4494. It was not timed.`,
    code: 'measure.wrong',
    hint: 'undo the step',
    where: ['c']
  };
  return {
    ...slices,
    history: { ...slices.history, rows },
    head: { ...slices.head, ms: null, spread: null, gflops: null, peak_share: null },
    status: { ...slices.status, note }
  };
};

/**
 * A tree: undone steps, two trials of the tuner in the holes of v5, one step by hand after them, a branch that
 * failed.
 */
const mixed = slices => {
  const rows = slices.history.rows.map(row => ({ ...row }));
  const at = rows.length - 3;
  for (const row of rows) row.undone = row.id > at;
  const grow = (parent, x, y, more) => rows.push({ ...VARIANT, id: rows.length, parent, x, y, ...more });
  const next = rows.length;
  grow(at, at + 1, -1, {
    edge: 'fill',
    steps: 0,
    text: 'pixels = 11, channels = 32',
    by: 'tuner',
    trial: 412,
    ms: 0.474,
    spread: 0.02,
    gflops: 118,
    status: 'ok',
    est: 0.5
  });
  grow(next, at + 2, -1, {
    edge: 'fill',
    steps: 0,
    text: 'pixels 11 → 5',
    by: 'tuner',
    trial: 977,
    ms: 0.438,
    spread: 0.02,
    gflops: 128,
    status: 'ok',
    est: 0.46,
    star: true
  });
  grow(next + 1, at + 3, -1, { text: "annotate('kw', 'prefetch', 4)", primitive: 'annotate', est: 0.43 });
  grow(3, 4, 1, {
    text: "unroll('c')",
    primitive: 'unroll',
    status: 'timeout',
    error: 'The measurement took longer than 10 s.',
    est: 9.2
  });
  rows[at] = { ...rows[at], holes: 2, ms: null, spread: null, gflops: null, status: '', est: 0.41, est_high: 6.3 };
  rows[2] = { ...rows[2], name: 'rows of five' };
  return {
    ...slices,
    history: {
      ...slices.history,
      rows,
      at,
      path: rows.slice(0, at + 1).map(row => row.id),
      can_undo: true,
      can_redo: true,
      best: next + 1
    },
    tuning: { ...RUNNING, state: 'done', eta_s: null }
  };
};

/** As many variants as are kept. */
const forest = slices => {
  const rows = [
    {
      ...VARIANT,
      parent: null,
      edge: 'start',
      steps: 0,
      text: 'as written',
      ms: 17.77,
      spread: 0.1,
      gflops: 3.2,
      status: 'ok'
    }
  ];
  for (let y = 0; y < 20; y++) {
    for (let x = 1; x < 21; x++) {
      const parent = x === 1 ? 0 : rows.length - 1;
      rows.push({
        ...VARIANT,
        id: rows.length,
        parent,
        x,
        y,
        text: `split('h', [None, ${x}])`,
        primitive: 'split',
        est: 17 / x,
        by: y % 3 ? 'hand' : 'tuner',
        trial: y % 3 ? null : rows.length
      });
    }
  }
  return {
    ...slices,
    history: {
      ...slices.history,
      rows,
      at: 210,
      path: [0, ...Array.from({ length: 10 }, (_, k) => 201 + k)],
      can_undo: true,
      best: null,
      hidden: 3
    }
  };
};

const large = (slices, n = 400) => {
  const rows = Array.from({ length: n }, (_, i) => ({
    id: `l${i}`,
    parent: i % 10 ? `l${i - 1}` : null,
    depth: i % 10,
    kind: 'loop',
    name: `a_rather_long_loop_name_${i}.0`,
    extent: 8,
    mark: 'serial',
    chips: i % 7 ? [] : ['parallel · 2 threads', 'acc 14×32'],
    text: '',
    reduce: false,
    iters: 8 ** ((i % 10) + 1),
    flops: 1e6,
    bytes: 4e5 * ((i % 10) + 1),
    ws: 2 ** ((i % 24) + 6),
    level: ['reg', 'L1', 'L2', 'L3', 'RAM'][i % 5],
    block: null
  }));
  return { ...slices, nest: { rows, loops: 812, statements: 40, hidden: 852 - n, buffers: ['A'], holes: [] } };
};

/** The loop over channels as if an instruction computed it. */
const tensorized = slices => {
  const rows = slices.nest.rows.map(row =>
    row.id === 'c' ? { ...row, chips: ['sum', 'x86.amx.bf16'], kinds: ['reduce', 'intrin'] } : row
  );
  return { ...slices, nest: { ...slices.nest, rows } };
};

/** name -> {slices: changes to the recorded ones, delay, mute, after(model): what happens once it is shown} */
/** The one on show and one more were disturbed, and the machine is still busy. */
const doubtful = slices => {
  const { ms } = slices.head,
    doubt = { ms: `≥\u202f${(ms * 0.56).toPrecision(3)}`, text: 'the second of 2 threads had 55 % of a core' };
  const rows = slices.history.rows.map(row =>
    row.id === slices.history.at || row.id === 1
      ? {
          ...row,
          ms: row.ms ?? ms,
          spread: null,
          gflops: null,
          doubt: row.id === 1 ? { ...doubt, ms: `≤\u202f${ms}` } : doubt
        }
      : row
  );
  const change = { text: `cannot tell from v1: ${doubt.text}`, title: '' };
  return {
    ...slices,
    head: { ...slices.head, spread: null, gflops: null, peak_share: null, doubt },
    history: { ...slices.history, rows, change },
    status: {
      ...slices.status,
      load: { text: '62 % busy', whose: ': browser', about: 'Of the time of all processors lately: browser 41 %' }
    }
  };
};
const again = slices => {
  const shown = doubtful(slices),
    remark = 'measured again when the machine was quiet';
  return {
    ...shown,
    head: { ...slices.head, remark },
    history: slices.history,
    status: { ...slices.status, load: { text: '55 % busy', whose: ': cc1plus', about: '' } }
  };
};

export const STATES = {
  normal: { slices: tuned },
  tuning: { slices: slices => running(slices, STEERING), tab: 'tuning' },
  steering: { slices: slices => running(slices, steered(slices)), tab: 'tuning' },
  ended: {
    slices: slices => ({
      ...tuned(slices),
      tuning: { ...RUNNING, state: 'done', trials: 2000, eta_s: null },
      steering: { ...steered(slices), next: null },
      meta: { ...slices.meta, orders: ORDERS }
    }),
    tab: 'tuning'
  },
  space_failed: { slices: slices => running(slices, STEERING), space: null, tab: 'tuning' },
  measuring: {
    slices: slices => ({
      ...tuned(slices),
      status: { busy: 'measuring v7', note: null, log: 'squeezenet.tunelog.jsonl' }
    })
  },
  doubtful: { slices: doubtful },
  again: { slices: again },
  mixed: { slices: slices => mixed(tuned(slices)) },
  forest: { slices: slices => forest(tuned(slices)) },
  busy: { slices: tuned, delay: null, after: model => model.status('busy'), act: ['undo', 'measure'] },
  silent: { slices: tuned, delay: null, act: ['measure'], wait: 10_600 },
  failed: { slices: slices => failedStep(tuned(slices)) },
  empty: { slices: slices => ({ ...slices, ...EMPTY }) },
  nothing: { slices: slices => ({ ...slices, ...EMPTY, meta: { ...slices.meta, title: '', panels: [] } }) },
  versions: { slices: slices => ({ ...slices, meta: { ...slices.meta, version: '0.0.9' } }) },
  dead: {
    slices: tuned,
    after: model => {
      model.status('restarting');
      model.live(false);
      model.status('idle');
    }
  },
  restarting: { slices: tuned, after: model => model.status('restarting') },
  tensorized: { slices: tensorized },
  chosen: { slices: slices => ({ ...slices, head: { ...slices.head, holes: 1 } }) },
  large: { slices: slices => large(tuned(slices)) },
  fresh: {
    slices: slices => {
      const rows = slices.history.rows.map(row => ({ ...row, edge: 'start' }));
      return { ...slices, history: { ...slices.history, rows } };
    }
  },
  waiting: { mute: true }
};
