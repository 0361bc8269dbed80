"""Steps left out, variants in a table, variants on simulated caches: what is measured, refused and cancelled."""

from __future__ import annotations

import gzip
import re
import threading
from base64 import b64decode
from dataclasses import replace

import pytest
from session.conftest import Mirror
from waiting import until

import workbench as wb
import workbench.analysis.code_figures as figures
from workbench import Schedule, Target, Task, workloads
from workbench import markup as m
from workbench.advice import leave_one_out as advised
from workbench.analysis import cache_view
from workbench.analysis.code_figures import code_figures
from workbench.analysis.loop_nest.code_listing import listing
from workbench.analysis.loop_nest.machine_loops import innermost
from workbench.errors import InputError, ScheduleError, UsageError
from workbench.runtime import schedule_methods
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.session.panels.comparison import _table, _timed
from workbench.space.default_schedule import default_schedule
from workbench.widgets.static_view import static_html


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Whatever else runs has no part of the cores."""
    monkeypatch.setattr(schedule_methods.LoadWatch, "look", lambda self: None)


def tiled(session):
    """A session of a product with three steps."""
    s = session(Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1)))
    s.schedule.split("j", [None, 16])
    s.schedule.reorder("i", "j.0", "k", "j.1")
    s.schedule.vectorize("j.1")
    s.run(lambda: None)
    return s


def finished(s, name):
    until(lambda: not s.snapshot().slices[name]["step"])
    found = s.snapshot().slices[name]
    assert found["error"] is None, found["error"]
    return found


def ask(s, **args):
    done, found = threading.Event(), []
    s.ask("cache", args, lambda message: (found.append(message), done.set()))
    assert done.wait(100)
    return found[0]


def test_each_step_is_left_out(session):
    s = tiled(session)
    mirror = Mirror(s)
    assert s.snapshot().slices["leave_one_out"]["rows"] == []
    s.run("measure_steps")
    with pytest.raises(UsageError) as told:
        s.run("measure_steps")
    assert told.value.code == "session.busy"
    found = finished(s, "leave_one_out")
    assert found["node"] == 3
    assert [row["ratio"] is None for row in found["rows"]] == [True, True, False]
    assert found["rows"][0]["why_not"].startswith("step 1")
    assert found["rows"][2]["ratio"] > 1.5  # one number at a time takes longer
    assert s.flush(100)
    assert mirror.agrees(s)
    page = static_html(s.snapshot().slices, "leave_one_out")
    assert "vectorize" in page
    row = found["rows"][2]
    assert row["ms"] / row["whole_ms"] == pytest.approx(row["ratio"], rel=0.5)
    for ms in (row["ms"], row["whole_ms"]):
        assert m.milliseconds(ms) in page, "both times are there, not the ratio alone"
    s.run("undo")
    assert s.snapshot().slices["leave_one_out"]["node"] == 3  # it says which variant it was
    s.run("goto", step=0)
    with pytest.raises(UsageError) as told:
        s.run("measure_steps")
    assert told.value.code == "advice.no_steps"


def test_a_step_left_out_is_a_comparison_with_the_variant_that_is_without_it(session, monkeypatch):
    steady = lambda ms: tuple(ms * (1.0 + 0.001 * (k % 3)) for k in range(12))  # noqa: E731
    played = Contest(measurements=tuple(Measurement(status="ok", costs_ms=steady(ms)) for ms in (1.0, 1.2)))
    monkeypatch.setattr(schedule_methods, "contest", lambda *args, **options: played)
    s = tiled(session)
    s.run("measure_steps")
    row = finished(s, "leave_one_out")["rows"][2]
    assert row["text"].startswith("the whole is 1.20× as fast")
    (met,) = s.snapshot().slices["history"]["contests"]
    assert (met["a"], met["b"], met["ratio"]) == (3, 2, 1.2)
    s.run("contest", a=2, b=3)  # the same two the other way round, and the other one is as much faster now
    until(lambda: s.flush(100) and s.snapshot().slices["history"]["contests"][0]["state"] == "")
    row = finished(s, "leave_one_out")["rows"][2]
    assert row["text"].startswith("cannot tell the whole from it without step 2: two comparisons disagree"), row


def test_the_table_says_what_all_comparisons_of_two_variants_have_found(session, monkeypatch):
    steady = lambda ms: tuple(ms * (1.0 + 0.001 * (k % 3)) for k in range(12))  # noqa: E731
    played = Contest(measurements=tuple(Measurement(status="ok", costs_ms=steady(ms)) for ms in (1.2, 1.0)))
    monkeypatch.setattr(schedule_methods, "contest", lambda *args, **options: played)
    s = tiled(session)
    s.run("compare_variants", nodes=[2, 3])
    rows = finished(s, "comparison")["rows"]
    assert [row["text"] for row in rows] == ["v3 is 1.20× as fast (between 1.20 and 1.20) as v2, sure", "the fastest"]
    s.run("contest", a=3, b=2)
    until(lambda: s.flush(100) and s.snapshot().slices["history"]["contests"][0]["state"] == "")
    rows = finished(s, "comparison")["rows"]
    told = {row["id"]: row["text"] for row in rows}
    (best,) = [id for id, text in told.items() if text == f"cannot tell from v{5 - id}"]
    assert "two comparisons disagree" in told[5 - best]
    assert all(row["ratio"] == pytest.approx(1.0, abs=0.01) for row in rows), "of both, as the words are"
    assert {row["known"] for row in rows} == {""}


def test_each_task_keeps_its_table_while_others_are_compared(session, monkeypatch):
    steady = lambda ms: tuple(ms * (1.0 + 0.001 * (k % 3)) for k in range(12))  # noqa: E731
    played = Contest(measurements=tuple(Measurement(status="ok", costs_ms=steady(ms)) for ms in (1.2, 1.0)))
    monkeypatch.setattr(schedule_methods, "contest", lambda *args, **options: played)
    s = session([Task.of_func(workloads.matmul(n, 64, 64), Target.host(threads=1)) for n in (64, 32)])
    for task, loop in ((0, "i"), (1, "j")):
        s.run("open_task", task=task)
        assert finished(s, "comparison")["rows"] == [], "nothing of another task"
        s.schedule.split(loop, [None, 8])
        s.run("compare_variants", nodes=[0, 1])
        assert len(finished(s, "comparison")["rows"]) == 2
    for task in (0, 1, 0):
        s.run("open_task", task=task)
        assert [row["id"] for row in finished(s, "comparison")["rows"]] == [0, 1]


def test_it_ends_between_two_steps(session, monkeypatch):
    gate, begun, reached = threading.Event(), threading.Event(), []

    def slow(schedule, target, *, progress, **options):
        for k in range(3):
            progress(f"Step {k}", k + 1, 3)
            reached.append(k)
            begun.set()
            assert gate.wait(100)

    monkeypatch.setattr("workbench.advice.leave_one_out", slow)
    assert advised is not slow
    s = tiled(session)
    s.run("cancel_steps")  # of nothing
    s.run("measure_steps")
    assert begun.wait(100)
    until(lambda: s.snapshot().slices["leave_one_out"]["step"] == "Step 0")
    s.run("cancel_steps")
    assert "Cancelling" in s.snapshot().slices["leave_one_out"]["step"]
    gate.set()
    assert finished(s, "leave_one_out")["rows"] == []
    assert reached == [0]


def test_cancelled_in_its_last_step_it_leaves_what_was_found(session, monkeypatch):
    gate, begun = threading.Event(), threading.Event()
    s = tiled(session)
    s.run("compare_variants", nodes=[0, 3])
    before = finished(s, "comparison")["rows"]
    contest = schedule_methods.contest

    def slow(*args, **options):
        begun.set()
        assert gate.wait(100)
        return contest(*args, **options)

    monkeypatch.setattr(schedule_methods, "contest", slow)
    s.run("compare_variants", nodes=[1, 2])
    assert begun.wait(100)
    until(lambda: "in turns" in s.snapshot().slices["comparison"]["step"])
    s.run("cancel_comparison")
    gate.set()
    assert finished(s, "comparison")["rows"] == before


def test_what_waits_for_its_turn_is_cancelled_at_once(session, monkeypatch):
    gate, begun, reached = threading.Event(), threading.Event(), []

    def slow(schedule, target, *, progress, **options):
        reached.append(len(schedule.trace))
        return ()

    monkeypatch.setattr("workbench.advice.leave_one_out", slow)
    s = tiled(session)
    s.later("other", lambda: (begun.set(), gate.wait(100), None)[-1], "measure")
    assert begun.wait(100)
    s.run("measure_steps")
    assert s.snapshot().slices["leave_one_out"]["step"] == "Waiting for its turn"
    s.run("cancel_steps")
    assert s.snapshot().slices["leave_one_out"]["step"] == ""
    s.run("measure_steps", node=2)
    gate.set()
    assert finished(s, "leave_one_out")["node"] == 2
    assert reached == [2]


def test_cancelled_work_that_ends_late_is_not_taken_for_the_next_one(session, monkeypatch):
    s, gate, begun = tiled(session), threading.Event(), threading.Event()

    def slow(schedule, target, **options):  # cancelled before it has told of a step
        begun.set()
        assert gate.wait(100)
        return ()

    monkeypatch.setattr("workbench.advice.leave_one_out", slow)
    s.run("measure_steps", node=1)
    assert begun.wait(100)
    s.run("cancel_steps")
    s.run("measure_steps", node=2)
    gate.set()
    assert finished(s, "leave_one_out")["node"] == 2


def test_times_are_scaled_to_the_fastest_that_is_left(session):
    s = tiled(session)
    s.run("compare_variants")
    rows = finished(s, "comparison")["rows"]
    assert rows[3]["text"] == "the fastest"
    s.run("goto", step=0)
    s.run("forget", node=3)
    left = s.snapshot().slices["comparison"]["rows"]
    assert [row["id"] for row in left] == [0, 1, 2]
    assert min(row["ratio"] for row in left) == 1.0
    assert [row["text"] for row in left].count("the fastest") == 1
    assert not any("v3" in row["text"] for row in left)


def test_a_look_that_breaks_is_told_in_its_row(session, monkeypatch, caplog):
    def broken(func, target):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("workbench.session.panels.comparison.code_figures", broken)
    s = tiled(session)
    s.run("compare_variants", nodes=[0, 3])
    rows = finished(s, "comparison")["rows"]
    assert [row["note"] for row in rows] == ["ZeroDivisionError: by nothing"] * 2
    assert all(row["ms"] and row["misses"] and row["nbytes"] is None for row in rows)
    assert "Looking at a variant failed" in caplog.text


def test_any_number_of_variants_in_a_table(session):
    s = tiled(session)
    s.run("compare_variants")
    found = finished(s, "comparison")
    rows = found["rows"]
    assert [row["id"] for row in rows] == [0, 1, 2, 3]
    assert sum(row["ratio"] == 1.0 for row in rows) == 1
    assert rows[3]["ms"] < rows[0]["ms"]
    assert rows[0]["ratio"] > 1.5
    nodes = s.state.tree.nodes
    for row in rows:
        func, target = nodes[row["id"]].schedule.func, s.state.target
        counts = cache_view(nodes[row["id"]].schedule)
        assert row["misses"] == [counts.misses(level) for level in found["levels"]]
        figures = code_figures(func, target)
        assert (row["nbytes"], row["spills"]) == (figures.nbytes, figures.spills)
    s.run("compare_variants", nodes=[3, 1, 3])
    assert [row["id"] for row in finished(s, "comparison")["rows"]] == [3, 1]
    table = _table(s.snapshot().slices, ())
    assert {"ms", "L1_misses", "nbytes"} <= table[0].keys()
    assert "v3" in static_html(s.snapshot().slices, "comparison")


def test_what_cannot_be_compared(session):
    s = session(Schedule(workloads.matmul(16, 16, 16), Target.host(threads=1)))
    for nodes, code in ((None, "session.contest"), ([0], "session.contest"), ("all", "session.arguments")):
        with pytest.raises(UsageError) as told:
            s.run("compare_variants", nodes=nodes)
        assert told.value.code == code
    s.schedule.split("j", [None, wb.Hole("x", (2, 4))])
    s.run(lambda: None)
    for command, args in (("measure_steps", {}), ("compare_variants", {"nodes": [0, 1]})):
        with pytest.raises(ScheduleError) as told:
            s.run(command, **args)
        assert told.value.code == "schedule.open"


def test_a_kernel_that_needs_more_registers_than_there_are_spills():
    target = Target("llvm", cpu="haswell", triple="x86_64-unknown-linux-gnu")
    s = Schedule(workloads.matmul(64, 64, 64), target)
    _, i1 = s.split("i", [None, 8])
    _, j1 = s.split("j", [None, 32])
    s.reorder("i.0", "j.0", "k", i1, j1)
    s.unroll(i1).vectorize(j1)
    found = code_figures(s.func, target)
    assert found.spills > 16, "eight rows of four vectors are twice as many as there are registers"
    assert found.registers == 16
    assert found.spilled[0] == ("k", found.spills)


def test_what_is_put_aside_around_the_innermost_loop_is_no_spill_of_it():
    target = Target("llvm", cpu="haswell", triple="x86_64-unknown-linux-gnu", threads=2)
    s = Schedule(workloads.conv2d_nhwc(112, 112, 3, 32, stride=2, bias=True, relu=True), target)
    s.compute_inline("bias_add").compute_inline("pad")
    s.split("w", [None, 14, 2])
    s.reorder("n", "h", "w.0", "w.1", "kh", "kw", "c", "w.2", "o")
    s.reverse_compute_at("relu", "w.1")
    s.unroll("w.2").unroll("c").vectorize("o").unroll("relu_w").vectorize("relu_o").parallel("n", "h")
    around = [line.text for line in listing(s.func, "asm", target).lines if re.search(r"ymm.*\(%rsp\)", line.text)]
    assert around, "the code puts vectors aside somewhere"
    assert code_figures(s.func, target).spilled == ()


def test_addresses_on_the_stack_are_spills_of_their_own(monkeypatch):
    target = Target("llvm", cpu="haswell", triple="x86_64-unknown-linux-gnu")
    s = Schedule(workloads.matmul(64, 64, 64), target)
    real = figures.listing(s.func, "asm", target)
    (loop, *_) = innermost(real.lines)
    at = real.lines.index(loop.lines[1])
    more = [replace(real.lines[at], text=f"\tmovq\t-{8 * k}(%rsp), %rax") for k in (1, 2, 3)]
    reloading = replace(real, lines=type(real.lines)([*real.lines[:at], *more, *real.lines[at:]]))
    assert (code_figures(s.func, target).spills, code_figures(s.func, target).scalar_spills) == (0, 0)
    monkeypatch.setattr(figures, "listing", lambda *args: reloading)
    found = code_figures(s.func, target)
    assert (found.spills, found.scalar_spills) == (0, 3)


@pytest.mark.parametrize("kind", ["cpu-simt", "vta"])
def test_devices_have_no_machine_code_to_look_into(kind):
    s = default_schedule(workloads.matmul_int8(64, 64, 64, signed=True, constant_b=True, shift=7), Target(kind))
    with pytest.raises(InputError) as told:
        code_figures(s.func, s.target)
    assert told.value.code == "code.kind"


def test_wider_code_has_more_registers():
    target = Target("llvm", cpu="haswell", triple="x86_64-unknown-linux-gnu")
    s = Schedule(workloads.matmul(64, 64, 64), target)
    plain = code_figures(s.func, target)
    assert plain.spills == 0
    i, i1 = s.split("i", [None, 2])
    s.reorder(i, "k", i1, "j")
    s.vectorize("j")
    wide = code_figures(s.func, target)
    assert wide.instructions > plain.instructions
    assert wide.nbytes > plain.nbytes
    assert plain.registers < wide.registers <= 16
    other = Target("llvm", triple="aarch64-unknown-linux-gnu", cpu="cortex-a72")
    assert 0 < code_figures(s.func, other).registers <= 32


def test_variants_on_simulated_caches(session):
    s = tiled(session)
    found = ask(s, nodes=[0, 3])["value"]
    assert [film["name"] for film in found["films"]] == ["v0", "v3"]
    assert gzip.decompress(b64decode(found["pictures"]))
    single = ask(s, nodes=[0, 3], at=[10, 20])["value"]
    assert len(single["counts"]) == 2
    assert gzip.decompress(b64decode(single["pictures"]))
    assert [film["name"] for film in ask(s)["value"]["films"]] == ["v3"]
    for args, code in (({"nodes": []}, "session.arguments"), ({"nodes": [0], "at": [1, 2]}, "cache.at")):
        assert ask(s, **args)["error"]["code"] == code
    s.schedule.split("k", [None, wb.Hole("x", (2, 4))])
    s.run(lambda: None)
    assert ask(s)["error"]["code"] == "build.holes"


def test_a_contest_ends_at_once_when_it_is_not_to_go_on(session):
    s = tiled(session)
    asked = []

    def going_on():
        asked.append(None)
        return len(asked) < 3

    pair = [s.schedule.func, s.schedule.func]
    rules = {"budget_ms": 1e6, "resolution": 1e-6, "going_on": going_on}
    found = schedule_methods.contest(pair, s.schedule.base, s.state.target, **rules)
    assert (found.status, len(asked)) == ("cancelled", 3)
    assert schedule_methods.measure(pair[0], s.schedule.base, s.state.target).ok, "nobody else is cancelled"


def test_times_of_the_table_fit_its_ratios_and_nobody_is_the_fastest_of_equals():
    slow = (2.0, 2.0, 2.0, 9.0, 9.0, 9.0, 9.0, 9.0)  # the machine was slower in the later rounds
    uneven = (1.0, 1.0, 1.0, 3.0, 3.0, 1.5, 1.5, 1.5)
    again = (1.1, 0.9, 1.1, 2.8, 3.1, 1.6, 1.4, 1.5)
    measured = tuple(Measurement(status="ok", costs_ms=costs) for costs in (slow, uneven, again))
    rows = _timed(Contest(measurements=measured, names=("v0", "v1", "v2")), (0, 1, 2))
    (best,) = [i for i, row in rows.items() if row["ms"] == min(one["ms"] for one in rows.values())]
    for row in rows.values():
        assert row["ms"] / rows[best]["ms"] == pytest.approx(row["ratio"], rel=0.01)
    assert rows[best]["text"].startswith("cannot tell from v")
    assert "the fastest" not in {row["text"] for row in rows.values()}
