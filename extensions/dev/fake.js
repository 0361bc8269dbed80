// A stand-in for the kernel side of one workbench: it speaks the protocol from a recorded state. For looking and
// testing.

import { SPACE, VARIANT } from './samples.js';

const failure = (code, message, where = [], hint = '') => ({ code, message, where, hint });
const copy = value => structuredClone(value);

/** The signal of a kernel connection, as JupyterLab has it. */
function kernelSignal() {
  const slots = new Set();
  return {
    connect: f => slots.add(f),
    disconnect: f => slots.delete(f),
    emit: value => slots.forEach(f => f(null, value)),
    slots
  };
}

export function fakeModel(state, answer) {
  const handlers = {};
  const kernel = { status: 'idle', statusChanged: kernelSignal(), disposed: kernelSignal() };
  const fire = (event, ...args) => [...(handlers[event] ?? [])].forEach(f => f(...args));
  const model = {
    sent: [],
    comm_live: true,
    handlers,
    kernel,
    get: name => state[name],
    set: (name, value) => {
      state[name] = value;
      fire(`change:${name}`);
    },
    save_changes() {},
    on: (event, f) => (handlers[event] ??= []).push(f),
    off: (event, f) => {
      handlers[event] = (handlers[event] ?? []).filter(one => one !== f);
    },
    send: message => {
      model.sent.push(copy(message));
      answer?.(message, model);
    },
    receive: message => fire('msg:custom', copy(message), []),
    status: value => {
      kernel.status = value;
      kernel.statusChanged.emit(value);
    },
    live: value => {
      model.comm_live = value;
      fire('comm_live_update');
    },
    widget_manager: { kernel }
  };
  return model;
}

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
    if (message.t === 'hello')
      return this.later(() => model.receive({ t: 'state', v: 2, rev: this.rev, slices: this.slices }), 0);
    if (this.delay === null || ['here', 'screen'].includes(message.t)) return;
    if (message.t === 'ask' && message.q === 'space')
      return this.later(() =>
        model.receive({
          t: 'ret',
          id: message.id,
          ...(this.space
            ? { ok: true, value: this.space }
            : { ok: false, error: failure('space.none', 'No rule applies to this task.') })
        })
      );
    if (message.t === 'ask')
      return this.later(() => model.receive({ t: 'ret', id: message.id, ...this.reply(message) }));
    this.later(() => {
      const error = this.run(message.cmd, message.args);
      this.patch(model, error ? {} : this.changed, error ? [] : [message.id], error ? [{ id: message.id, error }] : []);
    });
  };

  /** What was recorded for this question, else an opinion on a step. */
  reply({ q, args }) {
    const same = one => one.q === q && JSON.stringify(one.args) === JSON.stringify(args);
    const recorded = this.answers.find(same)?.answer;
    if (!recorded && q === 'export') return { ok: true, value: this.exported(args) };
    if (!recorded && q === 'preview') return { ok: true, value: this.preview(args.step) };
    return (
      recorded ??
      (q === 'judge'
        ? { ok: true, value: this.judge(args.step) }
        : { ok: false, error: failure('fake.question', `Nothing was recorded for the question ${q}.`) })
    );
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

  /** A small file of the kind that was asked for. */
  exported({ what, panel = '', keep = false }) {
    const files = {
      network: ['net.network.py', 'text/x-python', 'import workbench as wb\n'],
      library: ['net.so'],
      png: [`${panel}.png`],
      script: ['v7.py', 'text/x-python', 'import workbench as wb\n'],
      trace: ['v7.json', 'application/json', '[]'],
      view: ['net.view.json', 'application/json', '{}'],
      html: ['page.html', 'text/html', '<!doctype html>'],
      csv: [`${panel}.csv`, 'text/csv', 'id\n0\n'],
      svg: [
        `${panel}.svg`,
        'image/svg+xml',
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="#b4531f"/></svg>'
      ]
    };
    const [name, mime, text] = files[what];
    return keep
      ? {
          name,
          path: `/home/me/${name}`,
          beside: what === 'library' ? 'net.h' : '',
          note: what === 'library' ? '2 of 5 tasks without a schedule that was measured' : ''
        }
      : { name, mime, text };
  }

  /** A split of a loop as the kernel would preview it; of other steps only whether they are legal. */
  preview(step) {
    const verdict = this.judge(step);
    const rows = this.slices.nest.rows;
    const same = {
      verdict,
      makes: [],
      rows: [],
      order: verdict.legal ? rows.map(row => row.id) : [],
      gone: [],
      ws: [],
      estimate: null
    };
    const loop = rows.find(row => row.name === step.args.loop);
    const inner = step.args.factors?.[1];
    if (!verdict.legal || step.primitive !== 'split' || step.args.factors?.length !== 2 || typeof inner !== 'number')
      return same;
    const ids = [`${loop.id}.0`, `${loop.id}.1`];
    const ws = Math.round((loop.ws * inner) / loop.extent);
    const parts = [
      { ...loop, id: ids[0], name: ids[0], extent: loop.extent / inner, iters: loop.iters / inner },
      { ...loop, id: ids[1], name: ids[1], parent: ids[0], extent: inner, ws }
    ];
    const inside = rows.filter(row => row.parent === loop.id).map(row => ({ id: row.id, parent: ids[1] }));
    return {
      ...same,
      makes: ids,
      rows: [...parts, ...inside],
      order: same.order.flatMap(id => (id === loop.id ? ids : [id])),
      gone: [loop.id],
      ws: [{ row: ids[1], before: loop.ws, after: ws }]
    };
  }

  judge({ primitive, args }) {
    const base = { legal: true, code: '', reason: '', hint: '', where: [], witness: null };
    const row = this.slices.nest.rows.find(r => r.name === args.loop);
    const numbers = (args.factors ?? []).filter(f => typeof f === 'number');
    const product = numbers.reduce((a, b) => a * b, 1);
    if (primitive === 'split' && typeof row?.extent === 'number' && row.extent % product) {
      return {
        ...base,
        legal: false,
        code: 'split.divides',
        reason: `The factors ${numbers.join(' × ')} do not divide the extent ${row.extent} of loop '${row.name}'.`,
        hint: 'choose a divisor',
        where: [row.name]
      };
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
    if (cmd === 'undo') return this.go(this.variant(history.at).parent);
    if (cmd === 'redo') return this.go(this.ahead().get(history.at));
    if (cmd === 'goto') return this.go(args.step);
    if (cmd === 'branch') return this.go(args.node, true);
    if (cmd === 'name') return this.change(args.node, { name: args.text.trim() });
    if (cmd === 'star') return this.change(args.node, { star: args.on });
    if (cmd === 'forget') this.put('history', { ...history, rows: history.rows.filter(row => row.id !== args.node) });
    if (cmd === 'contest')
      this.put('history', {
        ...history,
        contests: [
          {
            id: `${args.a} ${args.b}`,
            ...args,
            ratio: 0.3012,
            confidence: 0.99981,
            resolution: 0.012,
            state: '',
            error: '',
            text: `v${args.b} is 3.32× as fast (between 3.28 and 3.36) as v${args.a}, sure`
          }
        ]
      });
    if (cmd === 'replay') {
      const steps = history.path.slice(1).map((id, k) => ({
        text: this.variant(id).text,
        ok: k < 2 ? true : k === 2 ? false : args.skip ? true : null,
        reason: k === 2 ? '5 does not divide the extent 27 of loop h.' : '',
        hint: k === 2 ? 'choose a divisor' : '',
        where: k === 2 ? ['h.0'] : []
      }));
      const onto = this.slices.tasks.rows[args.task].name;
      this.put('status', {
        ...this.slices.status,
        note: {
          level: 'warn',
          text: `On ${onto} step 3 of v${args.node}, ${steps[2].text}, is not legal: ${steps[2].reason}`,
          code: 'split.divides',
          hint: steps[2].hint,
          where: steps[2].where,
          replay: { onto, steps, failed_at: 2 }
        }
      });
    }
    if (cmd === 'apply') {
      const { step, then = [] } = args;
      if (then.length) return this.run(cmd, { step }) ?? this.run(cmd, { step: then[0], then: then.slice(1) });
      const verdict = this.judge(step);
      if (!verdict.legal) return failure(verdict.code, verdict.reason, verdict.where, verdict.hint);
      const id = Math.max(...history.rows.map(row => row.id)) + 1;
      const text = `${args.step.primitive}(${Object.values(args.step.args)
        .map(v => JSON.stringify(v))
        .join(', ')})`;
      const { x, y } = this.variant(history.at);
      const busy = history.rows.filter(row => row.x > x).map(row => row.y);
      this.slices.history = {
        ...history,
        rows: [
          ...history.rows,
          {
            ...VARIANT,
            id,
            parent: history.at,
            x: x + 1,
            y: busy.includes(y) ? Math.max(...busy) + 1 : y,
            text,
            primitive: args.step.primitive,
            status: 'measuring'
          }
        ]
      };
      return this.go(id);
    }
    if (cmd === 'steer') return this.steer(args.name, args.args);
    if (cmd === 'auto_measure') this.put('history', { ...history, auto: args.on });
    if (cmd === 'dismiss') this.put('status', { ...this.slices.status, note: null });
    return null;
  }

  steer(name, args) {
    const hole = this.space.holes.find(one => one.name === args.hole);
    if (name === 'pin' && !hole?.values.includes(args.value))
      return failure(
        'steer.value',
        `'${args.hole}' cannot be ${args.value}: it is no value that it may have.`,
        [],
        `it may be ${hole?.values.join(', ')}`
      );
    if (name === 'epsilon' && !(args.value >= 0 && args.value <= 1))
      return failure('steer.argument', `epsilon has to be a share from 0 to 1, not ${args.value}`);
    const old = this.slices.steering;
    const task = this.slices.tasks.rows.find(row => row.key === args.task)?.name ?? '';
    const text = Object.entries(args)
      .filter(([key]) => key !== 'task')
      .map(([key, value]) => `${key} ${value}`)
      .join(', ');
    const held =
      name === 'pin'
        ? [...old.held, { task, text: `${args.hole} = ${args.value}`, args: { task: args.task, hole: args.hole } }]
        : name === 'release'
          ? old.held.filter(one => one.args.hole !== args.hole)
          : old.held;
    this.put('steering', {
      ...old,
      held,
      count: old.count + 1,
      commands: [
        { id: old.count, name, text, task, source: 'widget', accepted: true, error: '', at: 12.3 },
        ...old.commands
      ].slice(0, 8)
    });
    return null;
  }

  variant(id) {
    return this.slices.history.rows.find(row => row.id === id);
  }

  change(id, values) {
    const history = this.slices.history;
    this.put('history', { ...history, rows: history.rows.map(row => (row.id === id ? { ...row, ...values } : row)) });
    return null;
  }

  /** Where redo leads from each variant. */
  ahead() {
    const { rows, path } = this.slices.history;
    return new Map(rows.filter(row => row.undone || path.includes(row.id)).map(row => [row.parent, row.id]));
  }

  go(at, afresh = false) {
    if (!this.variant(at)) return failure('session.variant', `There is no variant ${at}.`);
    const path = [];
    for (let id = at; id !== null; id = this.variant(id).parent) path.unshift(id);
    const ahead = this.ahead();
    path.slice(1).forEach((id, k) => ahead.set(path[k], id));
    if (afresh) ahead.delete(at);
    const undone = new Set();
    for (let id = ahead.get(at); id !== undefined; id = ahead.get(id)) undone.add(id);
    const rows = this.slices.history.rows.map(row => ({ ...row, undone: undone.has(row.id) }));
    this.put('history', {
      ...this.slices.history,
      rows,
      at,
      path,
      can_undo: path.length > 1,
      can_redo: undone.size > 0
    });
    const { ms, spread, gflops } = this.variant(at);
    this.put('head', { ...this.slices.head, step: `v${at}`, ms, spread, gflops });
    return null;
  }
}
