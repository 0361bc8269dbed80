// The page's side of the live figure. Plotly comes beside the model, as text of another one, and is loaded after it:
// anywidget gives a model's module two seconds, then it drops whatever the kernel sends to that model for good, and
// plotly's five megabytes may take longer. The kernel's messages are plotly's `FigureWidget`'s; a page only listens.
// What they add up to is kept per model, and a view draws it whenever it can be seen: no message is lost on a view that
// is not there yet.

/** A drawing waits at most so long for a page that has nothing else to do. */
const IDLE_MS = 1000;

const KINDS = [Int8Array, Int16Array, Int32Array, Uint8Array, Uint16Array, Uint32Array, Float32Array, Float64Array];
const kind = name => KINDS.find(one => one.name.toLowerCase() === `${name}array`);

/** Undo what plotly's serializer made of arrays and of what is not there. */
function read(value) {
  if (value === '_undefined_') return undefined;
  if (Array.isArray(value)) return value.map(read);
  if (value === null || typeof value !== 'object') return value;
  if (value.dtype && value.shape) {
    const { buffer, byteOffset, byteLength } = value.buffer;
    return new (kind(value.dtype))(buffer.slice(byteOffset, byteOffset + byteLength));
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, read(one)]));
}

/** Set a property like `marker.color` or `xaxis.range[0]`; null deletes it. */
function put(target, path, value) {
  const names = path.split(/[.[\]]+/).filter(Boolean);
  const last = names.pop();
  for (const name of names) target = target[name] ??= {};
  if (value === null) delete target[last];
  else target[last] = value;
}

const restyle = (data, style, traces) =>
  Object.entries(style ?? {}).forEach(([path, values]) => {
    const list = Array.isArray(values) ? values : [values];
    (traces ?? data.map((_, k) => k)).forEach((trace, k) => {
      const value = list[k % list.length];
      if (value !== undefined) put(data[trace], path, value);
    });
  });
const relayout = (layout, changes) =>
  Object.entries(changes ?? {}).forEach(([path, value]) => put(layout, path, value));

const axesOf = layout =>
  Object.keys(layout)
    .filter(name => /^[xy]axis/.test(name))
    .sort()
    .join();

/** A copy that shares its arrays: plotly knows what has changed by which array it is. */
const copy = value =>
  value?.constructor !== Object
    ? value
    : Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copy(one)]));

/**
 * More points than this are drawn as one line of dots: plotly makes an element of each, which takes a tenth of a second
 * for a thousand. It still knows where they are, what they say and which was clicked.
 */
const MANY = 150;
const dotted = ({ mode, marker, x }) => mode === 'markers' && !marker.symbol && x?.length > MANY;
const light = trace =>
  dotted(trace) ? { ...trace, mode: 'none', hoverlabel: { bgcolor: trace.marker.color } } : trace;

function dots(el, data) {
  el.querySelectorAll('.swb-dots').forEach(one => one.remove());
  const layout = el._fullLayout;
  data.filter(dotted).forEach(({ x, y, xaxis = 'x', yaxis = 'y', marker }) => {
    const [across, up] = [xaxis, yaxis].map(name => layout[`${name[0]}axis${name.slice(1)}`]);
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('class', 'swb-dots');
    path.setAttribute(
      'd',
      Array.from(x, (value, k) => `M${across.d2p(value).toFixed(1)},${up.d2p(y[k]).toFixed(1)}h0`).join('')
    );
    path.style.cssText = `fill: none; stroke: ${marker.color}; stroke-width: ${marker.size}px; stroke-linecap: round; opacity: ${marker.opacity ?? 1}; vector-effect: non-scaling-stroke`;
    el.querySelector(`.cartesianlayer .subplot.${xaxis}${yaxis} .scatterlayer`)?.prepend(path);
  });
}

/** Plotly as the page has it already: it takes a second to load, and every figure brings it. */
const LOADED = (globalThis[Symbol.for('schedule-workbench.plotly')] ??= new Map());

