"""What was disturbed while it was measured is shown as such: no spread, no verdict, never the best."""

from __future__ import annotations

import json

import pytest
from session.conftest import matmul, split
from waiting import until

from workbench.log import Record
from workbench.log.record import outcome
from workbench.log.replay import measurement_of
from workbench.markup import row_time
from workbench.runtime.results.measurement import Measurement
from workbench.safe_text import python_literal
from workbench.session.state.results import Result
from workbench.session.variants.saved_file import load, save
from workbench.session.variants.table import variants
from workbench.tune.display.terminal_table import render_table
from workbench.tune.state.events import Progress, Snapshot, TaskRow
from workbench.widgets.export import export
from workbench.widgets.static_view import saved_slices, static_html, static_text

WHY = "the second of 2 threads had 55 % of a core"


def disturbed(*costs, least=0.137):
    return Measurement(status="ok", costs_ms=costs, why_not=WHY, at_least_ms=least, flops=1000, disturbed=len(costs))


def took(ms):
    return Measurement(status="ok", costs_ms=(ms * 0.999, ms, ms * 1.001), flops=1000)


@pytest.fixture
def shown(session, fake):
    """A session whose first step took 0.3 ms, and whose second one was disturbed: at least 0.137, seen 0.248 ms."""
    s = session(auto_measure=True)
    fake.result = Result.of(took(0.3))
    s.run("apply", step=split("j", None, 16))
    until(lambda: row(s, 1)["status"] == "ok")
    fake.result = Result.of(disturbed(0.248, 0.26, 0.3))
    s.run("apply", step=split("i", None, 16))
    until(lambda: row(s, 2)["status"] == "ok")
    return s


def row(s, k):
    return s.snapshot().slices["history"]["rows"][k]


def test_it_has_bounds_and_a_reason_and_nothing_that_looks_sure(shown):
    head = shown.snapshot().slices["head"]
    for one in (row(shown, 2), head):
        assert one["doubt"] == {"ms": "≥\u202f0.137", "at_least": 0.137, "text": WHY}
        assert one["spread"] is None
        assert one["gflops"] is None
        assert row_time(one) == "≥\u202f0.137\u202fms"
    assert head["peak_share"] is None
    assert row(shown, 1)["doubt"] is None


def test_there_is_no_verdict_where_the_bounds_overlap(shown, fake):
    fake.result = Result.of(disturbed(0.31, 0.4))
    shown.run("branch", node=1)
    shown.run("apply", step=split("k", None, 16))
    until(lambda: row(shown, 3)["status"] == "ok")
    change = shown.snapshot().slices["history"]["change"]
    assert change["text"] == f"cannot tell from v1: {WHY}"
    assert "0.3 ms" in change["title"]


def test_there_is_a_verdict_where_the_bounds_settle_it(session, fake):
    s = session(auto_measure=True)
    fake.result = Result.of(disturbed(68.5, 70.0, least=8.56))
    s.run("apply", step=split("j", None, 16))
    until(lambda: row(s, 1)["status"] == "ok")
    fake.result = Result.of(took(0.13))
    s.run("apply", step=split("i", None, 16))
    until(lambda: row(s, 2)["status"] == "ok")
    text = s.snapshot().slices["history"]["change"]["text"]
    assert text.startswith("at least 65."), text
    assert text.endswith("× as fast as v1")
    fake.result = Result.of(disturbed(0.5, 0.6, least=0.4))
    s.run("apply", step=split("k", None, 16))
    until(lambda: row(s, 3)["status"] == "ok")
    text = s.snapshot().slices["history"]["change"]["text"]
    assert text.startswith("at least 3.0"), text
    assert text.split(",")[0].endswith("× slower than v2")


def test_it_is_not_the_fastest_variant(shown, fake):
    fake.result = Result.of(took(0.31))
    shown.run("apply", step=split("k", None, 16))
    until(lambda: row(shown, 3)["status"] == "ok")
    assert shown.snapshot().slices["history"]["best"] == 1, "v2 was seen at 0.248 ms"


