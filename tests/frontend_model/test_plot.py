"""The page's side of the live figure: plotly comes late, and nothing that the kernel said meanwhile is missing."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plotly.offline import get_plotlyjs
from session.fakes import FakeTuning

from workbench import Schedule, Target, Task, workloads
from workbench.analysis import best_so_far_figure, roofline_figure, tuning_figure

PLOT = Path(__file__).parents[2] / "workbench" / "widgets" / "plot.js"
ADDRESS = "http://workbench.test/"

PAGE = """<!doctype html><div id="place" style="width:400px"></div><script type="module">
import plot from './plot.js';
const handlers = {};
window.drawn = [];
window.arrived = new Promise(done => { window.arrive = done; });
const plotly = `await window.arrived;
const react = (el, data, layout) => { el.on = () => {}; window.drawn.push(structuredClone({ data, layout })); };
window.Plotly = { react,
                  purge: () => window.drawn.push('purged') };`;
const numbers = (...values) => ({ dtype: 'float32', shape: [values.length],
    buffer: new DataView(new Float32Array([0, ...values, 0]).buffer, 4, 4 * values.length) });
window.Plotly = 'the page has one, too';
window.state = { _plotly: plotly, _config: {},
                 _widget_data: [{ name: 'a', x: [1], y: numbers(1.5) }, { name: 'b', y: [2] }],
                 _widget_layout: { xaxis: { range: [0, 1] } } };
