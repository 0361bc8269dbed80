"""The labs on the accelerator and on GPUs: answers are what is simulated and counted, and near misses are none."""

from __future__ import annotations

import itertools
import random

import pytest

import workbench as wb
from workbench import labs
from workbench.labs.catalog import accelerator, gpu
from workbench.labs.catalog.accelerator.design import DESIGN, VTA_SIZES
from workbench.labs.catalog.accelerator.hiding import SMALL
from workbench.labs.catalog.accelerator.machine import cut, placed, run
from workbench.labs.catalog.accelerator.tokens import left_out
from workbench.labs.catalog.gpu.machine import facts
from workbench.labs.catalog.gpu.meeting import MEET, barriers
from workbench.labs.exercise import Setting, valued
from workbench.labs.judging import start_of

HOST = wb.Target.host(threads=1)


def answers(lab, name, at):
    found = next(e for e in lab.LAB.exercises if e.name == name)
    return {p.name: valued(p.answer, at) for p in found.predictions}


def points(exercise, work, at=None):
    return [goal.reached(work, at or exercise.settings(HOST)[0])[0] for goal in exercise.goals]


@pytest.mark.parametrize("rows", [64, 32, 128])
def test_cycles_of_a_tile_are_the_simulators(rows):
    told = answers(accelerator, "memories", Setting(HOST, {"rows": rows}))
    found = run(placed(cut((rows, 4, 4), 1)))
    spent = {type(e.instruction.does).__name__: set() for e in found.events}
    for e in found.events:
        spent[type(e.instruction.does).__name__].add((getattr(e.instruction.does, "memory", ""), e.end - e.start))
    assert ("inp", told["load"]) in spent["Transfer"]
    assert spent["Gemm"] == {("", told["products"] + 6)}
    assert 0.9 < 100 * found.utilisation / told["share"] <= 1  # sums are made bytes and stored as well


def test_programs_without_a_token_wait():
    (whole, *less) = left_out()
    assert whole[1] == "runs"
    assert {wanted for _, wanted, _ in less} == {"waits"}  # a pop that is missing is a race
    assert len(less) > 8


def test_a_program_for_a_larger_machine_is_mended_by_good_tiles_alone():
    exercise = next(e for e in accelerator.LAB.exercises if e.name == "repair")
    assert points(exercise, start_of(exercise, exercise.settings(HOST)[0])) == [False] * 3
    for tile, wanted in (
        ((32, 4, 4), [True] * 3),
        ((16, 4, 4), [True, False, False]),
        ((32, 4, 2), [True, False, True]),
    ):
        assert points(exercise, placed(cut(tile, 2, SMALL)).bind("j.1", "vthread")) == wanted


@pytest.mark.checks
def test_a_design_within_the_budget_counts():
    trimmed = {"inp": 8, "wgt": 16, "acc": 32, "uop": 8, "bus": 8}
    assert points(DESIGN, lambda: trimmed) == [True, True, False, False]
    assert points(DESIGN, lambda: VTA_SIZES) == [False] * 4
    with pytest.raises(ValueError, match="wanted"):
        points(DESIGN, lambda: {**trimmed, "bus": 0})
    with pytest.raises(ValueError, match="wanted"):
        points(DESIGN, lambda: None)


def test_barriers_are_as_few_as_do():
    rng = random.Random(0)
    for _ in range(200):
        kinds = itertools.product(("reads", "writes"), ("a", "b"), ("own", "another"))
        program = rng.choices(list(kinds), k=rng.randint(0, 6))
        pairs = [
            (i, k)
            for (i, x), (k, y) in itertools.combinations(enumerate(program), 2)
            if x[1] == y[1] and "writes" in (x[0], y[0]) and (x[2], y[2]) != ("own", "own")
        ]

        def enough(found, pairs=pairs):
            return all(any(i < b <= k for b in found) for i, k in pairs)

        found = barriers(program)
        fewest = next(
            n for n in range(len(program) + 1) if any(enough(c) for c in itertools.combinations(range(len(program)), n))
        )
        assert enough(found)
        assert len(found) == fewest
    assert points(MEET, lambda statements: list(range(1, len(statements)))) == [False, False]


def test_sectors_turns_and_barriers_are_those_of_the_nests():
    by_name = {e.name: e for e in gpu.LAB.exercises}

    def first(name):
        return by_name[name].settings(HOST)[0]

    def counted(name, solved, **of):
        at = first(name)
        s = start_of(by_name[name], at)
        if solved:
            by_name[name].work.solve(s, at)
        (kernel,) = facts(s)
        return kernel, [a for a in kernel.accesses if all(getattr(a, k) == v for k, v in of.items())]

    kernel, (access,) = counted("bind", True, buffer="X")
    told = answers(gpu, "bind", first("bind"))
    assert (kernel.grid[0] * kernel.grid[1], kernel.block[0] * kernel.block[1] // 32) == (told["blocks"], told["warps"])
    assert access.transactions == told["sectors"]
    _, (access,) = counted("repair", False, buffer="X")
    assert access.transactions == answers(gpu, "repair", first("repair"))["sectors"]
    assert counted("share", True)[0].barriers == answers(gpu, "share", first("share"))["barriers"]
    told = answers(gpu, "banks", first("banks"))
    for solved, name in ((False, "column"), (True, "longer")):
        _, (access,) = counted("banks", solved, memory="shared", is_write=False)
        assert access.transactions == told[name]


@pytest.mark.parametrize(("name", "steps"), [("accelerator", ("hide", "repair")), ("gpu", ("bind", "banks"))])
def test_hand_ins_are_judged_on_the_device_of_the_exercise(tmp_path, name, steps):
    lab = labs.open(name, HOST, tmp_path)
    for exercise in steps:
        attempt = getattr(lab, exercise)
        attempt.exercise.work.solve(attempt.schedule, attempt.setting)
        assert attempt.check(attempt.schedule).findings[-1].good
    lab.hand_in()
    grade = labs.verify(tmp_path / f"{name}.handin.json")
    assert not grade.faults
    assert grade.points == sum(goal.points for e in lab.plan.exercises if e.name in steps for goal in e.goals)
