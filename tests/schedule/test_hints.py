"""What a refusal says can be done is possible: steps that it writes out are legal where it was refused."""

from __future__ import annotations

import ast
import random
import re

import pytest
from property.randoms import WEIGHTS, propose, random_schedule

from workbench import Schedule, workloads
from workbench.errors import ScheduleError
from workbench.schedule import registry
from workbench.schedule.legal_moves import Move, judge

CALL = re.compile(r"\b([a-z_]+)\(([^()]*)\)")
#: Codes whose hints show how a call is written, with names that stand for any.
EXAMPLES = {"reorder.arity", "fuse.arity", "parallel.arity", "split.open", "pad.division"}


def written(schedule: Schedule, move: Move) -> list[Move]:
    """Steps that a hint writes out, judged."""
    calls = [(name, args) for name, args in CALL.findall(move.hint) if name in registry]
    return [judge(schedule.func, registry[name].make(*ast.literal_eval(f"({args},)")), None) for name, args in calls]


@pytest.mark.parametrize("seed", range(30))
def test_steps_in_hints_are_legal(seed: int) -> None:
    rng = random.Random(seed)
    schedule = random_schedule(rng).schedule
    for name in WEIGHTS:
        for _ in range(3):
            step = propose(rng, schedule.func, name)
            move = None if step is None else judge(schedule.func, step, None)
            if move is None or move.legal or move.code in EXAMPLES:
                continue
            for found in written(schedule, move):
                assert found.legal, (str(schedule.trace), str(move), move.hint, found.reason)


def matmul() -> Schedule:
    s = Schedule(workloads.matmul(64, 64, 64))
    s.split("j", [None, 16])
    s.reorder("j.0", "i", "j.1", "k")
    return s


def refusal(schedule: Schedule, name: str, *args: object) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        getattr(schedule, name)(*args)
    return caught.value


def test_that_a_loop_adds_up_is_said_before_where_it_lies() -> None:
    e = refusal(matmul(), "parallel", "k")
    assert (e.code, e.hint) == ("parallel.reduction", "parallel('j.0', 'i', 'j.1') is possible")


def test_loops_of_two_nests_are_joined_by_no_order() -> None:
    s = Schedule(workloads.softmax(4, 8))
    assert "compute_at" in str(refusal(s, "fuse", "i", "exps_i").hint)
    assert "reorder" in str(refusal(Schedule(workloads.matmul(4, 4, 4)), "fuse", "i", "k").hint)


def test_loops_around_that_must_be_parallel_too_are_all_named() -> None:
    e = refusal(matmul(), "parallel", "j.1")
    assert (e.code, e.hint) == ("parallel.outermost", "parallel('j.0', 'i', 'j.1') marks them all")
    e = refusal(matmul(), "parallel", "i")
    assert e.hint == "parallel('j.0', 'i') marks both"


def test_with_loops_that_the_refused_step_names_itself() -> None:
    e = refusal(matmul(), "parallel", "j.0", "j.1")
    assert e.hint == "parallel('j.0', 'i', 'j.1') marks them all"


def test_an_innermost_sum_is_not_told_to_go_inwards() -> None:
    e = refusal(matmul(), "vectorize", "k")
    assert e.hint == "bring 'j.1', which moves the output, to the innermost place and vectorise that"
    s = matmul()
    s.reorder("k", "j.1")
    assert refusal(s, "vectorize", "k").hint == "vectorise 'j.1' instead: it is innermost and moves the output"


def test_where_a_loop_runs_as_vectors_already_no_other_one_is_to() -> None:
    s = matmul()
    s.reorder("k", "j.1")
    s.vectorize("j.1")
    assert refusal(s, "vectorize", "k").hint == "'j.1' runs as vectors already: leave it at that"
    assert refusal(s, "vectorize", "i").hint == "'j.1' inside of it runs as vectors already: leave it at that"


def test_a_mark_that_a_step_would_break_cannot_be_set_after_it_either() -> None:
    s = matmul()
    s.parallel("j.0")
    e = refusal(s, "reorder", "i", "j.0")
    assert e.code == "loop.mark"
    assert "mark 'j.0' after it" not in e.hint
    assert e.hint.startswith("a mark cannot be taken off: go back to before 'j.0' was marked parallel")


def test_numbers_that_do_not_divide_have_tails_as_ways_out_where_these_are_legal() -> None:
    e = refusal(Schedule(workloads.matmul(64, 64, 64)), "split", "i", [None, 7])
    assert e.hint.startswith("the nearest divisors of 64 are 4 and 8; the tail ")
    assert '"guard"' in e.hint
    assert '"peel"' in e.hint
