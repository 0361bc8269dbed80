// A stand-in for the kernel side of one workbench: it speaks the protocol from a recorded state. For looking and testing.

const failure = (code, message, where = [], hint = '') => ({ code, message, where, hint });
const copy = value => structuredClone(value);

/** The signal of a kernel connection, as JupyterLab has it. */
function kernelSignal() {
  const slots = new Set();
  return { connect: f => slots.add(f), disconnect: f => slots.delete(f), emit: value => slots.forEach(f => f(null, value)), slots };
}

export function fakeModel(state, answer) {
  const handlers = {};
  const kernel = { status: 'idle', statusChanged: kernelSignal(), disposed: kernelSignal() };
  const fire = (event, ...args) => [...(handlers[event] ?? [])].forEach(f => f(...args));
  const model = {
    sent: [], comm_live: true, handlers, kernel,
    get: name => state[name],
    set: (name, value) => { state[name] = value; fire(`change:${name}`); },
    save_changes() {},
    on: (event, f) => (handlers[event] ??= []).push(f),
    off: (event, f) => { handlers[event] = (handlers[event] ?? []).filter(one => one !== f); },
    send: message => { model.sent.push(copy(message)); answer?.(message, model); },
    receive: message => fire('msg:custom', copy(message), []),
    status: value => { kernel.status = value; kernel.statusChanged.emit(value); },
    live: value => { model.comm_live = value; fire('comm_live_update'); },
    widget_manager: { kernel }
  };
  return model;
}

const SPACE = {"holes": [{"name": "h_0", "values": [1, 2, 4, 7, 8, 14, 28, 56], "variants": [0, 1, 2, 3]}, {"name": "h_1", "values": [1, 2, 4, 7, 8, 14, 28, 56], "variants": [0, 1, 2, 3]}, {"name": "h_2", "values": [1, 2, 4, 7, 8, 14, 28, 56], "variants": [0, 1, 2, 3]}, {"name": "w_0", "values": [1, 2, 4, 7, 8, 14, 28, 56], "variants": [0, 1, 2, 3]}, {"name": "w_1", "values": [1, 2, 4, 7, 8, 14, 28, 56], "variants": [0, 1, 2, 3]}, {"name": "w_2", "values": [1, 2, 4, 7, 8, 14, 28, 56], "variants": [0, 1, 2, 3]}, {"name": "o_0", "values": [1, 2, 4], "variants": [0, 1, 2, 3]}, {"name": "o_1", "values": [1, 2, 4], "variants": [0, 1, 2, 3]}, {"name": "o_2", "values": [1, 2, 4, 16, 32, 64], "variants": [0, 1, 2, 3]}, {"name": "pad_c_0", "values": [1, 2, 4], "variants": [0]}, {"name": "pad_c_1", "values": [16, 32, 64], "variants": [0]}, {"name": "h_3", "values": [1, 2, 4, 7, 8, 14, 28, 56], "variants": [3]}, {"name": "w_3", "values": [1, 2, 4, 7, 8, 14, 28, 56], "variants": [3]}, {"name": "o_3", "values": [16, 32, 64], "variants": [3]}, {"name": "c_0", "values": [1, 2, 4, 8, 16, 32, 64], "variants": [3]}, {"name": "c_1", "values": [1, 2, 4, 8, 16, 32, 64], "variants": [3]}, {"name": "relu_h_0", "values": [1, 2, 7, 14], "variants": [4, 5]}, {"name": "conv_ty_0", "values": [1, 2, 7, 14], "variants": [4, 5]}, {"name": "conv_ty_1", "values": [1, 2, 7, 14], "variants": [4, 5]}, {"name": "relu_w_0", "values": [1, 2, 7, 14], "variants": [4, 5]}, {"name": "conv_tx_0", "values": [1, 2, 7, 14], "variants": [4, 5]}, {"name": "conv_tx_1", "values": [1, 2, 7, 14], "variants": [4, 5]}, {"name": "relu_o_0", "values": [1, 2, 4], "variants": [4, 5]}, {"name": "relu_o_1", "values": [1, 2, 4, 16, 32], "variants": [4, 5]}, {"name": "conv_V_c_0", "values": [2, 4], "variants": [4, 5]}, {"name": "conv_V_c_1", "values": [16, 32], "variants": [4, 5]}, {"name": "conv_o_0", "values": [1, 2, 4], "variants": [4]}, {"name": "conv_o_1", "values": [16, 32, 64], "variants": [4]}, {"name": "relu_o_2", "values": [16, 32], "variants": [5]}], "variants": [{"id": 0, "label": "SSRS", "rows": 16200}, {"id": 1, "label": "SSRS · pad in blocks", "rows": 5400}, {"id": 2, "label": "SSRS · pad as a condition", "rows": 5400}, {"id": 3, "label": "SSRSRS · pad in blocks", "rows": 448000}, {"id": 4, "label": "winograd 4x4", "rows": 972}, {"id": 5, "label": "winograd 4x4, data first", "rows": 810}]};

export class FakeKernel {
  /** `fixture`: {slices, palettes, answers}; `delay` in ms, or null to stay silent after the first state. */
  constructor(fixture, { delay = 20, mute = false, space = SPACE } = {}) {
    this.slices = copy(fixture.slices);
    this.palettes = fixture.palettes ?? {};
    this.answers = fixture.answers ?? [];
    this.delay = delay;
    this.mute = mute;
    this.space = space;
    this.rev = 1;
  }

