"""What each step is worth: which schedules are measured is told by hand, and what the table says by made-up times."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench import Schedule, Target, workloads
from workbench.errors import UsageError
from workbench.logs.replays.explaining import explain, explain_figure, worth
from workbench.logs.replays.explaining.variations import without
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement

TARGET = Target("llvm")


def tiled():
    s = Schedule(workloads.matmul(32, 32, 32), TARGET)
    s.split("i", [8, 4])
    s.split("j", [4, 8])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1")
    s.parallel("i.0", "j.0")
    s.vectorize("j.1")
    return s


def run(schedule):
    a, b = (np.random.default_rng(3).uniform(-1, 1, (32, 32)).astype(np.float32) for _ in range(2))
    np.testing.assert_allclose(schedule.build()(a, b), a @ b, rtol=1e-4, atol=1e-5)


def test_a_loop_that_is_not_split_stands_for_its_outer_part():
    s = tiled()
    found = without(s.base, s.trace, {1}, TARGET)
    assert [p.name for p in found.schedule.trace] == ["split", "reorder", "parallel"]
    assert found.schedule.trace[1].loops == ("i.0", "j", "k", "i.1")
    assert found.schedule.trace[2].loops == ("i.0", "j")
    assert list(found.gone) == [4], "j.1 is not there to be a vector"
    assert found.changed == (2, 3)
    run(found.schedule)


def test_loops_that_are_not_fused_are_marked_one_by_one():
    s = Schedule(workloads.matmul(32, 32, 32), TARGET)
    s.fuse("i", "j")
    s.parallel("i.j")
    found = without(s.base, s.trace, {0}, TARGET)
    assert found.schedule.trace[0].loops == ("i", "j")
    assert not found.gone


def test_a_block_that_is_not_placed_keeps_its_cuts():
    s = Schedule(workloads.matmul(32, 32, 32), TARGET)
    s.cache_write("C")
    copy = next(b.name for b in s.blocks if b.name != "C")
    loops = [lp.name for lp in s.loops]
    rows = s.split(loops[3], [4, 8])
    placed = s.compute_at("C", rows[0])
    s.split(placed[0], [4, 2])
    found = without(s.base, s.trace, {2}, TARGET)
    assert not found.gone
    assert found.schedule.trace[-1].factors == (None, 2), "the loop is longer there"
    assert copy in found.schedule.nest()
    run(found.schedule)


@pytest.fixture
def clock(monkeypatch):
    """Contests that take so many milliseconds for each loop that is not marked, ten rounds."""

    def contest(funcs, original, target, **rules):
        times = [1.0 + sum(line.count("for ") for line in str(f).splitlines()) for f in funcs]
        found = [Measurement(status="ok", costs_ms=tuple(t * (1 + 0.001 * r) for r in range(10))) for t in times]
        asked.append(len(funcs))
        return Contest(measurements=tuple(found))

    asked = []
    monkeypatch.setattr(worth, "contest", contest)
    return SimpleNamespace(asked=asked)


def test_the_table(clock):
    frame = explain(tiled())
    prefixes, left_out = (frame[frame["kind"] == kind].set_index("unit") for kind in ("prefix", "without"))
    assert list(prefixes.index) == [-1, 0, 1, 2, 3, 4]
    assert list(left_out.index) == [0, 1, 2, 3, 4]
    # Serial loops: 3, 4, 5, 5, 3, 2, and one millisecond for the rest.
    assert list(prefixes["ms"].round(1)) == [4.0, 5.0, 6.0, 6.0, 4.0, 3.0]
    assert prefixes["worth"].iloc[1:].tolist() == pytest.approx([4 / 5, 5 / 6, 1, 6 / 4, 4 / 3])
    assert left_out.loc[3, "worth"] == pytest.approx(5 / 3)
    assert left_out.loc[1, "also"] == "vectorize('j.1')"
    assert bool(left_out.loc[3, "told"])
    assert frame.attrs["shortest_prefix"] == 4
    assert "5 of 5 steps give 90% of the speed" in frame.attrs["finding"]
    assert max(clock.asked) <= 1 + worth.TOGETHER


def test_a_step_that_costs_time_is_told(clock):
    """A split whose parts stay together is a loop more, which takes a millisecond of the made-up clock."""
    s = Schedule(workloads.matmul(32, 32, 32), TARGET)
    s.split("i", [8, 4])
    s.parallel("i.0")
    assert "'split('i', [8, 4])' costs time: without it" in explain(s).attrs["finding"]


def test_disturbed_times_are_told_as_such(clock, monkeypatch):
    plain = worth.contest

    def disturbed(funcs, original, target, **rules):
        found = plain(funcs, original, target, **rules)
        return Contest(measurements=tuple(replace(m, why_not="busy") for m in found.measurements))

    monkeypatch.setattr(worth, "contest", disturbed)
    finding = explain(tiled()).attrs["finding"]
    assert "times as long" not in finding
    assert "no step that is left out changes the time for certain" in finding
    assert "other programs disturbed 11 of 11 times" in finding


def test_the_figure(clock):
    frame = explain(tiled())
    frame["words"] = "<script>alert(1)</script>"
    figure = explain_figure(frame)
    assert len(figure.data) == 2
    assert "<script" not in figure.to_json()


def test_what_has_no_steps_is_refused():
    for what in (3, Schedule(workloads.matmul(8, 8, 8)), wb.logs.Replay(record=0, reason="it does not")):
        with pytest.raises(UsageError):
            explain(what)
    s = Schedule(workloads.matmul(8, 8, 8))
    s.split("i", [None, wb.Hole()])
    with pytest.raises(UsageError) as caught:
        explain(s)
    assert caught.value.code == "explain.schedule"


def test_real_times():
    s = Schedule(workloads.matmul(32, 32, 32), Target("llvm -threads=1"))
    s.reorder("i", "k", "j")
    s.vectorize("j")
    frame = explain(s, budget_ms=20.0, most_ms=40.0, least=4)
    assert (frame["status"] == "ok").all()
    assert (frame["ms"] > 0).all()


def test_a_record_of_our_own_log(tmp_path):
    func = workloads.matmul(16, 16, 16)
    path = tmp_path / "own.jsonl"
    with wb.tune(func, trials=3, target=TARGET, log=path) as session:
        assert session.wait(60)
    log = wb.logs.open(path)
    for record, expected in enumerate(session.records):
        found = wb.logs.replay(log, record, task=func)
        assert found.ok, found.reason
        assert found.schedule.to_json() == list(expected.trace)
        assert [str(step) for p in found.steps for step in p.ours] == [str(step) for step in found.schedule.trace]
    assert "by a key only" in wb.logs.replay(log, 0).reason
    assert "another key" in wb.logs.replay(log, 0, task=workloads.matmul(8, 8, 8)).reason
    assert wb.logs.replay(log, 0, task=[wb.Task.of_func(func)]).ok
