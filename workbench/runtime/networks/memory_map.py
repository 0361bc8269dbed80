"""Which tensor lies where in the memory for intermediate results, and from which call to which."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.runtime.buffers import numpy_dtype
from workbench.runtime.networks.execution_plan import ExecutablePlan
from workbench.runtime.networks.plan_check import arguments


@dataclass(frozen=True, slots=True)
class Held:
    """Memory of one tensor of the arena.

    Attributes
    ----------
    name : str
        The tensor; parts of a larger one count as that one.
    start, nbytes : int
        Where it begins in the arena, and its size, in bytes.
    first, last : int
        Numbers of the first and the last call that read or write it.
    """

    name: str
    start: int
    nbytes: int
    first: int
    last: int


def memory_map(plan: ExecutablePlan) -> tuple[Held, ...]:
    """Return what lies in the arena of a plan, in the order in which it comes to be.

    Calls that do not say what their arguments are (`CallPlan.uses`) are not in it.
    """
    found: dict[str, Held] = {}
    end = len(plan.calls) - 1
    for k, call in enumerate(plan.calls):
        for slot, use, around, dtype, _ in arguments(call) if call.uses else ():
            if slot.kind == "arena":
                size = math.prod(around) * numpy_dtype(dtype).itemsize
                known = found.get(use.memory, Held(use.memory, slot.at, 0, k, k))
                start = min(known.start, slot.at)
                stop = max(known.start + known.nbytes, slot.at + size)
                found[use.memory] = Held(use.memory, start, stop - start, known.first, k)
    kept = {slot.at for slot in plan.output_slots if slot.kind == "arena"}
    return tuple(
        Held(h.name, h.start, h.nbytes, h.first, end if h.start in kept and _newest(found, h) else h.last)
        for h in found.values()
    )


def _newest(found: dict[str, Held], held: Held) -> bool:
    """Whether nothing comes to lie over a tensor later: then it is an output that is copied after the last call."""
    return not any(
        h.first > held.first and h.start < held.start + held.nbytes and held.start < h.start + h.nbytes
        for h in found.values()
    )


def live_bytes(held: tuple[Held, ...], calls: int) -> list[int]:
    """Return the bytes of the arena that are taken while each call runs; what lies over another counts once."""
    return [_union([(h.start, h.start + h.nbytes) for h in held if h.first <= k <= h.last]) for k in range(calls)]


def _union(spans: list[tuple[int, int]]) -> int:
    reached = total = 0
    for start, stop in sorted(spans):
        total += max(0, stop - max(start, reached))
        reached = max(reached, stop)
    return total
