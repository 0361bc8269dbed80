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

export class FakeKernel {
  /** `fixture`: {slices, palettes}; `delay` in ms, or null to stay silent after the first state. */
  constructor(fixture, { delay = 20, mute = false } = {}) {
    this.slices = copy(fixture.slices);
    this.palettes = fixture.palettes ?? {};
    this.delay = delay;
    this.mute = mute;
    this.rev = 1;
  }

  answer = (message, model) => {
    if (this.mute) return;
    if (message.t === 'hello') return this.later(() => model.receive({ t: 'state', v: 1, rev: this.rev, slices: this.slices }), 0);
    if (this.delay === null) return;
    if (message.t === 'ask') return this.later(() => model.receive({ t: 'ret', id: message.id, ok: true, value: this.judge(message.args.step) }));
    this.later(() => {
      const error = this.run(message.cmd, message.args);
      this.patch(model, error ? {} : this.changed, error ? [] : [message.id], error ? [{ id: message.id, error }] : []);
    });
  };

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
    if (cmd === 'auto_measure') this.put('history', { ...history, auto: args.on });
    if (cmd === 'dismiss') this.put('status', { ...this.slices.status, note: null });
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
