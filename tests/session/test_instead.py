"""Legal steps instead of a refused one, and the question that asks for them."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest
from schedule.refusals import REFUSALS
from session.conftest import split

from workbench import Schedule, Target, workloads
from workbench.advice.offer import replayed
from workbench.advice.refusal_alternatives import MOST, SLOWER, instead
from workbench.analysis.loop_nest.schedule_estimate import estimated
from workbench.errors import UsageError
from workbench.schedule import Hole
from workbench.schedule.legal_moves import judge
from workbench.schedule.primitive import registry


def offered(schedule: Schedule, name: str, *args: Any) -> list[str]:
    move = judge(schedule.func, registry[name].make(*args), schedule.target)
    assert not move.legal
    return [str(found) for found in instead(schedule, move)]


def matmul(*steps: tuple[Any, ...]) -> Schedule:
    s = Schedule(workloads.matmul(32, 32, 32, bias=True))
    for name, *args in steps:
        getattr(s, name)(*args)
    return s


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_what_is_offered_is_legal_and_little(code: str) -> None:
    make, (name, *args) = REFUSALS[code]
    schedule = make()
    move = judge(schedule.func, registry[name].make(*args), schedule.target)
    found = instead(schedule, move)
    assert len(found) <= MOST
    assert len({str(one) for one in found}) == len(found)
    present = estimated(schedule, Target.host(), None)
    cycles = []
    for one in found:
        again = replayed(schedule, one.without)
        for step in one.steps:
            again.apply(step)
        if one.estimate is not None and present is not None:
            assert one.estimate == estimated(again, Target.host(), None)
            assert one.without or one.estimate.cycles <= SLOWER * present.cycles, str(one)
            cycles.append(one.estimate.cycles)
    assert sorted(cycles) == cycles


@pytest.mark.parametrize(
    ("schedule", "step", "wanted"),
    [
        (matmul(("reorder", "k", "i", "j")), ("parallel", "k"), ["reorder(i, k), then parallel(i)"]),
        (matmul(), ("parallel", "j"), ["parallel(i, j)", "parallel(i)"]),
        (matmul(), ("vectorize", "k"), ["reorder(k, j), then vectorize(j)"]),
        (
            matmul(("unroll", "j")),
            ("split", "j", [None, 4]),
            ["take unroll(j) back, then split(j, rest × 4), then unroll(j.1)"],
        ),
        (matmul(("parallel", "i")), ("fuse", "i", "j"), ["take parallel(i) back, then fuse(i, j)"]),
        (matmul(("parallel", "i")), ("parallel", "i"), []),
        (matmul(), ("vectorize", "j"), ["reorder(k, j), then vectorize(j)"]),
        (matmul(), ("split", "i", [None, 5]), ["split(i, rest × 4)", "split(i, rest × 8)"]),
        (matmul(), ("reverse_compute_at", "bias_add", "k"), [f"reverse_compute_at(bias_add, {at})" for at in "ji"]),
        (matmul(), ("compute_inline", "C"), [f"compute_at(C, bias_add_{at})" for at in "ji"]),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, tuple) else "",
)
def test_what_was_meant_is_among_what_is_offered(schedule: Schedule, step: tuple[Any, ...], wanted: list[str]) -> None:
    assert set(wanted) <= set(offered(schedule, *step))


def test_the_contiguous_loop_is_offered_before_one_that_jumps() -> None:
    s = Schedule(workloads.matmul(64, 64, 64), Target.host())
    found = offered(s, "vectorize", "k")
    assert found, "there are ways"
    last = found[0].rpartition("vectorize(")[2]
    assert last.startswith("j"), "C[i, j] and B[k, j] are contiguous in j"
    assert not any("vectorize(i)" in text for text in found), "eight times as slow as the others at least"


def test_no_way_needs_much_more_memory_than_the_computation() -> None:
    s = Schedule(workloads.matmul(64, 64, 64), Target.host())
    assert not [text for text in offered(s, "parallel", "k") if "rfactor" in text], "64 copies of the result"
    s.split("k", [2, None])
    s.reorder("k.0", "i", "j", "k.1")
    move = judge(s.func, registry["parallel"].make("k.0"), s.target)
    ways = [found.steps for found in instead(s, move)]
    assert all(sum(math.prod(b.shape) for b in taken(s, steps).func.buffers) <= 4 * 3 * 64 * 64 for steps in ways)


def test_a_mark_that_is_in_the_way_is_taken_back_with_one_command(session) -> None:
    s = session(Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1)))
    for name, args in (
        ("reorder", {"loops": ["k", "j"]}),
        ("vectorize", {"loop": "j"}),
        ("parallel", {"loops": ["i"]}),
    ):
        s.run("apply", step={"primitive": name, "args": args})
    answers: list[Any] = []
    done = threading.Event()
    s.ask("witness", {"step": split("j", None, 16)}, lambda message: (answers.append(message), done.set()))
    assert done.wait(20)
    (offer,) = answers[0]["value"]["instead"]
    assert offer["without"] == [1]
    done.clear()
    s.ask(
        "preview",
        {k: offer[k] for k in ("step", "then", "without")},
        lambda message: (answers.append(message), done.set()),
    )
    assert done.wait(20)
    assert answers[1]["value"]["verdict"]["legal"], "it is previewed with the mark taken back"
    assert "j.1" in answers[1]["value"]["order"]
    s.run("apply", step=offer["step"], then=offer["then"], without=offer["without"])
    assert [step.name for step in s.schedule.trace] == ["reorder", "parallel", "split", "vectorize"]
    rows = s.snapshot().slices["history"]["rows"]
    assert [row["parent"] for row in rows[4:]] == [1, 4, 5], "a branch of the variant before the mark"
    with pytest.raises(UsageError):
        s.run("apply", step=offer["step"], without=[9])


def taken(schedule: Schedule, steps: tuple[Any, ...]) -> Schedule:
    after = schedule.copy()
    for step in steps:
        after.apply(step)
    return after


def test_of_a_schedule_with_a_structure_left_open_nothing_is_estimated() -> None:
    s = matmul(("unroll", Hole(choices=["i", "j"])))
    move = judge(s.func, registry["vectorize"].make("k"), s.target)
    assert all(found.estimate is None and found.to_json()["est"] is None for found in instead(s, move))


def test_nothing_stands_instead_of_a_legal_step() -> None:
    s = matmul()
    assert instead(s, judge(s.func, registry["unroll"].make("k"), s.target)) == ()


def test_the_question_has_the_iterations_and_the_steps(session: Any) -> None:
    s = session(Schedule(workloads.matmul(16, 16, 16, bias=True)))
    done, found = threading.Event(), []
    step = {"primitive": "reverse_compute_at", "args": {"block": "bias_add", "loop": "k"}}
    s.ask("witness", {"step": step}, lambda message: (found.append(message), done.set()))
    assert done.wait(20)
    answer = found[0]["value"]
    assert answer["verdict"]["code"] == "reverse_compute_at.unfinished"
    assert answer["verdict"]["witness"]["kind"] == "read-before-write"
    offer = next(one for one in answer["instead"] if one["label"] == "reverse_compute_at(bias_add, j)")
    assert offer["step"] == {"primitive": "reverse_compute_at", "args": {"block": "bias_add", "loop": "j"}}
    assert offer["then"] == []
    assert {"est", "label", "step", "then"} == set(offer)
    palette = {row["id"]: row for row in s.snapshot().slices["palette"]["rows"]}
    assert palette["reverse_compute_at"]["witness"] is None, "it is searched for when somebody asks"
