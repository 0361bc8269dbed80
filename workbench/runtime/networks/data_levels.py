"""Where the data of each call of a network come from: the cache that still holds them, or memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from workbench.runtime.buffers import numpy_dtype
from workbench.runtime.machine.measured_roofline import MEMORY
from workbench.runtime.networks.execution_plan import CallPlan, ExecutablePlan, HostCall

#: What is touched together: which memory, and where in it.
_Place = tuple[str, int]


def data_levels(plan: ExecutablePlan, caches: Mapping[str, int]) -> list[dict[str, float]]:
    """Return for each call which part of its operands comes from where, when runs follow each other.

    A cache is taken to hold what was touched last, as much as it has room for: weights were touched a whole run ago,
    results a call ago.

    Parameters
    ----------
    plan : ExecutablePlan
    caches : mapping of str to int
        Bytes of each, the nearest first.

    Returns
    -------
    list of dict
        For each call parts that add up to one, by cache or `MEMORY`; empty for a call without operands.
    """
    operands = [_operands(call) for call in plan.calls]
    touched: dict[_Place, int] = {}  # the least recent first
    for places in operands:
        _touch(touched, places)
    out: list[dict[str, float]] = []
    for places in operands:
        found: dict[str, float] = {}
        whole = sum(places.values())
        for place, nbytes in places.items():
            level = _level(touched, place, nbytes, caches)
            found[level] = found.get(level, 0.0) + nbytes / max(1, whole)
        out.append(found)
        _touch(touched, places)
    return out


def _operands(call: CallPlan | HostCall) -> dict[_Place, int]:
    """What a call touches, and how many bytes of it, in the order of its operands."""
    if isinstance(call, HostCall):
        return {(slot.kind, slot.at): spec.nbytes for slot, spec in (*call.args, *call.results)}
    sizes = (math.prod(p.shape) * numpy_dtype(p.dtype).itemsize for p in call.code.params)
    return {(slot.kind, slot.at): size for slot, size in zip(call.args, sizes, strict=True)}


def _touch(touched: dict[_Place, int], places: Mapping[_Place, int]) -> None:
    for place, nbytes in places.items():
        touched.pop(place, None)
        touched[place] = nbytes


def _level(touched: dict[_Place, int], place: _Place, nbytes: int, caches: Mapping[str, int]) -> str:
    """Return the nearest cache that has room for all that was touched since this was."""
    most = max(caches.values(), default=0)
    between = nbytes
    for other in _since(touched, place):
        between += other
        if between > most:
            return MEMORY
    return next((cache for cache, size in caches.items() if between <= size), MEMORY)


def _since(touched: dict[_Place, int], place: _Place) -> Iterable[int]:
    """Yield the bytes of what was touched after something, the latest first."""
    for other in reversed(touched):
        if other == place:
            return
        yield touched[other]
