"""A check of a finished plan that knows nothing of how the plan was made: what lies where, and what shares memory.

It walks through the calls and notes for every memory where it begins, how far it reaches, and which of its elements
have been written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.errors import BuildError
from workbench.runtime.buffers import ALIGNMENT, Array, numpy_dtype
from workbench.runtime.networks.execution_plan import CallPlan, ExecutablePlan, HostCall, Slot, Use


@dataclass(frozen=True, slots=True)
class Touch:
    """One argument of a call: bytes from `start` on in the arena, as elements of `shape` with `strides` in bytes."""

    memory: str
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    written: bool

    @property
    def end(self) -> int:
        """End of its last element."""
        return self.start + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + self.itemsize


@dataclass(slots=True)
class _Memory:
    """All that is known of one tensor's memory."""

    touches: list[tuple[int, Touch]] = field(default_factory=list)

    @property
    def start(self) -> int:
        return min(t.start for _, t in self.touches)

    @property
    def end(self) -> int:
        return max(t.end for _, t in self.touches)

    @property
    def first(self) -> int:
        return self.touches[0][0]

    @property
    def last(self) -> int:
        return self.touches[-1][0]


def reach(shape: Sequence[int], around: Sequence[int], dtype: str) -> int:
    """Bytes from the first to the end of the last element of an array of `shape` whose elements lie as in one of the
    shape `around`.
    """
    last, step = 0, 1
    if 0 in shape:
        return 0
    if len(shape) != len(around):
        return math.prod(shape) * numpy_dtype(dtype).itemsize
    for n, wide in zip(reversed(shape), reversed(around), strict=True):
        last += (n - 1) * step
        step *= wide
    return (last + 1) * numpy_dtype(dtype).itemsize


def check_sharing(plan: ExecutablePlan) -> None:
    """Refuse a plan in which a tensor of the arena is overwritten by another one before it was read for the last time.

    Calls that do not say what their arguments are cannot be followed; a plan with such calls is not looked at.

    Raises
    ------
    BuildError
        ``build.plan``.
    """
    if not all(c.uses for c in plan.calls):
        return
    found: dict[str, _Memory] = {}
    for k, call in enumerate(plan.calls):
        for touch in _touches(call):
            found.setdefault(touch.memory, _Memory()).touches.append((k, touch))
    handed = {pair for k, call in enumerate(plan.calls) for pair in _handed(k, call)}
    _check_apart(found, handed)
    for name, memory in found.items():
        _check_written(name, memory)


def _touches(call: CallPlan | HostCall) -> list[Touch]:
    """What a call reads of the arena, then what it writes."""
    out: list[Touch] = []
    for slot, use, around, dtype, written in arguments(call):
        if slot.kind == "arena" and 0 not in use.shape:
            size = numpy_dtype(dtype).itemsize
            strides = tuple(math.prod(around[d + 1 :]) * size for d in range(len(around)))
            out.append(Touch(use.memory, slot.at + slot.skip, use.shape, strides, size, written))
    return sorted(out, key=lambda t: t.written)


def arguments(call: CallPlan | HostCall) -> list[tuple[Slot, Use, tuple[int, ...], str, bool]]:
    """Each argument with the shape and dtype of the array that it lies in, and whether it is written."""
    slots: list[Any] = [*call.args]
    if isinstance(call, CallPlan):
        lies = [(p.shape, p.dtype, p.role == "output") for p in call.code.params]
    else:
        places = [*call.args, *call.results]
        lies = [(spec.shape, spec.dtype, k >= len(call.args)) for k, (_, spec) in enumerate(places)]
        slots = [slot for slot, _ in places]
    return [(slot, use, *lie) for slot, use, lie in zip(slots, call.uses, lies, strict=True)]


def _handed(k: int, call: CallPlan | HostCall) -> Iterator[tuple[str, str, int]]:
    """Memories of which a call may write the second over the first, and when: element over element, or all over all."""
    every = arguments(call)
    for old, new in getattr(call, "reuses", ()):
        (a, mine, *lies), (b, yours, *lie) = every[old], every[new]
        alike = mine.shape == yours.shape or (_gapless(mine, *lies) and _gapless(yours, *lie))
        if alike and (a.at, a.skip) == (b.at, b.skip):
            yield mine.memory, yours.memory, k


def _gapless(use: Use, around: Sequence[int], dtype: str, written: bool) -> bool:
    """Whether nothing lies between the elements of an argument."""
    return reach(use.shape, around, dtype) == math.prod(use.shape) * numpy_dtype(dtype).itemsize


