"""Two iterations that a refused step would bring into conflict: shown by running the step all the same.

Steps are forced through by silencing the one refusal that they end in. The program that comes out is then executed
statement by statement by the few lines below, which share nothing with the search.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import primitives
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule import nests
from schedule.refusals import REFUSALS

from workbench import Schedule, Target, workloads
from workbench.errors import WorkbenchError
from workbench.ir import Block, For, Func, Load, Select
from workbench.ir.expr import children
from workbench.ir.interpreter import interp
from workbench.schedule import Hole, legality
from workbench.schedule.legality import data_flow, independence, loop_kinds
from workbench.schedule.legality.affine_queries import evaluate_form
from workbench.schedule.primitive import Primitive, registry
from workbench.schedule.primitives import cache_read_write, compute_at, reduction
from workbench.schedule.refusal import Refusal, Witness

KINDS = {
    **dict.fromkeys(
        ("parallel.reduction", "parallel.conflict", "vectorize.reduction", "vectorize.conflict", "bind.reduction",
         "bind.conflict"),
        "write-write",
    ),
    **dict.fromkeys(("reorder.reduction", "decompose_reduction.repeats"), "twice"),
    **dict.fromkeys(
        ("compute_at.consumers", "compute_at.producer", "reverse_compute_at.unfinished", "reverse_compute_at.cover",
         "reverse_compute_at.consumer", "reverse_compute_inline.order", "cache_read.producer", "cache_write.consumers",
         "rfactor.consumers"),
        "read-before-write",
    ),
}  # fmt: skip
"""Codes that speak of order or conflict, and what their witness shows."""

SPEAKS_OF_ORDER = ("conflict", "repeats", "cover", "unfinished", "order", "consumer", "consumers", "producer")

NO_WITNESS = {
    "compute_inline.producer": "what was complete where the block ran is complete for its readers, which come later",
    "compute_inline.consumers": "nothing reads the buffer",
    "reverse_compute_at.producer": "nothing that the block reads is computed in the loop",
    "reverse_compute_inline.producer": "there is no one block that makes what is read",
    "reverse_compute_inline.cover": "the blocks would run at once where they ran one after the other, with one result",
    "bind.order": "which parts of a device lie inside which",
    "tile.order": "loops that are not perfectly nested; else that of reorder",
    "tensorize.order": "the loops are not those of the instruction",
}
"""Codes that sound like it and cannot have one."""

for own in primitives.given("WITNESSES", {}).values():
    KINDS |= {code: kind for code, kind in own.items() if kind}
    NO_WITNESS |= {code: "as its module says" for code, kind in own.items() if not kind}


def after(*steps: tuple[Any, ...]) -> Schedule:
    s = Schedule(workloads.matmul(8, 8, 8))
    for name, *args in steps:
        getattr(s, name)(*args)
    return s


def refusal(schedule: Schedule, step: tuple[Any, ...]) -> tuple[Primitive, Refusal]:
    made = registry[step[0]].make(*step[1:]).resolve(schedule.func)
    with pytest.raises(Refusal) as caught:
        made.run(schedule.func)
    return made, caught.value


# ----------------------------------------------------------------------------------------------------------- the oracle


def forced(monkeypatch: pytest.MonkeyPatch, step: Primitive, func: Func, code: str) -> Func:
    """The function after a step whose refusals with this code, and doubts that follow from it, are not heard."""

    def quiet(found: str, *args: Any, **kwargs: Any) -> None:
        if found.partition(".")[0] != code.partition(".")[0]:
            raise Refusal(found, *args, **kwargs)

    with monkeypatch.context() as patch:
        for module in (data_flow, independence, loop_kinds, compute_at, reduction, cache_read_write):
            patch.setattr(module, "refuse", quiet)
        return step.apply(func)[0]


Instance = tuple[str, dict[str, int], tuple[int, ...], list[tuple[str, tuple[int, ...]]], tuple[int, ...]]


def instances(func: Func) -> Iterator[Instance]:
    """Every run of a block in the order of the program: name, loops, element written, elements read, axes."""

    def go(body: Any, values: dict[str, int]) -> Iterator[Instance]:
        for s in body:
            if isinstance(s, For):
                for v in range(int(s.extent)):
                    yield from go(s.body, {**values, s.name: v})
            elif (one := instance(s, values)) is not None:
                yield one

    return go(func.body, {})


def instance(b: Block, values: dict[str, int]) -> Instance | None:
    axes = {it.name: evaluate_form(x, values) for it, x in zip(b.iters, b.binds, strict=True)}

    def holds(conds: Any) -> bool:
        return all(c.lo <= evaluate_form(c.form, axes) < c.hi for c in conds)

    def reads(e: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
        if isinstance(e, Load):
            yield e.buffer, tuple(evaluate_form(x, axes) for x in e.index)
        parts = [e.a if holds(e.conds) else e.b] if isinstance(e, Select) else children(e)
        for part in parts:
            yield from reads(part)

    if not holds(b.guard):
        return None
    element = tuple(evaluate_form(x, axes) for x in b.index)
    return b.name, values, element, list(reads(b.value)), tuple(axes.values())


def assert_conflict(func: Func, w: Witness) -> None:
    """The two iterations do what the witness says, and in the order that it says."""
    runs = list(instances(func))
    first, second = dict(w.first), dict(w.second)

    def at(name: str, point: dict[str, int]) -> int:
        """The first run of a block there; loops that are not named are at 0."""
        where = [k for k, (b, v, *_) in enumerate(runs) if b == name and all(v[n] == point.get(n, 0) for n in v)]
        assert where, f"{name} does not run at {point}"
        return where[0]

    one = at(w.blocks[0], first)
    if w.kind == "read-before-write":
        assert (w.buffer, w.element) in runs[one][3], "it is read there"
        writes = [k for k, r in enumerate(runs) if r[0] != w.blocks[0] and r[2] == w.element and writes_to(func, r, w)]
        if not second:
            assert not writes, "it is written after all"
            return
        two = at(w.blocks[1], second)
        assert two in writes, "it is written there"
        assert two > one, "the write comes later"
        return
    two = at(w.blocks[1], second)
    assert one != two
    assert runs[one][2] == runs[two][2] == w.element, "both write it"
    if w.kind == "twice":
        assert runs[one][4] == runs[two][4], "both take in the same term"


def writes_to(func: Func, run: Instance, w: Witness) -> bool:
    return func.block(run[0])[0].buffer == w.buffer


# -------------------------------------------------------------------------------------------------------------- by code


def test_every_code_that_speaks_of_order_is_sorted() -> None:
    codes = {code for cls in registry for code in cls.codes}
    speaking = {code for code in codes if code.rpartition(".")[2] in SPEAKS_OF_ORDER}
    assert speaking <= set(KINDS) | set(NO_WITNESS)
    assert not set(KINDS) & set(NO_WITNESS)
    assert set(KINDS) <= codes


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_a_witness_where_order_is_the_reason_and_nowhere_else(code: str) -> None:
    make, step = REFUSALS[code]
    schedule = make()
    with pytest.raises(WorkbenchError) as caught:
        getattr(schedule, step[0])(*step[1:])
    assert caught.value.code == code
    found = getattr(caught.value, "witness", None)
    assert (found.kind if found is not None else None) == KINDS.get(code)


@pytest.mark.parametrize("code", sorted(KINDS))
def test_the_step_forced_through_does_what_the_witness_says(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, step = REFUSALS[code]
    schedule = make()
    made, error = refusal(schedule, step)
    assert error.code == code
    assert error.witness is not None
    func = forced(monkeypatch, made, schedule.func, code)
    assert_conflict(func, error.witness)
    if error.witness.kind == "write-write":
        return  # whether iterations meet is a matter of time: their element is all that can be shown
    given = interp.random_inputs(func, 0)
    want, got = interp.run(schedule.func, given), interp.trace_run(func, given)
    same = all(np.allclose(want[name], got.outputs[name]) for name in want)
    once = all((count == 1).all() for count in got.writes.values())
    assert not (same and once), "another result, or one that is put right only by being computed again"


# --------------------------------------------------------------------------------------------------------- open numbers


def test_open_numbers_are_filled_and_the_filling_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    s = Schedule(workloads.matmul(8, 8, 8, bias=True))
    s.split("k", [None, Hole("t")])
    made, error = refusal(s, ("reverse_compute_at", "bias_add", "k.0"))
    witness = error.witness
    assert witness is not None
    assert dict(witness.filling).keys() == {"k_0", "t"}
    assert math.prod(v for _, v in witness.filling) == 8
    assert 1 not in dict(witness.filling).values()
    filled = s.fill(dict(witness.filling))
    assert_conflict(forced(monkeypatch, made, filled.func, error.code), witness)


# ------------------------------------------------------------------------------------------------- what comes out of it


def test_the_values_of_a_lost_update_are_those_of_the_two_iterations() -> None:
    func = workloads.matmul(4, 4, 4)
    _, error = refusal(after(("reorder", "k", "i", "j")), ("parallel", "k"))
    witness = error.witness
    assert witness is not None
    assert witness.effect is not None
    order, otherwise = witness.effect
    inputs = {b.name: np.fromfunction(lambda *at: ((7 * sum(at)) % 19 - 9) / 4, b.shape) for b in func.inputs}
    first, second = (dict(p) for p in (witness.first, witness.second))
    terms = [inputs["A"][p["i"], p["k"]] * inputs["B"][p["k"], p["j"]] for p in (first, second)]
    assert order == sum(terms)
    assert set(otherwise) == set(terms)


def test_padding_in_front_of_a_product_is_followed_to_the_input() -> None:
    s = Schedule(workloads.conv2d_nhwc(6, 6, 4, 8))
    s.reorder("kh", "n", "h", "w", "o")
    _, error = refusal(s, ("parallel", "kh"))
    assert error.witness is not None
    assert error.witness.effect is not None, "two iterations are shown whose terms are not both padding"


# ------------------------------------------------------------------------------------------------------------ at random

SUBJECTS = {
    "products": lambda: Schedule(nests.two_products()),
    "stencil": lambda: Schedule(nests.stencil()),
    "conv": lambda: Schedule(workloads.conv2d_nhwc(4, 4, 2, 4, bias=True, relu=True), Target.host()),
    "elementwise": lambda: Schedule(workloads.elementwise(4, 6)),
}


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(SUBJECTS)), st.randoms(use_true_random=False))
def test_whatever_is_refused_a_witness_tells_the_truth(subject: str, dice: Any) -> None:
    """Witnesses of all refused moves of a random schedule, judged on the program that the step would have made."""
    schedule = SUBJECTS[subject]()
    for _ in range(dice.randint(0, 4)):
        legal = [m for m in schedule.moves(dice.choice(schedule.loops).name) if m.legal and "Hole" not in str(m.step)]
        if legal:
            schedule.apply(dice.choice(legal).step)
    if schedule.holes:
        return
    shown = [m for m in schedule.moves() if not m.legal and m.code in KINDS]
    dice.shuffle(shown)
    for move in itertools.islice(shown, 4):
        witness = move.witness
        if witness is None:
            continue
        with pytest.MonkeyPatch.context() as patch:
            assert_conflict(forced(patch, move.step, schedule.func, move.code), witness)


def test_nothing_is_shown_of_what_is_only_not_proved() -> None:
    s = REFUSALS["compute_inline.producer"][0]()
    _, error = refusal(s, REFUSALS["compute_inline.producer"][1])
    assert "not proved" in error.message
    assert error.witness is None
    assert legality.early(s.func, "U", "P") is None
