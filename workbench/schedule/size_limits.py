"""How large a nest may get: what is larger fits no machine, takes longer than anybody waits, or is too deep to walk.

A limit is about what a step makes of a nest; a function that was larger from the start may stay so. All were chosen;
no measurement set them.
"""

from __future__ import annotations

from typing import NoReturn

from workbench.ir import Block, Buffer, Expr, Func
from workbench.ir.expr import measure
from workbench.ir.size_limits import DEEPEST_EXPRESSION, MOST_NODES
from workbench.memoize import remembered
from workbench.schedule.nest_properties import NestProperties
from workbench.schedule.refusal import refuse

#: Times that a block runs in one call: about a day of one core at three a nanosecond.
MOST_ITERATIONS = 1 << 48
#: Bytes of one buffer.
MOST_BYTES = 1 << 32
#: Loops inside each other: what walks a nest takes a few frames of Python's stack for each.
DEEPEST_NEST = 64
#: Numbers in steps are below it: extents and sizes stay such that products of two fit 64 bits.
NUMBER_LIMIT = 1 << 31
#: Combinations of the holes of one relation, all of which stand in a table.
MOST_WAYS = 1 << 18
#: Copies of a body that unrolled loops write out one after the other, for short code and short compilation.
UNROLL_LIMIT = 512
#: Iterations that run as vectors; more of them are a loop of vectors, which a split says better.
VECTOR_LIMIT = 1024
#: Threads of one block, as CUDA allows.
THREAD_LIMIT = 1024


def check_inlined(block: Block, value: Expr, into: Block, code: str) -> None:
    """Refuse (`code`) to put a value in the place of a block's result where another block would get too large by it."""
    times = sum(ld.buffer == block.buffer for ld in into.loads())
    nodes, depth = measure(value)
    deepest = max(measure(e)[1] for e in into.exprs)
    if times * nodes > MOST_NODES or depth + deepest > DEEPEST_EXPRESSION:
        refuse(
            code,
            f"{into.name!r} reads {block.buffer!r} {times} times, and the value of {block.name!r} has {nodes:.2g} "
            f"parts, {depth} inside each other; together that is too large for one expression.",
            (block.name, into.name),
            "compute_at computes it once, inside the loops of its reader",
        )


def check(before: Func, after: Func, step: str) -> None:
    """Refuse ("nest.size", "nest.depth") a step that makes a nest or a buffer larger than it may be."""
    properties = NestProperties.of(after.body)
    times, block = properties.iterations
    if times > MOST_ITERATIONS and times > NestProperties.of(before.body).iterations[0]:
        _too_large(step, f"{times:.2g} runs of block", block, MOST_ITERATIONS)
    nbytes, buffer = _largest(after.buffers)
    if nbytes > MOST_BYTES and nbytes > _largest(before.buffers)[0]:
        _too_large(step, f"{nbytes:.2g} bytes of buffer", buffer, MOST_BYTES)
    depth, loop = properties.depth
    if depth > DEEPEST_NEST and depth > NestProperties.of(before.body).depth[0]:
        refuse(
            "nest.depth",
            f"After this {step} loop {loop!r} would lie inside {depth - 1} others; the limit is {DEEPEST_NEST} in all.",
            (loop,),
            "fuse loops, or split into fewer parts",
        )


def _too_large(step: str, what: str, name: str, limit: int) -> NoReturn:
    text = f"After this {step} there would be {what} {name!r}; the limit is {limit:.2g}."
    refuse("nest.size", text, (name,), "smaller numbers")


def have_room(func: Func, times: int) -> bool:
    """Whether the nest and each buffer could be so many times as large as they are."""
    nbytes, _ = _largest(func.buffers)
    return NestProperties.of(func.body).iterations[0] * times <= MOST_ITERATIONS and nbytes * times <= MOST_BYTES


@remembered(512)
def _largest(buffers: tuple[Buffer, ...]) -> tuple[int, str]:
    """Bytes of the largest buffer, and its name."""
    return max(map(_size, buffers), default=(0, ""))


@remembered(512)
def _size(buffer: Buffer) -> tuple[int, str]:
    return (buffer.nbytes, buffer.name) if all(isinstance(d, int) for d in buffer.shape) else (0, "")