def _check_apart(found: dict[str, _Memory], handed: set[tuple[str, str, int]]) -> None:
    """Refuse two memories that overlap while both are needed."""
    order = sorted(found, key=lambda name: found[name].start)
    for k, a in enumerate(order):
        for b in order[k + 1 :]:
            if found[b].start >= found[a].end:
                break
            early, late = sorted((a, b), key=lambda name: found[name].first)
            meet = found[late].first
            if meet > found[early].last:
                continue
            same = found[early].start == found[late].start and found[early].end == found[late].end
            if not (same and meet == found[early].last and (early, late, meet) in handed):
                text = f"{early} and {late} overlap in memory while both are needed"
                raise BuildError("build.plan", text, (early, late))


def _check_written(name: str, memory: _Memory) -> None:
    """Refuse reads of elements that no call has written yet, and elements that two calls write."""
    if len({(t.start, t.shape, t.strides) for _, t in memory.touches}) == 1:
        writes = [k for k, t in memory.touches if t.written]
        if len(writes) != 1 or not memory.touches[0][1].written:
            raise BuildError("build.plan", f"{name} is written {len(writes)} times, or read before", (name,))
        return
    start = memory.start
    unit = math.gcd(*(n for _, t in memory.touches for n in (t.itemsize, t.start - start, *t.strides)))
    there: Array = np.zeros((memory.end - start) // unit, np.bool_)
    for _, t in memory.touches:
        shape, strides = (*t.shape, t.itemsize // unit), (*(s // unit for s in t.strides), 1)
        part = np.lib.stride_tricks.as_strided(there[(t.start - start) // unit :], shape, strides, writeable=t.written)
        if not t.written and not part.all():
            raise BuildError("build.plan", f"a part of {name} is read before it is written", (name,))
        if t.written:
            if part.any():
                raise BuildError("build.plan", f"two calls write the same part of {name}", (name,))
            part[...] = True


def check_plan(plan: ExecutablePlan) -> None:
    """Refuse a plan whose calls would read or write memory that is not theirs.

    Raises
    ------
    BuildError
        ``build.plan``: the compiler made a mistake, which must not become a wild pointer.
    """
    slots = plan.output_slots or tuple(Slot("output", i) for i in range(len(plan.outputs)))
    if len(slots) != len(plan.outputs):
        raise BuildError("build.plan", f"{len(plan.outputs)} outputs but {len(slots)} places for them")
    for spec, slot in zip(plan.outputs, slots, strict=True):
        _check_slot(plan, slot, spec.nbytes, f"output {spec.name}")
    copied = [Slot("output", i) for i, slot in enumerate(slots) if slot != Slot("output", i)]
    for call in plan.calls:
        _check_call(plan, call, copied)
    check_sharing(plan)


def _check_call(plan: ExecutablePlan, call: CallPlan | HostCall, copied: Sequence[Slot]) -> None:
    written: list[Slot] = []
    if isinstance(call, HostCall):
        for slot, spec in (*call.args, *call.results):
            _check_slot(plan, slot, spec.nbytes, f"{spec.name} of {call.name}")
        written = [slot for slot, _ in call.results]
    else:
        params = call.code.params
        if len(params) != len(call.args):
            text = f"{call.name} has {len(call.args)} arguments, its kernel takes {len(params)}"
            raise BuildError("build.plan", text, (call.name,))
        for k, (param, slot) in enumerate(zip(params, call.args, strict=True)):
            shape = call.uses[k].shape if call.uses and slot.kind != "const" else param.shape
            _check_slot(plan, slot, reach(shape, param.shape, param.dtype), f"{param.name} of {call.name}")
        written = [slot for param, slot in zip(params, call.args, strict=True) if param.role == "output"]
    for slot in written:
        if slot.kind in ("input", "const"):
            raise BuildError("build.plan", f"{call.name} would write to a read-only {slot.kind}", (call.name,))
        if slot in copied:
            text = f"{call.name} would write to output {slot.at}, which is copied from elsewhere in the end"
            raise BuildError("build.plan", text, (call.name,))


def _check_slot(plan: ExecutablePlan, slot: Slot, nbytes: int, what: str) -> None:
    if slot.kind == "arena":
        begins = slot.at >= 0 and slot.skip >= 0 and slot.at % ALIGNMENT == 0
        fits = begins and slot.at + slot.skip + nbytes <= plan.arena_bytes
        size: int | None = None
    else:
        sizes = {
            "input": [s.nbytes for s in plan.inputs],
            "output": [s.nbytes for s in plan.outputs],
            "const": [a.nbytes for a in plan.constants],
        }[slot.kind]
        size = sizes[slot.at] if 0 <= slot.at < len(sizes) else -1
        # A part of a larger tensor is shorter than what is there.
        fits = (size == nbytes and not slot.skip) or (slot.kind != "const" and 0 <= slot.skip <= size - nbytes)
    if not fits:
        room = f"{size} bytes are there" if size is not None else f"the arena has {plan.arena_bytes} bytes"
        raise BuildError("build.plan", f"{what} needs {nbytes} bytes at {slot.kind} {slot.at}; {room}", (what,))