def test_a_page_a_table_and_a_line_of_text_say_so(shown):
    text = static_text(shown.snapshot().slices)
    assert f"≥\u202f0.137\u202fms ({WHY})" in text
    html = static_html(saved_slices(shown))
    assert html.count(WHY) == 2, "beside the task and in the table of variants"
    table = variants(shown.state)
    assert f"({WHY})" in repr(table)
    assert "timed once" not in table._repr_html_()
    assert "≥\u202f0.137\u202fms" in table._repr_html_()
    svg = export(shown, "svg", None, {"panel": "variants"})
    assert "≥\u202f0.137\u202fms" in svg
    assert "0.248" not in svg


def test_the_script_knows_that_its_number_was_disturbed(shown):
    text = export(shown, "script", None, {})
    assert f"# Measured there: at least 0.137 ms, 0.248 ms seen ({WHY})." in text
    assert f"s.reproduce(0.248, spread=None, disturbed={python_literal(WHY)}, " in text


def test_it_stays_so_with_the_variants_and_in_the_log(shown, session, tmp_path):
    path = str(tmp_path / "kept.json")
    shown.run(lambda: save(shown.state, path))
    other = session()
    other.run(lambda: load(other.state, path))
    assert row(other, 2)["doubt"] == {"ms": "≥\u202f0.137", "at_least": 0.137, "text": WHY}
    line = Record(task_key="t", task="t", trial=0, target="llvm", **outcome(disturbed(0.248)))
    again = Record.from_json(json.loads(json.dumps(line.to_json())))
    assert Result.of_record(again).doubt() == {"ms": "≥\u202f0.137", "at_least": 0.137, "text": WHY}
    assert measurement_of(again).at_least_ms == 0.137


def test_the_best_of_a_task_is_marked_where_every_time_was_disturbed(session, fake):
    s = session([matmul(64), matmul(128)], auto_measure=True)
    fake.result = Result.of(disturbed(2.48e-4))
    s.run("apply", step=split("j", None, 16))
    until(lambda: row(s, 1)["status"] == "ok")
    at = s.state.index
    best = s.snapshot().slices["tasks"]["rows"][at]
    assert (best["ms"], best["sure"], best["spread"], best["gflops"]) == (2.48e-4, "disturbed", None, None)
    assert s.snapshot().slices["head"]["best_sure"] == "disturbed"
    assert "≤ 0.000248\u202fms (disturbed)" in static_html(saved_slices(s))
    fake.result = Result.of(took(3e-4))
    s.run("measure")
    until(lambda: s.snapshot().slices["tasks"]["rows"][at]["sure"] == "once")
    assert s.snapshot().slices["tasks"]["rows"][at]["ms"] == 3e-4, "the other was at most as long as it seemed"
    assert "(disturbed)" not in static_html(saved_slices(s))


def test_what_an_earlier_session_saw_disturbed_is_told_as_a_bound(shown, session, tmp_path):
    path = str(tmp_path / "kept.json")
    shown.run(lambda: save(shown.state, path))
    other = session()
    other.run(lambda: load(other.state, path))
    head = other.snapshot().slices["head"]
    assert (head["best_ms"], head["best_sure"]) == (0.248, "disturbed"), "it takes no longer, another 0.3"


def test_the_table_in_a_terminal_marks_it():
    row = TaskRow(
        0, "k", "matmul", 1, 0.248, 1.0, 4, 0, 0.5, "tuning", "", spread=0.02, confidence=0.9, sure="disturbed"
    )
    snapshot = Snapshot("running", (row,), Progress(4, None, 1.0, None, 0.0, 4.0), 0.248, 0.5, 0)
    line = render_table(snapshot, 120)[2]
    assert "<= 0.2480" in line
    assert line.endswith("tuning (disturbed)")


def test_of_an_older_line_only_the_upper_bound_is_known():
    line = Record(task_key="t", task="t", trial=0, target="llvm", status="ok", latency_ms=0.248, clean=False)
    found = Result.of_record(line)
    assert found.doubt()["text"]
    assert row_time({"ms": found.ms, "doubt": found.doubt()}) == "≤\u202f0.248\u202fms"