  answer = (message, model) => {
    if (this.mute) return;
    if (message.t === 'hello') return this.later(() => model.receive({ t: 'state', v: 2, rev: this.rev, slices: this.slices }), 0);
    if (this.delay === null) return;
    if (message.t === 'ask' && message.q === 'space') return this.later(() => model.receive({ t: 'ret', id: message.id, ...(this.space ? { ok: true, value: this.space } : { ok: false, error: failure('space.none', 'No rule applies to this task.') }) }));
    if (message.t === 'ask') return this.later(() => model.receive({ t: 'ret', id: message.id, ...this.reply(message) }));
    this.later(() => {
      const error = this.run(message.cmd, message.args);
      this.patch(model, error ? {} : this.changed, error ? [] : [message.id], error ? [{ id: message.id, error }] : []);
    });
  };

  /** What was recorded for this question, else an opinion on a step. */
  reply({ q, args }) {
    const same = one => one.q === q && JSON.stringify(one.args) === JSON.stringify(args);
    const recorded = this.answers.find(same)?.answer;
    return recorded ?? (q === 'judge' ? { ok: true, value: this.judge(args.step) } : { ok: false, error: failure('fake.question', `Nothing was recorded for the question ${q}.`) });
  }

  later(f, delay = this.delay) {
    setTimeout(f, delay);
  }

  patch(model, ops, done = [], failed = []) {
    const base = this.rev;
    model.receive({ t: 'patch', base, rev: ++this.rev, ops, done, failed });
    this.changed = {};
  }

  changed = {};

  put(name, value) {
    this.slices[name] = value;
    this.changed[name] = { '=': value };
  }

  judge({ primitive, args }) {
    const base = { legal: true, code: '', reason: '', hint: '', where: [], witness: null };
    const row = this.slices.nest.rows.find(r => r.name === args.loop);
    const numbers = (args.factors ?? []).filter(f => typeof f === 'number');
    const product = numbers.reduce((a, b) => a * b, 1);
    if (primitive === 'split' && typeof row?.extent === 'number' && row.extent % product) {
      return { ...base, legal: false, code: 'split.divides', reason: `The factors ${numbers.join(' × ')} do not divide the extent ${row.extent} of loop '${row.name}'.`, hint: 'choose a divisor', where: [row.name] };
    }
    return base;
  }

  run(cmd, args) {
    const history = this.slices.history;
    if (cmd === 'select') {
      this.put('selection', { id: args.id });
      const palette = this.palettes[args.id];
      if (palette) this.put('palette', palette);
      return null;
    }
    if (cmd === 'undo' || cmd === 'redo') return this.go(history.at + (cmd === 'undo' ? -1 : 1));
    if (cmd === 'goto') return this.go(args.step);
    if (cmd === 'apply') {
      const verdict = this.judge(args.step);
      if (!verdict.legal) return failure(verdict.code, verdict.reason, verdict.where, verdict.hint);
      const id = history.at + 1;
      const text = `${args.step.primitive}(${Object.values(args.step.args).map(v => JSON.stringify(v)).join(', ')})`;
      const row = { id, text, primitive: args.step.primitive, ms: null, spread: null, gflops: null, status: 'measuring', error: '', undone: false, holes: 0, by: 'hand' };
      this.slices.history = { ...history, rows: [...history.rows.slice(0, id), row] };
      return this.go(id);
    }
    if (cmd === 'steer') return this.steer(args.name, args.args);
    if (cmd === 'auto_measure') this.put('history', { ...history, auto: args.on });
    if (cmd === 'dismiss') this.put('status', { ...this.slices.status, note: null });
    return null;
  }

  steer(name, args) {
    const hole = this.space.holes.find(one => one.name === args.hole);
    if (name === 'pin' && !hole?.values.includes(args.value)) return failure('steer.value', `'${args.hole}' cannot be ${args.value}: it is no value that it may have.`, [], `it may be ${hole?.values.join(', ')}`);
    if (name === 'epsilon' && !(args.value >= 0 && args.value <= 1)) return failure('steer.argument', `epsilon has to be a share from 0 to 1, not ${args.value}`);
    const old = this.slices.steering;
    const task = this.slices.tasks.rows.find(row => row.key === args.task)?.name ?? '';
    const text = Object.entries(args).filter(([key]) => key !== 'task').map(([key, value]) => `${key} ${value}`).join(', ');
    const held = name === 'pin' ? [...old.held, { task, text: `${args.hole} = ${args.value}`, args: { task: args.task, hole: args.hole } }] : name === 'release' ? old.held.filter(one => one.args.hole !== args.hole) : old.held;
    this.put('steering', { ...old, held, count: old.count + 1, commands: [{ id: old.count, name, text, task, source: 'widget', accepted: true, error: '', at: 12.3 }, ...old.commands].slice(0, 8) });
    return null;
  }

  go(at) {
    const history = this.slices.history;
    if (at < 0 || at >= history.rows.length) return failure('history.end', 'There is no step there.');
    const rows = history.rows.map(row => ({ ...row, undone: row.id > at }));
    this.put('history', { ...history, rows, at, can_undo: at > 0, can_redo: at < rows.length - 1 });
    this.put('head', { ...this.slices.head, step: `v${at}`, ms: rows[at].ms, spread: rows[at].spread, gflops: rows[at].gflops });
    return null;
  }
}
