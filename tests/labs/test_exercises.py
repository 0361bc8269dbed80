"""Every exercise, as a student may leave it: not attempted, wrong, half done, right; and what it says then."""

from __future__ import annotations

import dataclasses

import pytest

import workbench as wb
from workbench import labs
from workbench.errors import UsageError
from workbench.labs.load_counts import count
from workbench.labs.tiling_lab import LANES, REGISTERS, TRAFFIC

EXERCISES = (TRAFFIC, LANES, REGISTERS)
AVX2 = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", threads=1)
AVX512 = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512", threads=1)

names = pytest.mark.parametrize("name", [e.name for e in EXERCISES])


@pytest.fixture
def lab():
    return labs.tiling()


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
    assert found.note.startswith("Measured on this machine: ")


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
    attempt.exercise.solve(attempt.schedule)
    found = attempt.check()
    assert found.state == "not yet"
    assert "you have not said yet" in str(found)


WRONG = [
    ("traffic", {"naive": 1.0}, "1 MB is too small"),
    ("traffic", {"tiled": 512}, "512 MB is too large"),
    ("lanes", {"loop": "k"}, "All steps of k add to the same element"),
    ("lanes", {"loop": "i"}, "a whole row away"),
    ("lanes", {"loop": "x"}, "one of the three loops"),
    ("lanes", {"lanes": 3}, "bits"),
    ("registers", {"rows": 100}, "too large. R rows of 2 vectors need"),
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
    ("traffic", lambda s: s.reorder("i", "k", "j"), "512 MB from B; it has to be at most 64 MB"),
    ("traffic", rows_of_four, "128 MB from B"),
    ("lanes", lambda s: s.reorder("i", "k", "j"), "No loop is vectorised yet"),
    ("lanes", half_vectors, "not a multiple"),
    ("lanes", rows_as_lanes, "512 elements apart in"),
    ("registers", lambda s: s.reorder("i", "k", "j"), "No tile of C stays in vector registers"),
    ("registers", tile(8, 2 * LANES_HERE, unroll=False), "No tile of C stays in vector registers"),
    ("registers", tile(2, 2 * LANES_HERE), f"at least {REGISTERS_HERE // 2} are needed"),
    ("registers", tile(REGISTERS_HERE // 2, 2 * LANES_HERE), "stored and loaded again at every step"),
    ("registers", tile(REGISTERS_HERE // 2, LANES_HERE), "squarer tiles have more"),
]


@pytest.mark.parametrize(("name", "steps", "told"), WRONG_NESTS)
def test_a_nest_that_misses_the_goal_is_told_what_is_missing(lab, name, steps, told):
    attempt = getattr(lab, name)
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


def test_a_schedule_of_ones_own(lab):
    own = wb.Schedule(wb.workloads.matmul(512, 512, 512), lab.target)
    TRAFFIC.solve(own)
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


@pytest.mark.parametrize("answers", [{"nave": 3}, {"naive": "many"}, {"naive": float("nan")}, {"naive": True}])
def test_predictions_of_the_wrong_kind(lab, answers):
    with pytest.raises(UsageError) as caught:
        lab.traffic.predict(**answers)
    assert caught.value.code == "lab.prediction"
    assert lab.traffic.check().state == "not attempted"


def test_none_takes_a_prediction_back_and_reset_the_steps(lab):
    assert lab.traffic.predict(naive=3).check().state == "not yet"
    assert lab.traffic.predict(naive=None).check().state == "not attempted"
    schedule = lab.traffic.solution().apply().schedule
    assert lab.traffic.reset().check().state == "not yet"  # the predictions are still there
    assert lab.traffic.schedule is schedule  # a widget may be showing it
    assert schedule.trace == ()


@pytest.mark.parametrize("target", [AVX2, AVX512], ids=["avx2", "avx512"])
@names
def test_texts_and_solution_fit_other_machines(name, target):
    """Goals are counted, so they can be checked for a machine that is not this one."""
    attempt = getattr(labs.tiling(target), name)
    assert "{" not in repr(attempt.show())
    attempt.solution().apply()
    for goal in attempt.exercise.goals:
        good, text = goal.reached(attempt.schedule.func, target)
        assert good, text


@names
def test_html_is_escaped_and_plain(lab, name):
    attempt = getattr(lab, name)
    attempt.predict(**{p.name: "<b>" for p in attempt.exercise.predictions if p.name == "loop"})
    for shown in (attempt.show(), attempt.check(), attempt.hint(), attempt.solution(), lab, lab.report()):
        text = shown._repr_html_()
        assert "<script" not in text
        assert "class=" not in text
        assert "&lt;b&gt;" in text or "<b>&" not in text
    assert (name != "lanes") or "&lt;b&gt;" in attempt.check()._repr_html_()


def test_text_form_says_what_was_said(lab):
    assert "nothing yet" in repr(lab.traffic)
    assert "naive = 3 MB" in repr(lab.traffic.predict(naive=3))


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
