"""What every exercise of every lab keeps to, taken from the table of labs."""

from __future__ import annotations

import re

import pytest

import workbench as wb
from workbench import labs
from workbench.labs import Function, Nest
from workbench.labs.attempt import Attempt
from workbench.labs.exercise import said, valued
from workbench.labs.judging import accepted, judged, judged_work
from workbench.schedule.primitive import registry

AVX2 = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", threads=1)
AVX512 = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512", threads=1)
EXERCISES = [pytest.param(lab, e, id=f"{lab.name}.{e.name}") for lab in labs.plans().values() for e in lab.exercises]
#: What takes longer: one exercise of each lab in the default tests, all in the checks.
FIRST = [
    pytest.param(*p.values, id=p.id, marks=[] if p.values[1] is p.values[0].exercises[0] else pytest.mark.checks)
    for p in EXERCISES
]

exercises = pytest.mark.parametrize(("lab", "exercise"), EXERCISES)
first_of_each = pytest.mark.parametrize(("lab", "exercise"), FIRST)
#: One machine and one variant in the default tests, all in the checks.
many = pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.checks)], ids=["one", "every"])


def settings(lab, exercise):
    threads = lab.threads or 2
    targets = [wb.Target(str(t), threads=threads) for t in (AVX2, AVX512)]
    return [at for target in targets for at in exercise.settings(target)]


@exercises
def test_typical_wrong_answers_get_their_own_hints(lab, exercise):
    for at in settings(lab, exercise):
        for p in exercise.predictions:
            right = valued(p.answer, at)
            assert judged(p, accepted(p, right, at), at).good
            for k, slip in enumerate(p.misconceptions):
                found = judged(p, accepted(p, valued(slip.says, at), at), at)
                assert not found.good, f"{p.name}: {valued(slip.says, at)} is the right answer"
                first = min(n for n, m in enumerate(p.misconceptions) if valued(m.says, at) == valued(slip.says, at))
                assert found.slip == f"{p.name}[{first}]", f"{p.name}[{k}] is told as {found.slip}"
                assert said(p.misconceptions[first].hint, at) in found.text


@exercises
def test_hints_do_not_give_the_answer_away(lab, exercise):
    for at in settings(lab, exercise):
        for p in exercise.predictions:
            right = valued(p.answer, at)
            number = right if isinstance(right, str) else f"{right:,.6g}"
            for hint in [said(m.hint, at) for m in p.misconceptions] + [said(p.wrong, at)]:
                assert not re.search(rf"(is|=) {re.escape(number)}\b", hint), hint


@exercises
def test_at_least_three_misconceptions(lab, exercise):
    if exercise.predictions:
        assert sum(len(p.misconceptions) for p in exercise.predictions) >= 3


@many
@exercises
def test_the_solution_of_every_variant_reaches_every_goal(lab, exercise, every):
    for at in settings(lab, exercise)[-1 if not every else 0 :]:
        attempt = Attempt(exercise, at)
        work = attempt.solution().work
        for goal in exercise.goals:
            good, text = goal.reached(work, at)
            assert good, f"{at.variant}: {text}"


@pytest.mark.checks  # the notebooks' tests run some of them by default
@exercises
def test_the_solution_solves_here(lab, exercise):
    attempt = Attempt(exercise, exercise.settings(wb.Target.host(threads=lab.threads))[0])
    attempt.solution().apply()
    found = attempt.check()
    assert found.solved, found
    assert found.points == found.possible == exercise.points
    assert attempt.points == 0, "the solution was shown"


@many
@exercises
def test_untouched_is_not_attempted_and_the_start_gives_no_points(lab, exercise, every, no_clock):
    for at in settings(lab, exercise)[-1 if not every else 0 :]:
        attempt = Attempt(exercise, at)
        assert attempt.check().state == "not attempted"
        if isinstance(exercise.work, Nest):
            found = judged_work(exercise, attempt.schedule.copy(), at)  # as after a step that changes nothing
            assert not any(f.good for f in found), found
        elif isinstance(exercise.work, Function):
            found = attempt.check(lambda *args, **named: None)
            assert not any(f.good for f in found.findings), found


@exercises
def test_texts_are_whole(lab, exercise):
    for at in settings(lab, exercise):
        attempt = Attempt(exercise, at)
        shown = [attempt.show(), attempt.solution(), *(attempt.hint() for _ in exercise.hints)]
        for text in map(repr, shown):
            assert not re.search(r"\{[a-z_]+(\[|\.|\})|\bNone\b(?!,)|<function|\bnan\b|\bat\[", text), text
            for name, attribute in re.findall(r"\blab\.(\w+)(?:\.([a-z]\w*))?", text):
                assert name in {e.name for e in lab.exercises} | {"report", "hand_in"}, text
                assert not attribute or hasattr(Attempt, attribute), text
            for name in re.findall(r"\bs\.(\w+)\(", text):
                assert hasattr(wb.Schedule, name) or name in registry, text
        assert len(exercise.hints) >= 2


def test_numbers_names_and_points_of_labs():
    plans = list(labs.plans().values())
    assert [p.number for p in plans] == sorted({p.number for p in plans})
    for plan in plans:
        assert plan.points > 0
        assert 30 <= plan.minutes[0] <= plan.minutes[1] <= 180
        assert plan.summary.endswith(".")


@first_of_each
def test_a_solution_without_one_of_its_steps_gets_what_it_reaches(lab, exercise, tmp_path, no_clock):
    """Who claims all points for steps that were edited, and can sign, gets the points of these steps and a fault."""
    if not isinstance(exercise.work, Nest):
        return
    at = exercise.settings(AVX2)[0]
    steps = Attempt(exercise, at).solution().work.to_json()
    start = Attempt(exercise, at).schedule
    for k in range(len(steps)):
        edited = [*steps[:k], *steps[k + 1 :]]
        forged = hand_in_of(lab, exercise, at, edited, tmp_path)
        try:
            nest = wb.Schedule.from_json(start.base, edited, start.target)
            whole = nest.trace != start.trace
            whole = whole and all(goal.reached(nest, at)[0] for goal in exercise.goals)
        except wb.WorkbenchError:
            whole = False
        grade = labs.verify(forged)
        (found,) = [e for e in grade.exercises if e.name == exercise.name]
        assert (found.state == "solved") == whole == grade.genuine, edited
        assert whole or found.points < exercise.points


def hand_in_of(lab, exercise, at, steps, folder):
    """A hand-in that claims everything for some steps, sealed and signed as it has to be."""
    opened = labs.open(lab.name, at.target, folder)
    attempt = getattr(opened, exercise.name)
    attempt.predict(**attempt.solution().answers)
    opened.journal.lines[1:] = []  # the solution was never shown
    fresh = Attempt(exercise, at, record=opened.journal.append)
    fresh.predict(**{p.name: valued(p.answer, at) for p in exercise.predictions})
    goals = sum(goal.points for goal in exercise.goals)
    fresh._happened("check", work=steps, points=exercise.points, reached=goals, state="solved", slips=[])
    opened._attempts[exercise.name] = fresh
    opened.hand_in()
    return folder / f"{lab.name}.handin.json"
