"""The state of an explorer: what is chosen and what each view counts, against a plain table of the same records."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs.explorer_logs import HOSTILE, log_of, oracle, random_log

from workbench.errors import UsageError
from workbench.logs import TuningLog, analysis
from workbench.logs.evaluation import Evaluation
from workbench.logs.explorer import Brush, Explorer
from workbench.logs.explorer.answers import ANSWERS, record_detail
from workbench.logs.explorer.panels import drawing, table
from workbench.logs.explorer.scales import of_ordinals
from workbench.logs.explorer.slices import SLICES, levels, window
from workbench.logs.opening import open as open_log

DATA = Path(__file__).parents[1] / "data" / "logs"
N = 400
LOG = random_log(N, tasks=2)
PLAIN = oracle(LOG)
X, KINDS = [1, 2, 4, 8, 16], ["a", "b", "c"]

ranges = st.tuples(st.floats(0, 120), st.floats(0, 120)).map(lambda pair: (min(pair), max(pair)))
changes = st.one_of(
    st.tuples(st.just("x"), st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda p: (min(p), max(p)))),
    st.tuples(st.just("kind"), st.integers(0, 2)),
    st.tuples(st.just("y"), ranges),
    st.tuples(st.just("cost"), ranges.map(lambda r: (r[0] / 50, r[1] / 50))),
    st.tuples(st.just("cost"), st.just("missing")),
    st.tuples(st.just("x"), st.sampled_from([(-math.inf, math.inf), (3.2, math.inf), (-math.inf, 0.4)])),
    st.tuples(st.just("y"), st.sampled_from([(-math.inf, math.inf), (30.0, math.inf), (-math.inf, 50.0)])),
    st.tuples(st.just("statuses"), st.lists(st.sampled_from(["ok", "run", "compile"]), unique=True)),
    st.tuples(st.just("text"), st.sampled_from(["", "x > 2 and y < 50", "kind == 'a' or x in (1, 16)", "memory"])),
    st.tuples(st.just("clear"), st.sampled_from(["x", "y", "kind", "cost"])),
)


def plain_mask(state: dict[str, Any]) -> pandas.Series:
    """What is chosen, by ten lines of pandas."""
    keep = pandas.Series(True, index=PLAIN.index)
    for name, value in state.items():
        if name == "x":
            keep &= PLAIN["x"].isin([x for k, x in enumerate(X) if value[0] <= k <= value[1]])
        elif name == "kind":
            keep &= PLAIN["kind"] == KINDS[value]
        elif name == "statuses" and value:
            keep &= PLAIN["status"].isin(value)
        elif name in ("y", "cost"):
            keep &= PLAIN[name].isna() if value == "missing" else PLAIN[name].between(*value)
    if state.get("text") == "memory":
        return keep & (PLAIN["status"] != "ok")
    return keep & PLAIN.eval(state["text"].replace("in (1, 16)", "in [1, 16]")) if state.get("text") else keep


def brush_of(name: str, value: Any) -> Brush:
    if value == "missing":
        return Brush(missing=True)
    if name == "x":
        return Brush(*value)
    return Brush(value - 0.5, value + 0.5) if name == "kind" else Brush(*value)


@settings(max_examples=40, deadline=None)
@given(st.lists(changes, min_size=1, max_size=8))
def test_every_view_counts_what_a_plain_table_counts(steps: list[tuple[str, Any]]) -> None:
    e, state = Explorer(LOG), dict[str, Any]()
    e.change(x="x", y="y", histogram="kind", axes=["x", "kind", "y", "status"])
    for name, value in steps:
        if name == "clear":
            state.pop(value, None)
        else:
            state[name] = value
        if name in ("statuses", "text"):
            e.change(**{name: value})
        else:
            wanted = {k: brush_of(k, v) for k, v in state.items() if k not in ("statuses", "text")}
            e.change(brushes=wanted)
        compare(e, PLAIN[plain_mask(state)])


def compare(e: Explorer, chosen: pandas.DataFrame) -> None:
    assert e.records.tolist() == chosen.index.tolist()
    head = SLICES["chosen"].make(e)
    assert head["n"] == len(chosen)
    counts = chosen["status"].value_counts()
    assert {key: n for key, _, _, n, _ in head["statuses"]} == {s: counts.get(s, 0) for s in ("ok", "run", "compile")}
    lines = SLICES["lines"].make(e)["counts"]
    assert lines[0][:-1].tolist() == [int((chosen["x"] == x).sum()) for x in X]
    assert lines[1][:-1].tolist() == [int((chosen["kind"] == k).sum()) for k in KINDS]
    assert all(axis.sum() == len(chosen) for axis in lines)
    cells = SLICES["points"].make(e)["chosen"] > 0
    drawn = SLICES["scatter"].make(e)
    assert cells.any() == bool(len(chosen))
    assert not (cells & (drawn["all"] == 0)).any()
    assert SLICES["bars"].make(e)["chosen"][:-1].tolist() == [int((chosen["kind"] == k).sum()) for k in KINDS]
    ordered = window(e, 0, N)
    assert len(ordered) == len(chosen)
    ratio = (PLAIN["cost"] / PLAIN.groupby("task")["cost"].transform("min"))[chosen.index]
    assert ordered == ratio.sort_values(kind="stable", na_position="last").index.tolist()


def test_the_best_so_far_is_the_running_minimum_of_what_is_chosen() -> None:
    e = Explorer(LOG).change(task="task1", brushes={"x": Brush(0.5, 4.5)})
    rows = PLAIN[PLAIN["task"] == "task1"].reset_index(drop=True)
    chosen = rows[rows["x"] > 1]
    best = chosen["cost"].fillna(np.inf).cummin()
    falls = best[best < best.shift(fill_value=np.inf)]
    (curve,) = SLICES["best"].make(e)["curves"]
    assert curve["chosen"]["x"].tolist() == [k + 1 for k in falls.index]
    assert np.allclose(curve["chosen"]["y"], falls)


@pytest.mark.parametrize("direction", ["min", "max"])
def test_the_best_so_far_of_many_records_with_equal_costs_and_none(direction: str) -> None:
    rng = np.random.default_rng(1)
    costs = np.abs(np.linspace(3, 1, 9000) + rng.exponential(1, 9000)).round(2)
    made = [
        Evaluation(params={"p": k % 7}, status="ok" if k % 5 else "run", value=float(c) if k % 5 else None, unit="x",
                   direction=direction)  # type: ignore[arg-type]
        for k, c in enumerate(costs)
    ]  # fmt: skip
    e = Explorer(log_of(made))
    for low, high in ((0, 6), (2, 4), (6, 6), (7, 9)):
        e.change(brushes={"p": Brush(low, high)})
        rows = np.arange(len(made))
        chosen = pandas.Series(costs).where((rows % 5 > 0) & (rows % 7 >= low) & (rows % 7 <= high)).dropna()
        so_far = chosen.cummin() if direction == "min" else chosen.cummax()
        steps = so_far[so_far != so_far.shift()]
        (curve,) = SLICES["best"].make(e)["curves"]
        assert curve["chosen"]["x"].tolist() == [k + 1 for k in steps.index]
        assert np.allclose(curve["chosen"]["y"], steps)
        best = SLICES["chosen"].make(e)["best"]
        assert best is None if chosen.empty else costs[best["record"]] == steps.iloc[-1]


def test_cells_are_drawn_by_the_logarithm_of_their_counts() -> None:
    first, second = levels(np.array([0, 1, 10, 1_000_000]), np.array([3, 0]))
    assert first[0] == 0 < first[1] < first[2] < first[3] == 255
    assert second.tolist() == [255, 0]
    assert levels() == []


def test_a_task_has_its_own_axes_costs_and_counts() -> None:
    e = Explorer(LOG)
    assert e.views.y == "times_best"
    assert "task" in e.views.axes
    e.change(task="task0")
    assert (e.views.y, e.scope.chosen.n) == ("cost", N // 2)
    assert "task" not in e.views.axes
    assert SLICES["chosen"].make(e)["best"]["record"] == PLAIN[PLAIN["task"] == "task0"]["cost"].idxmin()
    e.change(task="")
    assert e.scope.chosen.n == N


@pytest.mark.parametrize(
    "change",
    [
        {"nothing": 1}, {"task": "other"}, {"axes": ["x", "<b>"]}, {"axes": "x"}, {"statuses": [3]}, {"sort": None},
        {"first": -1}, {"first": "0"}, {"brushes": {"z": None}}, {"brushes": [1]}, {"brushes": {"x": {"low": "a"}}},
        {"brushes": {"x": 5}}, {"by_time": 1}, {"text": 5},
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_is_refused_and_changes_nothing(change: dict[str, Any]) -> None:
    e = Explorer(LOG)
    before = e.selection, e.views, e.scope.chosen.serial
    with pytest.raises(UsageError) as info:
        e.change(**change)
    assert info.value.code == "explorer.change"
    assert before == (e.selection, e.views, e.scope.chosen.serial)


def test_a_filter_that_is_wrong_says_so_and_lets_everything_through() -> None:
    e = Explorer(LOG).change(text="x > ")
    assert e.filter_error is not None
    assert e.filter_error.code == "usage.expression"
    assert SLICES["chosen"].make(e)["error"]["message"]
    assert len(e.records) == N
    assert Explorer(LOG).change(text="z > 1").filter_error is not None
    assert e.change(text="x > 1").filter_error is None


@pytest.mark.parametrize(
    ("n", "failed"), [(0, 0.0), (1, 0.0), (1, 1.0), (20, 1.0)], ids=["empty", "one", "one failure", "all failed"]
)
def test_small_and_failed_logs_have_every_slice(n: int, failed: float) -> None:
    e = Explorer(random_log(n, failed=failed))
    for one in SLICES.values():
        hash(one.key(e))
        json.dumps(one.make(e), default=lambda array: array.tolist(), allow_nan=False)
    if failed or not n:
        assert SLICES["chosen"].make(e)["best"] is None


def test_a_log_without_parameters_or_with_one_value_each_has_every_slice() -> None:
    e = Explorer(log_of([Evaluation(params={}, value=1.0), Evaluation(params={}, value=1.0)]))
    for one in SLICES.values():
        json.dumps(one.make(e), default=lambda array: array.tolist(), allow_nan=False)


def test_large_values_can_be_good() -> None:
    made = [Evaluation(params={"x": k}, value=float(v), unit="", objective="score", direction="max")
            for k, v in enumerate([3, 9, 4])]  # fmt: skip
    e = Explorer(log_of(made))
    assert e.scope.best() == 1
    assert window(e, 0, 3) == [1, 2, 0]
    (curve,) = SLICES["best"].make(e)["curves"]
    assert curve["all"]["y"].tolist() == [3, 9]


def test_the_better_neighbour_differs_in_one_parameter() -> None:
    made = [
        Evaluation(params={"x": x, "y": y}, value=float(v), unit="ms")
        for x, y, v in [(1, 1, 10), (2, 1, 6), (1, 2, 5), (2, 2, 1), (3, 1, 12)]
    ]
    found = record_detail(Explorer(log_of(made)), 0)
    assert found["neighbour"] == {"record": 2, "text": "y 1 → 2"}
    assert "2.00×" in found["neighbour_words"]
    assert "2 of 3 records" in found["neighbour_words"]
    assert record_detail(Explorer(log_of(made)), 3)["neighbour"] is None


def test_a_log_that_has_grown_keeps_what_is_chosen() -> None:
    small, large = random_log(50, seed=3), random_log(90, seed=3)
    e = Explorer(small).change(brushes={"kind": Brush(0.5, 1.5), "cost": Brush(0, 1)}, sort="x", text="x > 1")
    e.renew(large)
    plain = oracle(large)
    want = plain[(plain["kind"] == "b") & (plain["cost"] <= 1) & (plain["x"] > 1)]
    assert e.records.tolist() == want.index.tolist()
    assert e.views.sort == "x"


def test_names_from_a_file_are_text() -> None:
    e = Explorer(random_log(30, hostile=True))
    sent = json.dumps([one.make(e) for one in SLICES.values()], default=lambda array: array.tolist())
    assert HOSTILE in sent  # as text: the front end draws text, and makes no markup of it
    page = e.log._repr_html_()
    assert isinstance(e.log, TuningLog)
    assert "<img" not in page


def test_many_values_have_an_axis_of_numbers_and_exact_ranges() -> None:
    made = [Evaluation(params={"x": k}, value=float(k), unit="ms") for k in range(1000)]
    e = Explorer(log_of(made)).change(brushes={"x": Brush(17, 99)})
    assert e.records.tolist() == list(range(17, 100))
    assert not e.column("x").discrete


def test_views_that_nobody_has_changed_grow_with_the_log() -> None:
    made = [Evaluation(params={"x": k, "y": k % 2}, value=float(k), unit="ms") for k in range(1, 9)]
    e = Explorer(log_of(made[:1])).change(brushes={"cost": Brush(2, 5)})
    assert e.views.axes == ("cost",)
    e.renew(log_of(made[:6]))
    assert (e.views.axes, e.views.x, e.records.tolist()) == (("x", "y", "cost"), "x", [1, 2, 3, 4])
    e.change(axes=["y", "cost"]).renew(log_of(made))
    assert (e.views.axes, e.records.tolist()) == (("y", "cost"), [1, 2, 3, 4])


def test_a_record_that_replays_opens_on_the_bench() -> None:
    log = open_log(DATA / "kernel-tuner" / "mm96-cpu-v1.5.0.json")
    with pytest.raises(UsageError) as caught:
        ANSWERS["variant"](Explorer(log), {"record": 0})()
    assert caught.value.code == "replay.format"
    log = open_log(DATA / "autotvm" / "bert-cpu-excerpt.log.gz")
    told = ANSWERS["variant"](Explorer(log), {"record": 0})()
    replayed = f"wb.logs.replay(wb.logs.open({log.paths[0]!r}), 0)"
    assert told["code"] == f"wb.Workbench({replayed}.schedule)"
    assert told["explain"] == f"wb.logs.explain_figure(wb.logs.explain({replayed}))"


def test_a_table_shows_what_is_missing_as_such() -> None:
    frame = pandas.DataFrame(
        {
            "share": pandas.array([None, None], "Int64"),
            "gain": [math.nan, math.inf],
            "word": pandas.array([None, "<b>"], "string"),
        }
    )
    shown = table(frame)
    assert [one["most"] for one in shown["columns"]] == [None, None, None]
    assert shown["rows"] == [[["–", 0.0], ["–", 0.0], ""], [["–", 0.0], ["∞", 0.0], "<b>"]]


def test_a_table_has_short_times_in_their_unit_and_no_column_without_a_word() -> None:
    frame = pandas.DataFrame({"device": ["", ""], "value": [6.1e-6, 0.0003], "records": [3, 4], "unit": ["s", "s"]})
    shown = table(frame)
    assert [one["name"] for one in shown["columns"]] == ["value", "records", "unit"]
    assert [[text for text, _ in row[:2]] + row[2:] for row in shown["rows"]] == [
        ["6.1", "3", "µs"],
        ["300", "4", "µs"],
    ]


def test_a_panel_that_needs_one_task_offers_the_tasks() -> None:
    e = Explorer(random_log(N, tasks=3)).change(statuses=["ok"])
    asked = ANSWERS["panel"](e, {"name": "importance"})()
    tasks = e.log.records.query("status == 'ok'")["task"].astype(str).value_counts().to_dict()
    assert asked["finding"] == "The records differ in their task: choose one."
    assert (asked["choices"]["column"], asked["choices"]["more"], asked["rows"]) == ("task", 0, [])
    assert {key: n for _, key, _, n in asked["choices"]["values"]} == tasks
    e.change(task=asked["choices"]["values"][0][1])
    told = ANSWERS["panel"](e, {"name": "importance"})()
    assert told["choices"] is None
    assert len(told["rows"]) > 1
    devices = [Evaluation(params={"x": k}, value=1.0 + k, unit="ms", device="ab"[k % 2]) for k in range(9)]
    e = Explorer(log_of(devices))
    found = ANSWERS["panel"](e, {"name": "importance"})()["choices"]
    assert (found["column"], [key for _, key, _, _ in found["values"]]) == ("device", ["a", "b"])
    place = found["values"][1][0]
    assert e.change(brushes={"device": Brush(place, place)}).records.tolist() == [1, 3, 5, 7]


def test_the_table_of_a_rule_does_not_repeat_the_sentence() -> None:
    rule = [Evaluation(params={"x": k % 16, "y": k // 16}, status="run" if k % 16 > 11 or k // 16 == 3 else "ok",
                       value=None if k % 16 > 11 or k // 16 == 3 else 1.0, unit="ms") for k in range(160)]  # fmt: skip
    told = ANSWERS["panel"](Explorer(log_of(rule)), {"name": "failure_rule"})()
    assert [(row[0], row[1]) for row in told["rows"]] == [("1", "x ≥ 12"), ("2", "y = 3"), ("all", "one of them")]


def test_ticks_of_long_names_begin_where_they_differ() -> None:
    logs = [f"convolution_milo-{device}.json.gz" for device in ("A100", "A4000")]
    assert [text for _, text in of_ordinals(logs).ticks] == ["…A100.json.gz", "…A4000.json.gz"]
    for labels in (["a", "ab"], ["dense_nopack.x86", "conv2d_nchw.cuda"], ["one long name"], []):
        assert [text for _, text in of_ordinals(labels).ticks] == labels


@pytest.mark.parametrize("name", ["failures", "importance", "winners", "distribution"])
def test_a_figure_has_its_notes_but_for_the_sentence_that_the_panel_has(name: str) -> None:
    log = open_log(DATA / "kernel-tuner" / "mm96-cpu-v1.5.0.json")
    whole = getattr(analysis, f"{name}_figure")(log, theme="light").layout.annotations
    shown = drawing(Explorer(log), {"name": name})().layout.annotations
    assert [note.to_plotly_json() for note in shown] == [n.to_plotly_json() for n in whole if n.yshift != 30]
    assert len(shown) == len(whole) - 1