/** Plotly's text: one widget of the kernel has it for all figures. */
async function script(model) {
  const [, shared] = /^IPY_MODEL_(.*)/.exec(model.get('_plotly')) ?? [];
  return shared ? (await model.widget_manager.get_model(shared)).get('text') : model.get('_plotly');
}

function load(text) {
  const which = `${text.length} ${text.slice(0, 200)}`;
  if (!LOADED.has(which)) {
    LOADED.set(which, fetchPlotly(text));
    LOADED.get(which).catch(() => LOADED.delete(which));
  }
  return LOADED.get(which);
}

/** Load plotly as a module, where neither an AMD loader nor another plotly of the page is in its way. */
async function fetchPlotly(text) {
  const before = window.Plotly;
  const url = URL.createObjectURL(
    new Blob(['const define = undefined, module = undefined;\n', text], { type: 'text/javascript' })
  );
  try {
    await import(url);
    return window.Plotly;
  } finally {
    URL.revokeObjectURL(url);
    window.Plotly = before;
  }
}

export default () => {
  let figure;
  let plotly;
  const drawings = new Set();
  const changed = () => drawings.forEach(draw => draw());
  return {
    initialize({ model }) {
      const whole = () => {
        figure = { data: read(model.get('_widget_data')), layout: read(model.get('_widget_layout')) };
        changed();
      };
      const on = (name, apply) =>
        model.on(`change:${name}`, () => {
          const message = read(model.get(name));
          if (!message) return;
          apply(message);
          changed();
        });
      model.on('change:_widget_data', whole);
      model.on('change:_widget_layout', whole);
      on('_py2js_restyle', m => restyle(figure.data, m.restyle_data, m.restyle_traces));
      on('_py2js_relayout', m => relayout(figure.layout, m.relayout_data));
      on('_py2js_update', m => {
        restyle(figure.data, m.style_data, m.style_traces);
        relayout(figure.layout, m.layout_data);
      });
      whole();
      // Not waited for, see above.
      plotly = script(model).then(load);
      plotly.catch(() => undefined);
    },
    async render({ model, el }) {
      const Plotly = await plotly;
      let [due, stale, seen, gone] = [false, false, false, false];
      let drawn = [];
      let axes = '';
      const draw = () => {
        due = false;
        stale = !seen || !el.clientWidth;
        if (stale || gone) return;
        // Axes of the chart before would be drawn once more, at no place.
        const wanted = axesOf(figure.layout);
        if (el.picture && wanted !== axes) {
          Plotly.purge(el);
          el.picture = null;
        }
        axes = wanted;
        // Copies: what a reader does to the plot is not written into what the kernel says.
        drawn = figure.data.map(copy);
        Plotly.react(
          el,
          drawn.map(light),
          { uirevision: true, ...structuredClone(figure.layout) },
          model.get('_config')
        );
        if (el.picture) return;
        el.on('plotly_afterplot', () => dots(el, drawn)); // also when it was zoomed, or has another size
        dots(el, drawn);
        el.picture = picture;
      };
      // As SVG, as the reader has zoomed it, on a ground of its own: the plot's is what lies behind it.
      const picture = paper_bgcolor =>
        Plotly.toImage(
          { data: drawn.map(copy), layout: { ...structuredClone(el.layout), paper_bgcolor } },
          { format: 'svg', imageDataOnly: true, width: el.clientWidth, height: el.clientHeight }
        );
      // Drawing takes a tenth of a second: what a reader presses goes first.
      const idle = () => {
        self.requestIdleCallback ? requestIdleCallback(draw, { timeout: IDLE_MS }) : draw();
      };
      const soon = () => {
        if (!due) requestAnimationFrame(idle);
        due = true;
      };
      // A plot measures its place: it is drawn when it has one that can be seen, and again when it gets it back.
      const observer = new IntersectionObserver(
        entries => {
          stale ||= entries.some(entry => !entry.boundingClientRect.width);
          seen = entries.at(-1).isIntersecting;
          if (seen && stale) soon();
        },
        { rootMargin: '100px' }
      );
      observer.observe(el);
      soon();
      drawings.add(soon);
      return () => {
        drawings.delete(soon);
        observer.disconnect();
        gone = true;
        Plotly.purge(el);
      };
    }
  };
};
