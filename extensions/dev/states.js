// The states in which every panel is looked at. Numbers of tuned tasks are made up; everything else was recorded.

const tuned = slices => {
  let seed = 7;
  const random = () => (seed = (seed * 1664525 + 1013904223) >>> 0) / 2 ** 32;
  const rows = slices.tasks.rows.map((row, i) => {
    const ms = row.flops ? row.flops / (40 + 80 * random()) / 1e6 : 0.08;
    const trials = 32 * Math.ceil(3 * random());
    const spark = Array.from({ length: 12 }, (_, k) => ms * (1 + 2.5 * Math.exp(-k / 3)));
    return { ...row, ms, gflops: row.flops / ms / 1e6, trials, failed: i % 5 ? 0 : 2, failures: i % 5 ? {} : { timeout: 1, wrong_answer: 1 },
      untuned_ms: ms * 3, delta: -0.08 * random(), state: i === 5 ? 'tuning' : 'measured', spark };
  });
  const total = rows.reduce((sum, row) => sum + row.ms * row.weight, 0);
  for (const row of rows) row.share = row.ms * row.weight / total;
  return { ...slices, tasks: { rows, total_ms: total, untuned_ms: 3 * total } };
};

const RUNNING = { state: 'running', trials: 1216, total: 2000, elapsed_s: 640, eta_s: 413, fraction: 0.608, rate: 1.9, failed: 17, scope: 'all', log: 'squeezenet.tunelog.jsonl', message: '', best_ready: true };

const failedStep = slices => {
  const rows = slices.history.rows.map(row => ({ ...row }));
  const last = rows.at(-1);
  Object.assign(last, { status: 'wrong_answer', ms: null, spread: null, gflops: null, error: 'out[0, 12, 5, 33] is 0.4182, the reference says 0.4494 (tolerance 1e-4).\nThe kernel was not timed.\n\n' + 'in worker 4711: check(...)\n'.repeat(12) });
  rows[2] = { ...rows[2], status: 'timeout', ms: null, error: 'The measurement took longer than 10 s.' };
  const note = { level: 'error', text: `v${last.id} computes a wrong result: out[0, 12, 5, 33] is 0.4182, the reference says 0.4494. It was not timed.`, code: 'measure.wrong', hint: 'undo the step', where: ['c'] };
  return { ...slices, history: { ...slices.history, rows }, head: { ...slices.head, ms: null, spread: null, gflops: null, peak_share: null }, status: { ...slices.status, note } };
};

const mixed = slices => {
  const rows = slices.history.rows.map(row => ({ ...row }));
  const at = rows.length - 3;
  for (const row of rows) row.undone = row.id > at;
  const next = rows.length;
  rows.push({ id: next, text: 'the best of the tuner', primitive: '', ms: 0.438, spread: 0.02, gflops: 128, status: 'ok', error: '', undone: true, holes: 0, by: 'tuner' });
  rows[at] = { ...rows[at], holes: 2, ms: null, spread: null, gflops: null, status: '' };
  return { ...slices, history: { ...slices.history, rows, at, can_undo: true, can_redo: true, can_back: true }, tuning: { ...RUNNING, state: 'done', eta_s: null } };
};

const large = (slices, n = 400) => {
  const rows = Array.from({ length: n }, (_, i) => ({
    id: `l${i}`, parent: i % 10 ? `l${i - 1}` : null, depth: i % 10, kind: 'loop', name: `a_rather_long_loop_name_${i}.0`, extent: 8, mark: 'serial', chips: i % 7 ? [] : ['parallel · 2 threads', 'acc 14×32'],
    text: '', reduce: false, iters: 8 ** (i % 10 + 1), flops: 1e6, bytes: 4e5 * (i % 10 + 1), ws: 2 ** (i % 24 + 6), level: ['reg', 'L1', 'L2', 'L3', 'RAM'][i % 5], block: null
  }));
  return { ...slices, nest: { rows, loops: 812, statements: 40, hidden: 852 - n, buffers: ['A'], holes: [] } };
};

/** The loop over channels as if an instruction computed it. */
const tensorized = slices => {
  const rows = slices.nest.rows.map(row => (row.id === 'c' ? { ...row, chips: ['sum', 'x86.amx.bf16'], kinds: ['reduce', 'intrin'] } : row));
  return { ...slices, nest: { ...slices.nest, rows } };
};

const EMPTY = { graph: null, stages: null, nest: null, palette: null, history: null, tasks: null, head: null, selection: { id: '' }, tuning: null };

/** name -> {slices: changes to the recorded ones, delay, mute, after(model): what happens once it is shown} */
export const STATES = {
  normal: { slices: tuned },
  tuning: { slices: slices => ({ ...tuned(slices), tuning: RUNNING }), tab: 'tuning' },
  measuring: { slices: slices => ({ ...tuned(slices), status: { busy: 'measuring v7', note: null, log: 'squeezenet.tunelog.jsonl' } }) },
  mixed: { slices: slices => mixed(tuned(slices)) },
  busy: { slices: tuned, delay: null, after: model => model.status('busy'), act: ['undo', 'measure'] },
  silent: { slices: tuned, delay: null, act: ['measure'], wait: 10_600 },
  failed: { slices: slices => failedStep(tuned(slices)) },
  empty: { slices: slices => ({ ...slices, ...EMPTY }) },
  nothing: { slices: slices => ({ ...slices, ...EMPTY, meta: { ...slices.meta, title: '', panels: [] } }) },
  versions: { slices: slices => ({ ...slices, meta: { ...slices.meta, version: '0.0.9' } }) },
  dead: { slices: tuned, after: model => { model.status('restarting'); model.live(false); model.status('idle'); } },
  restarting: { slices: tuned, after: model => model.status('restarting') },
  tensorized: { slices: tensorized },
  chosen: { slices: slices => ({ ...slices, head: { ...slices.head, holes: 1 } }) },
  large: { slices: slices => large(tuned(slices)) },
  waiting: { mute: true }
};
