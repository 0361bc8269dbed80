"""The check of a finished plan: who may have the memory of whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.codegen.lowering import ObjectCode, ParamInfo
from workbench.errors import BuildError
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, HostCall, Slot, Use
from workbench.runtime.networks.plan_check import check_plan, reach

X, Y = ArraySpec("x", (4, 16)), ArraySpec("y", (4, 16))
BYTES = X.nbytes


def kernel(shape: tuple[int, ...], around: tuple[int, ...], into: tuple[int, ...] | None = None) -> ObjectCode:
    """Code that nobody runs: reads an array that lies in one of shape `around`, writes one that lies in `into`."""
    params = (ParamInfo("X", "input", around, "float32"), ParamInfo("Y", "output", into or shape, "float32"))
    return ObjectCode(b"", "k", "", params, 0, 0)


def call(source: Slot, target: Slot, memory: tuple[str, str], **more) -> CallPlan:
    uses = (Use(memory[0], (4, 16)), Use(memory[1], (4, 16)))
    return CallPlan("k", kernel((4, 16), (4, 16)), (source, target), uses=uses, **more)


def step(memory: tuple[str, ...], *slots: Slot) -> HostCall:
    """A step in Python that reads all slots but the last one."""
    specs = [ArraySpec(f"t{k}", (4, 16)) for k in range(len(slots))]
    places = tuple(zip(slots, specs, strict=True))
    uses = tuple(Use(m, (4, 16)) for m in memory)
    return HostCall("s", lambda *a: a[:1], places[:-1], places[-1:], "a test", "Add", uses=uses)


def chain(*, second: int = BYTES, reuses: tuple[tuple[int, int], ...] = (), late: bool = False) -> ExecutablePlan:
    """a = f(x), b = f(a) at `second`, y = f(b), which reads a once more when it is `late`."""
    end = ("a", "b", "y") if late else ("b", "y")
    calls = (
        call(Slot("input", 0), Slot("arena", 0), ("x", "a")),
        call(Slot("arena", 0), Slot("arena", second), ("a", "b"), reuses=reuses),
        step(end, *([Slot("arena", 0)] if late else []), Slot("arena", second), Slot("output", 0)),
    )
    return ExecutablePlan((X,), (Y,), (), 2 * BYTES, calls)


def turned(shape: tuple[int, ...], around: tuple[int, ...]) -> ExecutablePlan:
    """a = f(x), b = f(a) over a in another shape, in an array of shape `around`, y = f(b)."""
    first, _, last = chain(second=0).calls
    uses = (Use("a", (4, 16)), Use("b", shape))
    slots = (Slot("arena", 0), Slot("arena", 0))
    over = CallPlan("k", kernel((4, 16), (4, 16), around), slots, uses=uses, reuses=((0, 1),))
    return ExecutablePlan((X,), (Y,), (), 4 * BYTES, (first, over, last))


def parts(*, at: int = 16, twice: bool = False, ahead: bool = False) -> ExecutablePlan:
    """Two kernels write the halves of rows of 32 numbers, the second one `at` numbers into them; a third reads all."""
    half = kernel((4, 16), (4, 16), (4, 32))
    uses = (Use("x", (4, 16)), Use("joined", (4, 16)))
    written = [
        CallPlan("k", half, (Slot("input", 0), Slot("arena", 0, skip)), uses=uses)
        for skip in (0, 0 if twice else 4 * at)
    ]
    wide = ObjectCode(b"", "k", "", (ParamInfo("X", "input", (4, 32), "float32"), kernel((4, 16), ()).params[1]), 0, 0)
    read = CallPlan("r", wide, (Slot("arena", 0), Slot("output", 0)), uses=(Use("joined", (4, 32)), Use("y", (4, 16))))
    calls = (written[0], read, written[1]) if ahead else (*written, read)
    return ExecutablePlan((X,), (Y,), (), 4 * BYTES, calls)


GOOD = {
    "apart": chain(),
    "one after the other in one place": chain(second=0, reuses=((0, 1),)),
    "one after the other in another shape": turned((8, 8), (8, 8)),
    "parts": parts(),
    "apart, and read late": chain(late=True),
}
BAD = {
    "a result over its operand": chain(second=0),
    "over its operand, with gaps": turned((4, 8), (4, 15)),
    "half over its operand": chain(second=BYTES // 2, reuses=((0, 1),)),
    "over what is read later": chain(second=0, reuses=((0, 1),), late=True),
    "parts that overlap": parts(at=8),
    "the same part twice": parts(twice=True),
    "read before all is written": parts(ahead=True),
    "read before anything is written": replace(chain(), calls=chain().calls[1:]),
    "a part that reaches beyond the arena": replace(parts(), arena_bytes=2 * BYTES - 64),
    "a negative skip": replace(
        chain(), calls=(call(Slot("input", 0, -4), Slot("arena", 0), ("x", "a")), *chain().calls[1:])
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_accepted(name):
    check_plan(GOOD[name])


@pytest.mark.parametrize("name", BAD)
def test_refused(name):
    with pytest.raises(BuildError) as caught:
        check_plan(BAD[name])
    assert caught.value.code == "build.plan"


def test_a_plan_whose_arguments_nobody_knows_is_not_followed():
    plan = chain(second=0)
    check_plan(replace(plan, calls=(replace(plan.calls[0], uses=()), *plan.calls[1:])))


def test_reach():
    assert reach((4, 16), (4, 16), "float32") == BYTES
    assert reach((4, 16), (4, 32), "float32") == (3 * 32 + 16) * 4
    assert reach((0, 16), (0, 32), "float32") == 0
    assert reach((2, 2), (4,), "int8") == 4
