"""Work of every kind: nests that are bound to a variable, repairs, functions, questions only."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import workbench as wb
from workbench import labs
from workbench.errors import UsageError
from workbench.labs.attempt import Attempt
from workbench.labs.exercise import Setting

AT = Setting(wb.Target.host(threads=1), {"n": 64})


def start(at):
    return wb.workloads.matmul(at["n"], at["n"], at["n"])


def vectors(s, at):
    s.reorder("i", "k", "j")
    s.vectorize("j")


def wide(s, at):
    lanes = labs.count(s.func, at.lanes).lanes
    return lanes == at["n"], f"The vectorised loop runs {lanes} times."


NEST = labs.Exercise(
    name="vectors",
    title="Vectors",
    task="Vectorise j.",
    work=labs.Nest(start, vectors),
    goals=(labs.Goal("j is vectorised.", wide, points=2),),
    hints=("Which loop?",),
    why="It is contiguous.",
)


@pytest.fixture
def attempt(no_clock):
    return Attempt(NEST, AT)


def test_what_s_is_bound_to_is_judged(attempt):
    s = attempt.schedule
    assert attempt.check().state == "not attempted"
    s = wb.Schedule(start(AT), AT.target)
    vectors(s, AT)
    found = attempt.check()
    assert found.solved
    assert "another one than lab.vectors.schedule" in str(found)
    s = "no schedule any more"
    assert attempt.check().state == "not attempted"
    assert isinstance(s, str)


def test_what_is_left_in_s_from_another_exercise_is_not_judged(no_clock):
    lab = labs.open("tiling")
    s = lab.levels.schedule
    lab.levels.exercise.work.solve(s, lab.levels.setting)
    assert lab.levels.check().points == 2
    found = lab.tile.check()
    assert found.state == "not attempted"
    assert "`s` is still lab.levels.schedule" in str(found)
    assert lab.levels.check(s.copy()).points == 2


def test_an_untouched_or_foreign_s_does_not_hide_the_work(attempt):
    vectors(attempt.schedule, AT)
    found = attempt.check()
    assert found.solved
    assert "nothing is called `s` here" in str(found)
    for s, why in (
        (wb.Schedule(start(AT)), "reaches more than `s`"),
        (wb.Schedule(wb.workloads.matmul(8, 8, 8)), "`s` is a schedule of another function"),
        (None, "`s` is no schedule, but of type NoneType"),
    ):
        found = attempt.check()
        assert found.solved, s
        assert "Judged: lab.vectors.schedule, " in str(found)
        assert why in str(found)
    s = attempt.schedule
    assert "Judged" not in str(attempt.check()), s


def test_the_better_of_two_is_judged(attempt):
    attempt.schedule.reorder("i", "k", "j")
    s = attempt.schedule.copy()
    s.vectorize("j")
    assert attempt.check().solved
    vectors_of_lab, s = s, attempt.schedule
    assert not attempt.check()
    assert attempt.check(vectors_of_lab).solved
    assert attempt.points == 2, "the best check counts"


def test_a_machine_that_cannot_run_it_judges_all_the_same():
    elsewhere = Setting(wb.Target("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=generic", threads=1), {"n": 64})
    attempt = Attempt(NEST, elsewhere)
    vectors(attempt.schedule, elsewhere)
    found = attempt.check()
    assert found.solved
    assert "this machine lacks aarch64" in str(found)


def test_a_cell_of_a_notebook(attempt):
    names = {"lab_attempt": attempt, "wb": wb, "start": start, "AT": AT, "vectors": vectors}
    exec("s = wb.Schedule(start(AT), AT.target)\nvectors(s, AT)\nfound = lab_attempt.check()", names)
    assert names["found"].solved


def broken(at):
    s = wb.Schedule(start(at), at.target)
    s.reorder("i", "k", "j")
    s.vectorize("j")
    s.parallel("i")
    return s


def serial(s, at):
    return all(loop.kind != "parallel" for loop in s.loops), "No loop is parallel now."


REPAIR = labs.Exercise(
    name="repair",
    title="Repair",
    task="Take the threads away.",
    work=labs.Nest(broken, lambda s, at: s.undo()),
    goals=(labs.Goal("It is serial.", serial), labs.Goal("j is vectorised.", wide)),
    hints=("undo",),
    why="One step was too much.",
)


def test_a_repair_begins_with_steps_and_goes_back_to_them(no_clock):
    attempt = Attempt(REPAIR, AT)
    s = attempt.schedule
    assert len(s.trace) == 3
    assert attempt.check().state == "not attempted"
    s.undo(2)
    assert attempt.check().points == 1
    assert attempt.reset().schedule is s
    assert len(s.trace) == 3
    assert attempt.check().state == "not attempted"
    solution = attempt.solution()
    assert solution.code == "s = lab.repair.schedule\ns.undo(1)"
    assert "no more points" in str(solution)
    assert solution.apply().check().solved
    attempt = Attempt(REPAIR, AT)
    attempt.schedule.undo()
    attempt.check()
    assert "no more points" not in str(attempt.solution())


def doubles(x):
    return 2 * x


FUNCTION = labs.Exercise(
    name="twice",
    title="Twice",
    task="Write twice(x).",
    predictions=(
        labs.Prediction("legal", "May it be?", "yes", choices=("yes", "no")),
        labs.Prediction("share", "How much?", lambda at: 50.0, "%", (labs.Misconception(2, "That is a speed-up."),)),
    ),
    work=labs.Function("twice", doubles),
    goals=(
        labs.Goal("twice(3) is 6.", lambda f, at: (f(3) == 6, f"twice(3) is {f(3)}.")),
        labs.Goal("It works on text.", lambda f, at: (f("a") == "aa", "ok")),
    ),
    hints=("Multiply.",),
    why="2 times.",
)


def test_blanks_and_capitals_of_a_choice_do_not_matter():
    asked = labs.Prediction("size", "Which one?", "m = 4", choices=("m = 2", "m = 4"))
    attempt = Attempt(labs.Exercise(name="q", title="Q", task="?", predictions=(asked,), hints=("h",), why="w"), AT)
    for said in ("m=4", "M = 4", " m =4 "):
        assert attempt.predict(size=said).check().solved
    with pytest.raises(UsageError):
        attempt.predict(size="m4")


def test_a_function_is_found_by_its_name():
    attempt = Attempt(FUNCTION, AT)
    found = attempt.check()
    assert found.state == "not attempted"
    assert "Nothing is called `twice` here" in str(found)
    twice = doubles
    assert attempt.check().points == 2
    assert attempt.predict(legal=True, share=0.5).check().solved
    twice = 3
    with pytest.raises(UsageError) as caught:
        attempt.check()
    assert caught.value.code == "lab.function"
    assert twice == 3


def test_what_a_function_raises_is_told_with_its_line():
    def twice(x):
        y = x + 3
        return 2 * y - 6

    found = Attempt(FUNCTION, AT).check(twice)
    assert found.points == 1
    assert "TypeError" in str(found)
    assert "(line 2 of the function)" in str(found)


def test_the_source_of_a_function_is_the_solution():
    solution = Attempt(FUNCTION, AT).solution()
    assert "return 2 * x" in solution.code
    assert solution.apply().check().solved


def test_a_function_is_believed_only_where_the_notebook_was_run(tmp_path, monkeypatch):
    lab = labs.LabPlan(name="twice", number=99, title="T", minutes=(60, 90), summary="S.", exercises=(FUNCTION,))
    monkeypatch.setitem(labs.plans(), "twice", lab)
    opened = labs.open("twice", folder=tmp_path)
    opened.twice.predict(legal="YES ", share="50 %").check(doubles)
    opened.hand_in()
    read, run = (labs.verify(tmp_path / "twice.handin.json", executed=run) for run in (False, True))
    assert read.genuine
    assert run.genuine
    assert (read.points, read.exercises[0].on_trust, run.exercises[0].on_trust) == (4, 2, 0)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("share", 2, "speed-up"),
        ("share", "60", "too large"),
        ("share", "5 s", None),
        ("legal", "maybe", None),
        ("legal", 3, None),
        ("share", [1], None),
        ("legal", False, "is not it"),
    ],
)
def test_answers(name, value, told):
    attempt = Attempt(FUNCTION, AT)
    if told is None:
        with pytest.raises(UsageError) as caught:
            attempt.predict(**{name: value})
        assert caught.value.code == "lab.prediction"
    else:
        assert told in str(attempt.predict(**{name: value}).check())


@pytest.mark.parametrize("order", ["i, k, j", "i k j", "(I, K, J)", ["i", "k", "j"], ("i", "k", "j")])
def test_names_in_an_order(order):
    asked = labs.Exercise(
        name="o",
        title="O",
        task="?",
        predictions=(labs.Prediction("order", "Which?", "i, k, j"),),
        hints=("h",),
        why="w",
    )
    assert Attempt(asked, AT).predict(order=order).check().solved
    assert not Attempt(asked, AT).predict(order="i, j, k").check()


def test_a_number_that_is_one_of_the_choices():
    question = labs.Prediction("fastest", "Which?", "850", choices=("0.9", "850", "1.2e6"))
    asked = labs.Exercise(name="o", title="O", task="?", predictions=(question,), hints=("h",), why="w")
    assert Attempt(asked, AT).predict(fastest=850).check().solved
    assert not Attempt(asked, AT).predict(fastest=0.9).check().solved
    with pytest.raises(UsageError, match="none of the answers"):
        Attempt(asked, AT).predict(fastest=851)


def test_a_number_of_numpy_is_shown_as_one():
    told = labs.Goal("It is 6.", lambda f, at: (False, f"It says {f(3)!r} and {[f(2.5)]}; np.minimum(2) is another."))
    found = Attempt(dataclasses.replace(FUNCTION, goals=(told,)), AT).check(lambda x: np.multiply(2, x))
    assert "It says 6 and [5.0]; np.minimum(2) is another." in str(found)


def test_questions_only():
    asked = labs.Exercise(name="q", title="Q", task="?", predictions=FUNCTION.predictions, hints=("h",), why="w")
    attempt = Attempt(asked, AT)
    assert attempt.check().state == "not attempted"
    solved = attempt.predict(legal="yes", share=50).check()
    assert solved.solved
    assert not solved.notes
    worse = attempt.predict(legal="no").check()
    assert not worse.solved
    assert worse.notes == (f"Your best check counts: {solved.points} of {solved.possible} points.",)
    with pytest.raises(UsageError) as caught:
        attempt.schedule  # noqa: B018
    assert caught.value.code == "lab.schedule"


def test_what_cannot_be_declared():
    for wrong in ({"work": None}, {"goals": ()}, {"hints": ()}):
        with pytest.raises(UsageError) as caught:
            labs.Exercise(**{**{f: getattr(NEST, f) for f in NEST.__dataclass_fields__}, **wrong})
        assert caught.value.code == "lab.exercise"
    with pytest.raises(UsageError):
        labs.LabPlan(name="x", number=1, title="", minutes=(1, 2), summary="", exercises=(NEST, NEST))


def test_a_better_solution_than_the_labs_is_noticed(monkeypatch):
    def measure(s):
        return wb.Measurement(status="ok", costs_ms=(2.0 if len(s.trace) == 2 else 1.0,))

    monkeypatch.setattr(wb.Schedule, "measure", measure)
    attempt = Attempt(NEST, AT)
    vectors(attempt.schedule, AT)
    assert "lab's own solution" not in str(attempt.check())
    attempt.schedule.parallel("i")
    assert "Yours is faster than the lab's own solution, which takes 2 ms here." in str(attempt.check())
