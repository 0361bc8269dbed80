// What stands in for the kernel in a page of its own: hands out the state and the answers, draws the charts, and says
// no to the rest.

const text = id => document.getElementById(id).textContent;
const state = JSON.parse(text('swb-state'));
const module = URL.createObjectURL(new Blob([text('swb-module')], { type: 'text/javascript' }));
const widget = (await import(module)).default;
URL.revokeObjectURL(module);
const REASON = {
  code: 'link.static',
  where: [],
  message: 'This page has no kernel',
  hint: 'in a notebook, workbench.open_page("this file") opens it, and measures its variants there'
};
const place = document.getElementById('swb');

// ----- charts: one figure, as the kernel has it

let chart = state.slices.chart;
let plot = null;
function draw() {
  if (!plot?.isConnected) return;
  const theme = place.querySelector('[data-swb-theme]').dataset.swbTheme;
  const { data, layout } = state.figures[`${chart.name}/${chart.wide}/${theme}`] ?? { data: [], layout: {} };
  Plotly.react(plot, structuredClone(data), structuredClone(layout), { responsive: true, displayModeBar: false });
}
const view = () => {
  plot = document.createElement('div');
  requestAnimationFrame(draw);
  return { el: plot, remove() {} };
};

// ----- commands and questions

const only = (name, value) => ({ [name]: { '=': value } });
const COMMANDS = {
  select({ id }) {
    const found = state.selections[id];
    if (!found) return null;
    const changed = Object.entries({ ...found, selection: { id } }).map(([name, value]) => only(name, value));
    return Object.assign({}, ...changed);
  },
  chart({ name, wide = false }) {
    const { height } = state.figures[`${name}/${wide}/light`]?.layout ?? {};
    chart = { ...chart, name, wide, height };
    requestAnimationFrame(draw);
    return only('chart', chart);
  },
  theme() {
    requestAnimationFrame(draw);
    return {};
  }
};
const nothing = value =>
  value == null || value === false || value === '' || value === 0 || (Array.isArray(value) && !value.length);
const said = args =>
  Object.fromEntries(
    Object.entries(args)
      .filter(([, value]) => !nothing(value))
      .sort()
  );
const handlers = {};
const receive = message => setTimeout(() => (handlers['msg:custom'] ?? []).forEach(f => f(message, [])));
let rev = 1;
function answer({ t, id, q, cmd, args = {} }) {
  if (t === 'hello') return { t: 'state', v: state.v, rev, slices: state.slices };
  if (t === 'ask') {
    const rest = { ...args };
    delete rest.count;
    return { t: 'ret', id, ...(state.answers[`${q}|${JSON.stringify(said(rest))}`] ?? { ok: false, error: REASON }) };
  }
  const ops = COMMANDS[cmd]?.(args);
  return {
    t: 'patch',
    base: rev,
    rev: ++rev,
    ops: ops ?? {},
    ...(ops ? { done: [id] } : { failed: [{ id, error: REASON }] })
  };
}

const charts = Object.keys(state.figures).length > 0;
const traits = { panel: 'all', key: 'page', figure: charts ? 'IPY_MODEL_page' : '', page: true };
const model = {
  get: name => traits[name],
  set: (name, value) => {
    traits[name] = value;
  },
  save_changes() {},
  on: (event, f) => void (handlers[event] ??= []).push(f),
  off: (event, f) => {
    handlers[event] = (handlers[event] ?? []).filter(one => f && one !== f);
  },
  send: message => receive(answer(message)),
  widget_manager: { kernel: null, get_model: async () => model, create_view: async () => view() }
};
widget.initialize({ model });
widget.render({ model, el: place });
