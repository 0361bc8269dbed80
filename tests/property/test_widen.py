"""Kernels whose parameters are parts of larger arrays: rows lie further apart and begin anywhere, under every schedule.

Around the parts lies NaN in inputs and a number in outputs that must still be there afterwards.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from property import products
from property.checks import expected
from property.randoms import Made, _attempt, random_schedule
from workbench.codegen.backend import build_func
from workbench.codegen.c import compiler
from workbench.intrinsics import registry
from workbench.ir import Buffer, Func, loops
from workbench.ir.interpreter import interp
from workbench.ir.parameter_strides import widen
from workbench.runtime.buffers import aligned_empty, pointer_table
from workbench.runtime.kernel import Kernel
from workbench.target import Target

NAMES = (
    "conv_bias_relu", "conv_residual", "depthwise", "max_pool_padded", "elementwise", "softmax", "transpose", "concat",
    "matmul_bias_relu",
    "conv_transposed", "two_outputs", "stencils",
)  # fmt: skip
AROUND = 77


def wide_shape(rng: random.Random, b: Buffer) -> tuple[int, ...]:
    """Longer by a random number in some dimensions, but not in the first, where nothing lies in between."""
    shape = tuple(int(d) for d in b.shape)
    return tuple(n + (rng.choice((0, 0, 1, 3, 16, n)) if d else 0) for d, n in enumerate(shape))


class Room:
    """Memory of a parameter: a part that begins some elements into an array."""

    def __init__(self, rng: random.Random, b: Buffer, shape: tuple[int, ...]) -> None:
        own = tuple(int(d) for d in b.shape)
        start, size = rng.choice((0, 1, 5, 16)), int(np.prod(shape))
        self.array = aligned_empty((start + size + 64,), b.dtype)
        self.array[...] = np.nan if b.role != "output" and self.array.dtype.kind == "f" else AROUND
        inside = self.array[start : start + size].reshape(shape)
        self.part = inside[tuple(slice(n) for n in own)]
        self.address = inside.ctypes.data

    def untouched(self) -> bool:
        self.part[...] = AROUND
        return bool((self.array == AROUND).all())


def check(rng: random.Random, made: Made, func: Func, target: Target, tally: Counter[str]) -> None:
    inputs, want = expected(made.nest)
    rooms: list[Room] = []
    wide = func
    for b in func.params:
        shape = tuple(int(d) for d in b.shape)
        if b.role != "const" and not b.layout:
            shape = wide_shape(rng, b)
            wide = widen(wide, b.name, shape)
            tally["widened"] += shape != b.shape
        rooms.append(Room(rng, b, shape))
    kernel = Kernel(wide, build_func(wide, target), target)
    for b, room in zip(func.params, rooms, strict=True):
        if b.role != "output":
            room.part[...] = kernel._operand(b, inputs[b.name])
    kernel._around.call(kernel._loaded.address, pointer_table([r.address for r in rooms]))
    for b, room in zip(func.params, rooms, strict=True):
        if b.role == "output":
            close = np.allclose(room.part, want[b.name], rtol=1e-4, atol=1e-4)
            assert close, f"{b.name} of {made}\n{wide}"
            assert room.untouched(), f"outside of {b.name} of {made}\n{wide}"
    tally[made.nest] += 1
    tally.update({lp.intrin for lp, _ in loops(func.body) if lp.intrin})


def can_run(func: Func, target: Target) -> bool:
    return not any(registry[lp.intrin].missing(target) for lp, _ in loops(func.body) if lp.intrin)


def many(count: int, seed: int, kind: str = "llvm") -> Counter[str]:
    rng, tally, target = random.Random(seed), Counter[str](), Target(kind, threads=2)
    for k in range(count):
        if k % 5 == 4:
            made = random_schedule(rng, "tensorize") if k % 2 else products.product(rng)
        else:
            made = _attempt(rng, NAMES[k % len(NAMES)], None, False, False)
        if made.schedule.func.is_concrete and can_run(made.schedule.func, target):
            check(rng, made, made.schedule.func, target, tally)
    return tally


def test_random_schedules():
    tally = many(60, 3)
    assert tally["widened"] > 40, tally


@pytest.mark.skipif(compiler.problem(Target("c", threads=2)) is not None, reason="there is no C compiler")
def test_portable_c():
    assert many(6, 4, "c")["widened"] > 0


@pytest.mark.slow
def test_many_random_schedules():
    assert many(1500, 5)["widened"] > 1000


def test_the_reference_interpreter_agrees_on_what_is_written():
    """A widened function stores exactly the elements of the part."""
    made = _attempt(random.Random(7), "elementwise", None, False, False)
    func = made.schedule.func
    (b,) = func.outputs
    shape = tuple(int(d) + (3 if k else 0) for k, d in enumerate(b.shape))
    wide = widen(func, b.name, shape)
    writes = interp.trace_run(wide, interp.random_inputs(wide)).writes[b.name]
    own = np.zeros(shape, np.int64)
    own[tuple(slice(int(d)) for d in b.shape)] = 1
    np.testing.assert_array_equal(writes, own)
