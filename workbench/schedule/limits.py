"""How large a nest may get: what is larger fits no machine, takes longer than anybody waits, or is too deep to walk.

A limit is about what a step makes of a nest; a function that was larger from the start may stay so.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.expr import DEEPEST as MOST_LEVELS
from ..ir.expr import MOST_NODES, Expr, measure
from ..ir.func import Buffer, Func
from ..ir.remembered import Remembered
from ..ir.stmt import Block
from .outline import Outline
from .refusal import refuse

#: Most times that a block may run, about a day of one core.
MOST_ITERATIONS = 1 << 48
#: Most bytes of one buffer.
MOST_BYTES = 1 << 32
#: Most loops inside each other; what walks a nest takes a few frames of Python's stack for each.
DEEPEST = 64


@dataclass(slots=True)
class _Largest:
    """The largest of each kind, with the loop, block or buffer that it was found at."""

    iterations: tuple[int, str] = (0, "")
    depth: tuple[int, str] = (0, "")
    nbytes: tuple[int, str] = (0, "")

    @staticmethod
    def of(func: Func) -> _Largest:
        whole = Outline.of(func.body)
        return _Largest(whole.iterations, whole.depth, _SIZES.of((func.buffers,), lambda: _most_bytes(func)))


def check_inlined(block: Block, value: Expr, into: Block, code: str) -> None:
    """Refuse (`code`) to put a value in the place of a block's result where another block would get too large by it."""
    times = sum(ld.buffer == block.buffer for ld in into.loads())
    nodes, depth = measure(value)
    deepest = max(measure(e)[1] for e in into.exprs)
    if times * nodes > MOST_NODES or depth + deepest > MOST_LEVELS:
        refuse(
            code,
            f"{into.name!r} reads {block.buffer!r} {times} times, and the value of {block.name!r} has {nodes:.2g} "
            f"parts, {depth} inside each other; together that is too large for one expression.",
            (block.name, into.name),
            "compute_at computes it once, inside the loops of its reader",
        )


def check(before: Func, after: Func, step: str) -> None:
    """Refuse ("nest.size", "nest.depth") a step that makes a nest or a buffer larger than it may be."""
    new = _Largest.of(after)
    limits = (
        (new.iterations, MOST_ITERATIONS, "iterations", "runs of block"),
        (new.nbytes, MOST_BYTES, "nbytes", "bytes of buffer"),
    )
    for (size, name), limit, kind, what in limits:
        if size > limit and size > getattr(_Largest.of(before), kind)[0]:
            text = f"After this {step} there would be {size:.2g} {what} {name!r}; the limit is {limit:.2g}."
            refuse("nest.size", text, (name,), "smaller numbers")
    depth, loop = new.depth
    if depth > DEEPEST and depth > _Largest.of(before).depth[0]:
        refuse(
            "nest.depth",
            f"After this {step} loop {loop!r} would lie inside {depth - 1} others; the limit is {DEEPEST} in all.",
            (loop,),
            "fuse loops, or split into fewer parts",
        )


_SIZES: Remembered[tuple[int, str]] = Remembered(1024)


def _most_bytes(func: Func) -> tuple[int, str]:
    return max(map(_size, func.buffers), default=(0, ""))


def _size(b: Buffer) -> tuple[int, str]:
    return _SIZES.of((b,), lambda: (b.nbytes, b.name) if all(isinstance(d, int) for d in b.shape) else (0, ""))
