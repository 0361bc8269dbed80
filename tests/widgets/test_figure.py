"""The live figure: small updates in place, complete at the end, another chart in the same figure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ipywidgets.widgets.widget import _instances
from session.conftest import matmul, split
from session.fakes import FakeTuning
from waiting import until

from workbench import Target
from workbench.analysis import best_so_far, estimate
from workbench.log import Record
from workbench.log.replay import schedule_of
from workbench.session.state import results as measuring
from workbench.session.state import roofline_points as trials
from workbench.session.state.results import Result
from workbench.session.tuning_run import charts
from workbench.session.tuning_run.charts import LIVE_POINTS
from workbench.widgets import Workbench
from workbench.widgets import figure as figure


@pytest.fixture
def quick(monkeypatch):
    """Nothing is compiled, and every patch may be drawn."""
    monkeypatch.setattr(Target, "peak_gflops", lambda self, remeasure=False: 100.0)
    monkeypatch.setattr(measuring, "measure", lambda view, target, *_: Result("ok", 0.02, 0.01, 26.0))
    monkeypatch.setattr(figure, "INTERVAL_S", 0.0)


@pytest.fixture
def run(comms, quick):
    """A workbench that watches a fake run, with its figure made."""
    made = []

    def start(trials=100, n=2):
        fake = FakeTuning([matmul(16 * (k + 1)) for k in range(n)]).feed(trials)
        w = Workbench(fake, auto_measure=False)
        made.append((w, fake))
        w.comm.receive({"t": "hello"})
        w.comm.receive({"t": "do", "id": "f", "cmd": "figure", "args": {}})
        until(lambda: w.figure)
        until(lambda: w.session.state.peak)
        assert w.session.flush(100)
        return w, fake, w._figure._widget

    yield start
    for w, fake in made:
        fake.cancel()
        w.close()


def about(comms, widget):
    """Messages to the figure: (what, bytes)."""
    return [
        (sorted(k for k in data.get("state", {}) if k.startswith("_py2js")), size)
        for kind, name, data, size in comms
        if kind == "comm_msg" and name == widget.comm.comm_id
    ]


def trace(widget, name):
    return next(t for t in widget.data if t.name == name)


def settled(w):
    assert w.session.flush(100)


def test_more_trials_are_one_small_update(comms, run):
    w, fake, widget = run()
    before = len(about(comms, widget))
    fake.feed(50)
    until(lambda: len(about(comms, widget)) > before)
    settled(w)
    messages = [m for m in about(comms, widget)[before:] if m[0]]
    assert messages
    assert all(kinds == ["_py2js_update"] and size < 60_000 for kinds, size in messages)


def test_a_trial_that_was_disturbed_is_hollow_as_it_comes(comms, run):
    w, fake, widget = run()
    assert trace(widget, "measured").marker.symbol is None
    key = w.session.state.infos[w.session.state.index].key
    valid = [r for r in fake.records if r.task_key == key and r.ok]
    fresh = replace(valid[-1], trial=9_999, key="disturbed", clean=False, why_not="the thread had 40 % of a core")
    fake._lines.append(fresh)
    fake.feed(1)
    until(lambda: "circle-open" in (trace(widget, "measured").marker.symbol or ""))
    dots = trace(widget, "measured")
    assert [n for n, how in zip(dots.customdata, dots.marker.symbol, strict=True) if how != "circle"] == [9_999]


def test_a_measurement_of_the_network_is_a_point_as_it_comes(comms, run):
    w, fake, widget = run()
    assert w.session.snapshot().slices["chart"]["height"] == 1240
    fake.time_network(0.5)
    until(lambda: list(widget.data[-1].y or ()) == [0.5])
    assert (widget.data[-1].name, len(widget.data[-1].x)) == ("end to end", 1)
    assert any("◆ end to end" in a.text for a in widget.layout.annotations)
    assert w.session.snapshot().slices["tasks"]["network"]["ms"] == 0.5
    assert "◆ end to end" in w.export("html")
    w.session.run("chart", name="tuning", wide=True)
    assert w.session.snapshot().slices["chart"]["height"] == 660


def test_ten_thousand_trials_are_thinned_while_they_come_and_complete_at_the_end(comms, run):
    w, fake, widget = run(trials=10_000, n=3)
    key = w.session.state.infos[w.session.state.index].key
    curve = best_so_far(fake, key)
    assert len(trace(widget, "measured").x) <= LIVE_POINTS < len(curve.trials)
    assert any("1 of" in (a.text or "") for a in widget.layout.annotations)
    before = len(about(comms, widget))
    fake.feed(20)
    until(lambda: len(about(comms, widget)) > before)
    settled(w)
    assert all(size < 60_000 for _, size in about(comms, widget)[before:])
    fake.end()
    curve = best_so_far(fake, key)
    until(lambda: len(trace(widget, "measured").x) == len(curve.trials))
    assert np.array_equal(trace(widget, "measured").customdata, curve.trials)
    assert np.array_equal(trace(widget, "measured").y, curve.latency_ms)
    x, y = np.array(trace(widget, "best so far").x), np.array(trace(widget, "best so far").y)
    assert np.array_equal(y[np.searchsorted(x, curve.nth, side="right") - 1], curve.best_ms)
    assert len(trace(widget, "failed").x) == len(curve.failed_trials)
    assert not any("1 of" in (a.text or "") for a in widget.layout.annotations)


def test_another_chart_takes_its_place_in_the_same_figure(comms, run):
    w, _, widget = run()
    names = [t.name for t in widget.data]
    w.session.run("chart", name="roofline")
    settled(w)
    assert [t.name for t in widget.data][-2:] == ["current", "levels"]
    w.session.run("apply", step=split("i", None, 8))
    settled(w)
    until(lambda: len(trace(widget, "path").x) == 2)
    w.session.run("chart", name="tuning", wide=True)
    settled(w)
    assert [t.name for t in widget.data] == names
    assert widget.layout.yaxis.domain[0] > 0.4  # in the upper row
    assert w._figure._widget is widget


def test_a_figure_that_began_as_the_roofline_becomes_any_other(comms, quick):
    w = Workbench(matmul(64), auto_measure=False)
    w.session.run("measure")
    w.session.run("chart", name="roofline")
    w.comm.receive({"t": "do", "id": "f", "cmd": "figure", "args": {}})
    until(lambda: w.figure)
    widget = w._figure._widget
    for name, wide, theme in (
        ("tuning", False, "dark"), ("roofline", False, "dark"), ("tuning", True, "light"), ("roofline", False, "light"),
        ("tuning", False, "dark"), ("tuning", True, "light"),
    ):  # fmt: skip
        w.session.run("chart", name=name, wide=wide)
        w.comm.receive({"t": "do", "id": "t", "cmd": "theme", "args": {"theme": theme}})
        settled(w)
        state = [data["state"] for kind, to, data, _ in comms if kind == "comm_msg" and to == widget.comm.comm_id][-1]
        fresh = charts.figure(w.session.state, theme)
        assert [t["name"] for t in state["_widget_data"]] == [t.name for t in fresh.data]
        assert state["_widget_layout"]["annotations"] == fresh.layout.to_plotly_json()["annotations"]
        assert {k for k in state["_widget_layout"] if "axis" in k} == {k for k in fresh._layout if "axis" in k}
    w.close()


def opened(comms, widget):
    """State in the first message about a widget."""
    return next(data for kind, name, data, _ in comms if kind == "comm_open" and name == widget.comm.comm_id)["state"]


def test_a_page_gets_the_whole_figure_with_the_first_message(comms, run):
    _, _, widget = run()
    state = opened(comms, widget)
    assert [t["name"] for t in state["_widget_data"]] == [t.name for t in widget.data]
    assert len(state["_widget_layout"]["annotations"]) == len(widget.layout.annotations)
    assert state["_config"]["responsive"]
    assert len(state["_esm"]) < 10_000  # anywidget gives a module two seconds
    assert len(state["_plotly"]) < 100


def test_a_page_that_opens_later_gets_the_figure_as_it_is_now(comms, run):
    w, fake, widget = run()
    fake.feed(100)
    until(lambda: len(trace(widget, "measured").x) > 60)
    settled(w)
    state = widget.get_state()
    assert state["_widget_data"][0]["x"]["shape"] == (len(trace(widget, "measured").x),)
    w.session.run("chart", name="roofline")
    settled(w)
    state = widget.get_state()
    assert [t["name"] for t in state["_widget_data"]] == [t.name for t in widget.data]
    assert "xaxis3" not in state["_widget_layout"]


def test_another_chart_is_one_message(comms, run):
    w, _, widget = run()
    before = len(comms)
    w.session.run("chart", name="roofline")
    settled(w)
    about = [
        data["state"] for kind, name, data, _ in comms[before:] if kind == "comm_msg" and name == widget.comm.comm_id
    ]
    assert [set(state) for state in about] == [{"_widget_data", "_widget_layout"}]
    assert len(about[0]["_widget_data"]) == len(widget.data)


def test_a_theme_is_a_new_drawing_and_zoom_stays_otherwise(comms, run):
    w, fake, widget = run()
    light = widget.layout.font.color
    w.comm.receive({"t": "do", "id": "t", "cmd": "theme", "args": {"theme": "dark"}})
    settled(w)
    assert widget.layout.font.color != light
    widget.layout.xaxis.range = [0, 10]
    fake.feed(100)
    settled(w)
    until(lambda: len(trace(widget, "measured").x) > 60)
    assert tuple(widget.layout.xaxis.range) == (0, 10)


def test_what_was_found_by_hand_is_a_line(comms, run):
    w, _, widget = run()
    w.session.run("measure")
    until(lambda: len(trace(widget, "by hand").y) == 2)
    assert list(trace(widget, "by hand").y) == [0.02, 0.02]
    assert "v0, by hand 0.02" in trace(widget, "by hand").text


def test_the_roofline_has_the_trials_as_soon_as_it_is_on_show(comms, run):
    w, fake, widget = run()
    state = w.session.state
    key = state.infos[state.index].key
    assert "trials" not in w.session.snapshot().slices["chart"]  # nothing is worked out that nobody looks at
    w.session.run("chart", name="roofline")
    mine = {r.trial: r for r in fake.records if r.ok and r.task_key == key}
    settled(w)
    until(lambda: set(trace(widget, "trials").customdata) == mine.keys())
    spots = trace(widget, "trials")
    for x, y, trial in zip(spots.x, spots.y, spots.customdata, strict=True):
        guess = estimate(schedule_of(state.task, mine[trial]), state.target)
        assert x == guess.intensity
        assert y >= 0.999 * mine[trial].gflops  # or faster, in a comparison
    opened_trial = int(spots.customdata[0])
    w.session.run("open_trial", trial=opened_trial)
    until(lambda: opened_trial not in trace(widget, "trials").customdata)  # it is a variant now
    assert len(trace(widget, "current").x) == 1


def test_of_very_many_trials_the_fastest_and_a_sample_are_drawn():
    def one(n, ms):
        return Record(task_key="a", task="a", trial=n, status="ok", target="", latency_ms=ms, flops=8, key=f"k{n}")

    many = [one(n, 1.0 + (n * 7919) % 5000) for n in range(5000)]
    now, later = (trials.chosen("a", many[:n]) for n in (4800, 5000))
    assert trials.MOST / 2 < len(now) <= trials.MOST
    assert {r.trial for r in sorted(many[:4800], key=lambda r: r.latency_ms)[:100]} <= {r.trial for r in now}
    assert len({r.trial for r in later} - {r.trial for r in now}) < 30  # hardly anything has to be worked out again
    assert trials.chosen("b", many) == []


def test_plotly_travels_once_and_goes_with_the_last_figure(comms, run):
    first, _, widget = run()
    second, _, other = run()
    opened_ = [data["state"] for kind, _, data, _ in comms if kind == "comm_open"]
    assert [len(state["text"]) > 1_000_000 for state in opened_ if "text" in state] == [True]
    assert widget._plotly == other._plotly
    library = _instances[widget._plotly.removeprefix("IPY_MODEL_")]
    first.close()
    first.close()
    assert library.comm is not None
    second.close()
    assert library.comm is None