window.model = { get: name => state[name], on: (event, f) => (handlers[event] ??= []).push(f) };
window.say = changes => {
  Object.assign(state, changes);
  for (const name in changes) (handlers[`change:${name}`] ?? []).forEach(f => f());
};
window.update = (style_data, style_traces, layout_data = {}) => {
  say({ _py2js_update: { style_data, style_traces, layout_data } });
  say({ _py2js_update: null });
};
window.numbers = numbers;
const widget = plot();
window.initialized = widget.initialize({ model });
window.show = async el => { window.remove = await widget.render({ model, el }); };
window.settle = () => new Promise(done => setTimeout(() => requestAnimationFrame(() => setTimeout(done, 20)), 20));
window.here = true;
</script>"""

LAST = """() => { const last = drawn.at(-1);
    return { y: last.data.map(t => Array.from(t.y)), names: last.data.map(t => t.name), layout: last.layout }; }"""


@pytest.fixture
def page(chrome: Any) -> Iterator[Any]:
    page = chrome.new_page()
    page.set_default_timeout(5000)
    page.route(ADDRESS, lambda r: r.fulfill(body=PAGE, content_type="text/html"))
    page.route(ADDRESS + "plot.js", lambda r: r.fulfill(body=PLOT.read_text(), content_type="text/javascript"))
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(ADDRESS)
    page.wait_for_function("window.here")
    yield page
    page.close()
    assert errors == []


def test_the_model_is_there_before_plotly_and_misses_nothing_meanwhile(page: Any) -> None:
    assert page.evaluate("initialized === undefined")  # a promise would be waited for, and given up after two seconds
    page.evaluate("void show(place)")
    page.evaluate("update({ y: [numbers(4, 5), '_undefined_'], 'marker.color': ['red'] }, [0, 1])")
    page.evaluate("update({}, [], { 'xaxis.range': [0, 9], 'yaxis.range[1]': 3 })")
    page.evaluate("settle()")
    assert page.evaluate("drawn") == []
    page.evaluate("arrive()")
    page.wait_for_function("drawn.length > 0")
    last = page.evaluate(LAST)
    assert last["y"] == [[4, 5], [2]]
    assert last["layout"]["xaxis"] == {"range": [0, 9]}
    assert page.evaluate("drawn.at(-1).data[1].marker") == {"color": "red"}
    assert page.evaluate("Plotly") == "the page has one, too"


def test_updates_of_one_frame_are_drawn_once_and_the_whole_replaces_everything(page: Any) -> None:
    page.evaluate("arrive(), show(place)")
    page.wait_for_function("drawn.length === 1")
    page.evaluate("update({ y: [[1, 2]] }, [1]), update({ y: [[1, 2, 3]] }, [1])")
    page.evaluate("settle()")
    assert page.evaluate("drawn.length") == 2
    assert page.evaluate(LAST)["y"] == [[1.5], [1, 2, 3]]
    page.evaluate("say({ _widget_data: [{ name: 'roof', y: [7] }], _widget_layout: {} })")
    page.evaluate("settle()")
    assert page.evaluate(LAST) == {"y": [[7]], "names": ["roof"], "layout": {"uirevision": True}}
    page.evaluate("update({ y: [[8]] }, [0])")
    page.evaluate("settle()")
    assert page.evaluate(LAST)["y"] == [[8]]


def test_a_view_that_is_out_of_the_page_is_drawn_when_it_comes_back(page: Any) -> None:
    page.evaluate("arrive(), show(place)")
    page.wait_for_function("drawn.length === 1")
    page.evaluate("window.kept = place, kept.remove()")
    page.evaluate("update({ y: [[1, 2]] }, [1])")
    page.evaluate("settle()")
    assert page.evaluate("drawn.length") == 1
    page.evaluate("document.body.append(kept)")
    page.wait_for_function("drawn.length === 2")
    assert page.evaluate(LAST)["y"][1] == [1, 2]
    page.evaluate("window.remove()")
    page.evaluate("update({ y: [[1]] }, [1])")
    page.evaluate("settle()")
    assert page.evaluate("drawn.slice(2)") == ["purged"]


def test_what_cannot_be_seen_is_drawn_when_it_is_scrolled_to_and_once(page: Any) -> None:
    page.evaluate("arrive(), show(place)")
    page.wait_for_function("drawn.length === 1")
    page.evaluate("place.style.marginTop = '5000px'")
    page.evaluate("settle()")
    page.evaluate("update({ y: [[1, 2]] }, [1]), settle()")
    page.evaluate("update({ y: [[1, 2, 3]] }, [1]), settle()")
    assert page.evaluate("drawn.length") == 1
    page.evaluate("place.scrollIntoView()")
    page.wait_for_function("drawn.length === 2")
    assert page.evaluate(LAST)["y"][1] == [1, 2, 3]
    page.evaluate("scrollTo(0, 0), settle()")
    page.evaluate("place.scrollIntoView(), settle()")
    assert page.evaluate("drawn.length") == 2  # nothing new: it is still there


def test_a_second_figure_finds_plotly_loaded(page: Any) -> None:
    page.evaluate("arrive(), show(place)")
    page.wait_for_function("drawn.length === 1")
    page.evaluate("void (URL.createObjectURL = () => { throw new Error('loaded twice'); })")
    page.evaluate("""async () => { const other = (await import('./plot.js')).default();
        const el = document.body.appendChild(document.createElement('div'));
        other.initialize({ model });
        await other.render({ model, el }); }""")
    page.wait_for_function("drawn.length === 2")


REAL = """async ({ data, layout }) => {
    const _plotly = await (await fetch('plotly.js')).text();
    const state = { _plotly, _config: { displayModeBar: false }, _widget_data: data, _widget_layout: layout };
    const model = { get: name => state[name], on: () => {} };
    const other = (await import('./plot.js')).default();
    const el = document.body.appendChild(document.createElement('div'));
    el.style.cssText = 'width: 640px; height: 300px';
    other.initialize({ model });
    await other.render({ model, el });
    while (!el.picture) await new Promise(requestAnimationFrame);
    const svg = await el.picture('rgb(1, 2, 3)');
    const image = new Image();
    image.src = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
    await image.decode();
    return { svg, size: [image.width, image.height], ground: el.layout.paper_bgcolor };
}"""


def test_real_plotly_makes_a_picture_of_every_chart(page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    script = get_plotlyjs()
    page.route(ADDRESS + "plotly.js", lambda r: r.fulfill(body=script, content_type="text/javascript"))
    task = Task.of_func(workloads.matmul(16, 32, 32), Target("llvm", cpu="x86-64-v3"))
    s = Schedule(task.func, task.target)
    charts = (tuning_figure(FakeTuning([task]).feed(40).records), "best so far"), (roofline_figure([s]), "flops")
    for figure, word in charts:
        figure.layout.update(height=None, autosize=True)
        found = page.evaluate(REAL, json.loads(figure.to_json()))
        root = ET.fromstring(found["svg"])
        assert word in "".join(root.itertext()).lower()
        assert found["size"] == [640, 300]
        assert "rgb(1, 2, 3)" in found["svg"]
        assert found["ground"] == "rgba(0,0,0,0)"  # the plot itself stays as it is
    assert all(url.startswith((ADDRESS, "blob:")) for url in asked)


SWITCH = """async figures => {
    const _plotly = await (await fetch('plotly.js')).text(), heard = {};
    const part = ({ data, layout }) => ({ _widget_data: data, _widget_layout: layout });
    const state = { _plotly, _config: {}, ...part(figures[0]) };
    const model = { get: name => state[name], on: (event, f) => { heard[event] = f; } };
    const other = (await import('./plot.js')).default();
    const el = document.body.appendChild(document.createElement('div'));
    el.style.cssText = 'width: 640px; height: 300px';
    other.initialize({ model });
    await other.render({ model, el });
    while (!el.picture) await new Promise(requestAnimationFrame);
    Object.assign(state, part(figures[1]));
    heard['change:_widget_data']();
    while (!el.picture || el.layout.xaxis3 === undefined) await new Promise(requestAnimationFrame);
}"""


def test_another_chart_has_no_axes_of_the_one_before(page: Any) -> None:
    """Plotly would draw them at no place, and say so for each of their lines."""
    page.route(ADDRESS + "plotly.js", lambda r: r.fulfill(body=get_plotlyjs(), content_type="text/javascript"))
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    target = Target("llvm", cpu="x86-64-v3")
    charts = [roofline_figure([], target), tuning_figure([], None, [], target=target)]
    for figure in charts:
        figure.layout.update(height=None, autosize=True)
    page.evaluate(SWITCH, [json.loads(figure.to_json()) for figure in charts])
    assert [text for text in said if "NaN" in text] == []


DOTS = """async () => {
    const el = [...document.querySelectorAll('.js-plotly-plot')].at(-1), path = el.querySelector('.swb-dots');
    const trace = el.data.find(t => t.name === 'measured'), { xaxis, yaxis } = el._fullLayout;
    const heard = new Promise(done => el.on('plotly_click', e => done(e.points[0].customdata)));
    const at = k => [xaxis.d2p(trace.x[k]), yaxis.d2p(trace.y[k])];
    const [x, y] = at(200), box = el.querySelector('.nsewdrag').getBoundingClientRect();
    const where = { clientX: box.x + x, clientY: box.y + y, bubbles: true, view: window };
    for (const type of ['mousemove', 'mousedown', 'mouseup']) {
        document.elementFromPoint(where.clientX, where.clientY).dispatchEvent(new MouseEvent(type, where));
        await new Promise(done => setTimeout(done, 100));
    }
    const before = path.getAttribute('d');
    el.style.width = '500px';
    dispatchEvent(new Event('resize'));
    await new Promise(done => el.on('plotly_afterplot', done));
    await new Promise(done => setTimeout(done, 100));
    const after = el.querySelectorAll('.swb-dots');
    return { clicked: await heard, wanted: trace.customdata[200], first: before.split('h0')[0], at: at(0),
             dots: before.split('h0').length - 1, n: trace.x.length, own: el.querySelectorAll('.point').length,
             paths: after.length, moved: after[0].getAttribute('d') !== before };
}"""


def test_very_many_points_are_one_element_and_each_is_still_clicked(page: Any) -> None:
    page.route(ADDRESS + "plotly.js", lambda r: r.fulfill(body=get_plotlyjs(), content_type="text/javascript"))
    task = Task.of_func(workloads.matmul(16, 32, 32), Target("llvm", cpu="x86-64-v3"))
    figure = best_so_far_figure(FakeTuning([task]).feed(400).records, task)
    figure.layout.update(height=None, autosize=True)
    given = json.loads(figure.to_json())
    for said, trace in zip(given["data"], figure.data, strict=True):  # as the widget has them, not packed for a file
        said |= {name: np.array(trace[name]).tolist() for name in ("x", "y", "customdata") if trace[name] is not None}
    svg = page.evaluate(REAL.replace("{ displayModeBar: false }", "{ responsive: true }"), given)
    found = page.evaluate(DOTS)
    assert found["clicked"] == found["wanted"]
    assert found["dots"] == found["n"] > 300
    assert found["own"] < 60  # the failed ones and the end of the line
    assert (found["paths"], found["moved"]) == (1, True)
    assert svg["svg"].count('class="point') > 300  # a picture is plotly's own
