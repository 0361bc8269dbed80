"""Every exercise, as a student may leave it: not attempted, wrong, half done, right; and what it says then."""

from __future__ import annotations

import dataclasses
from time import perf_counter

import numpy as np
import pytest

import workbench as wb
from workbench import labs
from workbench.errors import UsageError
from workbench.labs.catalog.tiling import LEVELS, TILE, TRAFFIC
from workbench.labs.counting import count
from workbench.runtime.machine.blas_threads import quiet

EXERCISES = (TRAFFIC, TILE, LEVELS)
AVX2 = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", threads=1)
AVX512 = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512", threads=1)

names = pytest.mark.parametrize("name", [e.name for e in EXERCISES])


@pytest.fixture
def lab(no_clock):
    return labs.open("tiling")


@names
def test_untouched_is_reported_as_not_attempted(lab, name):
    found = getattr(lab, name).check()
    assert found.state == "not attempted"
    assert not found
    assert all(f.good is None for f in found.findings)
    assert f"{name} (" in str(lab.report())
    assert "not attempted" in str(lab.report())


@names
def test_the_solution_solves(lab, name):
    attempt = getattr(lab, name)
    attempt.schedule.split("i", [None, 2])  # something else tried before
    attempt.solution().apply()
    found = attempt.check()
    assert found.solved, found
    assert any(note.startswith("Measured on this machine: ") for note in found.notes)


@names
def test_predicting_alone_is_not_enough(lab, name):
    attempt = getattr(lab, name)
    attempt.predict(**attempt.solution().answers)
    found = attempt.check()
    assert found.state == "not yet"
    assert [f.good for f in found.findings].count(True) == len(attempt.exercise.predictions)


@names
def test_doing_alone_is_not_enough(lab, name):
    attempt = getattr(lab, name)
    attempt.exercise.work.solve(attempt.schedule, attempt.setting)
    found = attempt.check()
    assert found.state == "not yet"
    assert "you have not said yet" in str(found)


WRONG = [
    ("traffic", {"naive": 7.0}, "7 MiB is too small"),
    ("traffic", {"tiled": "3 GB"}, "3 GB is too large"),
    ("traffic", {"naive": 4 * 512**3}, "In B the number would be right."),
    ("tile", {"size": 3}, "is too small. Three tiles of T times T numbers"),
    ("levels", {"size": 100}, "is too large. Three tiles of T times T numbers"),
]


@pytest.mark.parametrize(("name", "answer", "told"), WRONG)
def test_a_wrong_prediction_is_told_with_a_reason_but_not_the_answer(lab, name, answer, told):
    attempt = getattr(lab, name)
    (key,) = answer
    right = str(attempt.solution().answers[key])
    found = attempt.predict(**answer).check()
    assert found.state == "not yet"
    (line,) = [f.text for f in found.findings if f.good is False]
    assert told in line
    assert f" {right.removesuffix('.0')} " not in line.partition(" is ")[2]


def tile(rows, columns, unroll=True):
    def steps(s):
        i0, i1 = s.split("i", [None, rows])
        j0, j1 = s.split("j", [None, columns])
        s.reorder(i0, j0, "k", i1, j1)
        s.vectorize(j1)
        if unroll:
            s.unroll(i1)

    return steps


def rows_of_four(s):
    _, i1 = s.split("i", [None, 4])
    s.reorder("i.0", "j", "k", i1)
    s.unroll(i1)


def half_vectors(s):
    _, j1 = s.split("j", [None, s.target.lanes("float32") // 2])
    s.reorder("i", "j.0", "k", j1)
    s.vectorize(j1)


def rows_as_lanes(s):
    _, i1 = s.split("i", [None, s.target.lanes("float32")])
    s.reorder("i.0", "j", "k", i1)
    s.vectorize(i1)


LANES_HERE = wb.Target.host().lanes("float32")
REGISTERS_HERE = wb.Target.host().vector_registers

WRONG_NESTS = [
    ("tiling.traffic", lambda s: s.reorder("i", "k", "j"), "512 MiB from B, 100 % of what the nest as written loads"),
    ("tiling.traffic", rows_of_four, "128 MiB from B"),
    ("tiling.tile", lambda s: s.vectorize("j"), "189,216 accesses miss L1; it has to be at most 29,859"),
    ("tiling.tile", tile(48, 48, unroll=False), "accesses miss L1; it has to be"),
    ("registers.product", lambda s: s.reorder("i", "k", "j"), "No loop is vectorised yet"),
    ("registers.product", half_vectors, "not a multiple"),
    ("registers.product", rows_as_lanes, "512 elements apart in"),
    ("registers.product", lambda s: s.reorder("i", "k", "j"), "No tile of C stays in vector registers"),
    ("registers.product", tile(8, 2 * LANES_HERE, unroll=False), "No tile of C stays in vector registers"),
    ("registers.product", tile(2, 2 * LANES_HERE), f"at least {REGISTERS_HERE // 2} are needed"),
    ("registers.product", tile(REGISTERS_HERE // 2, 2 * LANES_HERE), "stored and loaded again at every step"),
    ("registers.product", tile(REGISTERS_HERE // 2, LANES_HERE), "squarer tiles have more"),
]


@pytest.mark.parametrize(("name", "steps", "told"), WRONG_NESTS)
def test_a_nest_that_misses_the_goal_is_told_what_is_missing(name, steps, told, no_clock):
    lab, _, name = name.partition(".")
    attempt = getattr(labs.open(lab), name)
    attempt.predict(**attempt.solution().answers)
    steps(attempt.schedule)
    found = attempt.check()
    assert found.state == "not yet"
    assert told in "\n".join(f.text for f in found.findings if f.good is False)


def test_an_open_number_is_told(lab):
    lab.traffic.schedule.split("i", [None, wb.Hole("rows")])
    assert "rows is still open" in str(lab.traffic.check())


def test_a_wrong_result_is_no_solution(lab, monkeypatch):
    attempt = lab.traffic.solution().apply()
    bad = wb.Measurement(status="wrong_answer", error="a long text\nThe results differ at [0, 1]")
    monkeypatch.setattr(wb.Schedule, "measure", lambda self: bad)
    found = attempt.check()
    assert found.state == "not yet"
    assert "The results differ at [0, 1]" in str(found)


def test_a_time_without_arithmetic_has_no_speed(monkeypatch):
    moves = labs.open("loops").transpose.solution().apply()
    done = wb.Measurement(status="ok", costs_ms=(2.0, 2.0))
    monkeypatch.setattr(wb.Schedule, "measure", lambda self: done)
    assert "Measured on this machine: 2 ms (not" in str(moves.check())
    monkeypatch.setattr(wb.Schedule, "measure", lambda self: dataclasses.replace(done, flops=4_000_000))
    assert "Measured on this machine: 2 ms, 2 GFLOP/s (not" in str(moves.check())


def test_a_schedule_of_ones_own(lab):
    own = wb.Schedule(wb.workloads.matmul(512, 512, 512), lab.target)
    TRAFFIC.work.solve(own, lab.traffic.setting)
    lab.traffic.predict(naive=512, tiled=64.2)
    assert lab.traffic.check(own).solved
    with pytest.raises(UsageError, match="another function") as caught:
        lab.traffic.check(wb.Schedule(wb.workloads.matmul(8, 8, 8)))
    assert caught.value.code == "lab.schedule"
    with pytest.raises(UsageError, match="Schedule"):
        lab.traffic.check("no schedule")


@names
def test_hints_come_one_after_the_other_and_end(lab, name):
    attempt = getattr(lab, name)
    shown = [repr(attempt.hint()) for _ in attempt.exercise.hints]
    assert len(set(shown)) == len(shown) >= 3
    assert repr(attempt.hint()) == shown[-1]
    assert repr(attempt.hint(1)) == shown[0]
    with pytest.raises(UsageError) as caught:
        attempt.hint(99)
    assert caught.value.code == "lab.hint"


@pytest.mark.parametrize(
    "answers",
    [{"nave": 3}, {"naive": "many"}, {"naive": float("nan")}, {"naive": True}, {"naive": "3 s"}, {"naive": "1" * 300}],
)
def test_predictions_of_the_wrong_kind(lab, answers):
    with pytest.raises(UsageError) as caught:
        lab.traffic.predict(**answers)
    assert (caught.value.code, caught.value.where) == ("lab.prediction", tuple(answers))
    with pytest.raises(UsageError):
        lab.traffic.predict(**answers, tiled=64)
    assert "you said: tiled = 64 MiB>" in repr(lab.traffic), "the others are kept"


def test_none_leaves_a_prediction_and_reset_takes_the_steps_back(lab):
    assert lab.traffic.predict(naive=3).check().state == "not yet"
    untouched = lab.traffic.predict(naive=None, tiled=None)
    assert "naive = 3 MiB" in repr(untouched)
    assert lab.traffic.check().state == "not yet"
    schedule = lab.traffic.solution().apply().schedule
    assert lab.traffic.reset().check().state == "not yet"  # the predictions are still there
    assert lab.traffic.schedule is schedule  # a widget may be showing it
    assert schedule.trace == ()


@pytest.mark.parametrize("target", [AVX2, AVX512], ids=["avx2", "avx512"])
@names
def test_texts_and_solution_fit_other_machines(name, target):
    """Goals are counted, so they can be checked for a machine that is not this one."""
    attempt = getattr(labs.open("tiling", target), name)
    assert "{" not in repr(attempt.show())
    attempt.solution().apply()
    for goal in attempt.exercise.goals:
        good, text = goal.reached(attempt.schedule, attempt.setting)
        assert good, text


@names
def test_html_is_escaped_and_plain(lab, name):
    attempt = getattr(lab, name)
    for shown in (attempt.show(), attempt.check(), attempt.hint(), attempt.solution(), lab, lab.report()):
        text = shown._repr_html_()
        assert "<script" not in text
        assert "class=" not in text


def test_text_form_says_what_was_said(lab):
    assert "nothing yet" in repr(lab.traffic)
    said = lab.traffic.predict(naive=3)
    assert "naive = 3 MiB" in repr(said)
    page = said._repr_html_()
    assert "3 MiB" in page
    assert "open" in page  # what was not answered yet
    assert "Then reach" not in page, "the exercise is not shown again"


def test_there_is_no_such_exercise(lab):
    with pytest.raises(AttributeError, match="traffic"):
        lab.trafic  # noqa: B018


# ------------------------------------------------------------------------------------------------------- the counters


def counted(steps):
    s = wb.Schedule(wb.workloads.matmul(512, 512, 512), AVX512)
    steps(s)
    return count(s.func, 16)


def test_counts_of_a_register_tile():
    found = counted(tile(8, 32))
    assert (found.accumulators, found.rows, found.vectors) == (16, 8, 2)
    # Every element of B once per block of 8 rows, every element of A once per block of 32 columns.
    assert dict(found.loaded) == {"A": 512 * 512 * 4 * 16, "B": 512 * 512 * 4 * 64}
    assert (found.vectorized, found.lanes, found.strides) == ("j", 32, {"A": 0, "B": 1, "C": 1})


def test_a_real_loop_does_not_share_loads_but_an_unrolled_one_does():
    def order(unroll):
        def steps(s):
            s.split("i", [None, 8])
            s.reorder("i.0", "j", "i.1", "k")
            if unroll:
                s.reorder("i.0", "j", "k", "i.1").unroll("i.1")

        return steps

    assert counted(order(False)).loaded["B"] == 512**3 * 4
    assert counted(order(True)).loaded["B"] == 512**3 * 4 // 8


def test_steps_put_measurements_beside_counts():
    steps = labs.Steps()
    for name, steps_of in (("written", lambda s: None), ("tile", tile(2, 32)), ("tile", tile(8, 32))):
        s = wb.Schedule(wb.workloads.matmul(64, 64, 64), AVX512 if LANES_HERE == 16 else AVX2)
        steps_of(s)
        shown = steps.add(name, s)
    frame = shown.frame()
    assert list(frame["step"]) == ["written", "tile"]  # a name that comes again is measured anew
    assert (frame["ms"] > 0).all()
    assert list(frame["loaded"]) == [2 * 64**3 * 4, 64**3 * 4 // 8 + 64**3 * 4 // 32]
    assert frame["moved"][0] > frame["moved"][1]
    assert "8 × " in repr(shown)
    assert "<script" not in shown._repr_html_()


def test_a_fused_loop_steps_unevenly():
    def steps(s):
        s.split("i", [None, 2])
        s.split("j", [None, 8])
        s.reorder("i.0", "j.0", "k", "i.1", "j.1")
        s.vectorize(s.fuse("i.1", "j.1"))

    assert counted(steps).strides["C"] == 512 - 7


@pytest.mark.parametrize("part", ["hints", "goals"])
def test_an_exercise_without_help_or_aim_cannot_be_declared(part):
    with pytest.raises(UsageError) as caught:
        dataclasses.replace(TRAFFIC, **{part: ()})
    assert caught.value.code == "lab.exercise"


def test_what_a_function_raises_is_told_with_its_reason_and_hint():
    def raises(*args):
        raise UsageError("usage.type", "It takes no holes.", (), "give numbers")

    templates = labs.open("templates")
    text = repr(templates.limits.check(raises))
    assert "Your function raised UsageError: It takes no holes (give numbers)" in text
    assert "Your function raised NameError" in repr(templates.limits.check(lambda cfg, s: unknown))  # noqa: F821


@pytest.mark.bench
def test_a_product_by_hand_is_near_the_library():
    """Lab 4's solution at 512, in turns with NumPy's product, one thread each: at least 70 % of it, by the median."""
    product = labs.open("registers").product
    schedule, n = product.solution().work, product.setting["n"]
    a, b = np.random.default_rng(0).random((2, n, n), dtype="float32")
    mine, out, ratios = schedule.build(threads=1).prepare(a, b), np.empty_like(a), []
    with quiet():
        for _ in range(200):
            times = [perf_counter()]
            mine()
            times.append(perf_counter())
            np.matmul(a, b, out=out)
            times.append(perf_counter())
            ratios.append((times[2] - times[1]) / (times[1] - times[0]))
    assert n == 512
    assert np.median(ratios) >= 0.7
