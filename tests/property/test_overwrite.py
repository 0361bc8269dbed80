"""What `overwritable` allows may be done: an output that lies over an input is right, under every schedule.

Checked by running: the interpreter with one memory for both and its unordered loops in three orders, and the compiled
kernel with one address for both. Some pairs that it refuses are shown to be wrong, so the refusals are no excess.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from property.checks import CANARY
from property.nests import EXPECTED, NESTS
from property.randoms import _attempt
from workbench import te
from workbench.codegen.backend import build_func
from workbench.ir import Func
from workbench.ir.in_place import overwritable
from workbench.ir.interpreter import interp
from workbench.runtime.buffers import aligned_empty, pointer_table
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.target import Target

NAMES = ("conv_residual", "softmax", "layer_norm", "elementwise", "gelu", "two_outputs", "row_share", "both_given")
ORDERS = ("program", "reversed", "shuffled")


def agree(got: np.ndarray, want: np.ndarray) -> bool:
    return np.allclose(got, want, rtol=1e-4, atol=1e-5)


def interpreted(func: Func, inputs: dict[str, np.ndarray], pair: tuple[int, int], order: str) -> dict[str, np.ndarray]:
    operand, result = (func.params[k].name for k in pair)
    return interp.run(func, inputs, order, over={result: operand})


def compiled(func: Func, inputs: dict[str, np.ndarray], pair: tuple[int, int], threads: int) -> dict[str, np.ndarray]:
    """Outputs of the kernel when the operand's address is the result's, with canaries around."""
    target = Target("llvm", threads=2)
    kernel = Kernel(func, build_func(func, target), target, threads)
    arrays = []
    for b in func.params:
        room = aligned_empty((int(np.prod(b.shape)) + 2 * CANARY,), b.dtype)
        room[...] = 123
        if b.role != "output":
            given = kernel._operand(b, inputs[b.name])
            room[CANARY:-CANARY] = given.reshape(-1)
        arrays.append(room)
    arrays[pair[1]] = arrays[pair[0]]
    kernel._around.call(kernel._loaded.address, pointer_table([a[CANARY:].ctypes.data for a in arrays]))
    assert all((a[:CANARY] == 123).all() and (a[-CANARY:] == 123).all() for a in arrays)
    shapes = [tuple(int(d) for d in b.shape) for b in func.params]
    return {
        b.name: a[CANARY:-CANARY].reshape(s)
        for b, a, s in zip(func.params, arrays, shapes, strict=True)
        if b.role == "output"
    }


def wanted(name: str, inputs: dict[str, np.ndarray], func: Func) -> dict[str, np.ndarray]:
    got = EXPECTED[name](inputs)
    return got if isinstance(got, dict) else {func.outputs[0].name: got}


def check(name: str, func: Func, tally: Counter[str], machine: bool) -> None:
    inputs = interp.random_inputs(func)
    want = wanted(name, inputs, func)
    for pair in overwritable(func):
        result = func.params[pair[1]].name
        for order in ORDERS:
            got = interpreted(func, inputs, pair, order)[result]
            assert agree(got, want[result]), f"{name}: {pair} in {order} order\n{func}"
        tally[name] += 1
        for threads in (1, 2) if machine else ():
            got = compiled(func, inputs, pair, threads)[result]
            assert agree(got, want[result]), f"{name}: {pair} compiled, {threads} threads\n{func}"
            tally["compiled"] += 1


def many(count: int, seed: int) -> Counter[str]:
    tally: Counter[str] = Counter()
    rng = random.Random(seed)
    for k in range(count):
        name = NAMES[k % len(NAMES)]
        made = _attempt(rng, name, None, False, False)
        check(name, made.schedule.func, tally, machine=k % 3 == 0)
    return tally


def test_random_schedules():
    tally = many(120, 1)
    assert all(tally[name] >= 3 for name in NAMES), tally
    assert tally["compiled"] >= 30, tally


@pytest.mark.slow
def test_many_random_schedules():
    assert many(2000, 2).total() > 2000


def chain(shape: tuple[int, ...] = (8, 32)) -> Func:
    x = te.placeholder(shape, "float32", "X")
    a = te.compute(shape, lambda i, j: x[i, j] * 2.0, "a")
    return te.func(te.compute(shape, lambda i, j: a[i, j] + 1.0, "b"), "chain")


def backwards() -> Func:
    x = te.placeholder((8, 32), "float32", "X")
    return te.func(te.compute((8, 32), lambda i, j: x[7 - i, j] + 1.0, "b"), "backwards")


def neighbours() -> Func:
    x = te.placeholder((8, 32), "float32", "X")
    a = te.compute((9, 32), lambda i, j: te.select(i > 0, x[i - 1, j], 0.0), "a")
    return te.func(te.compute((8, 32), lambda i, j: a[i, j] + a[i + 1, j], "b"), "neighbours")


def test_a_stage_in_a_buffer_of_its_own_reads_in_time():
    s = Schedule(chain())
    assert overwritable(s.func) == ((0, 1),)
    s.compute_at("a", "b_i")
    assert overwritable(s.func) == ((0, 1),)


def reread() -> Schedule:
    """All of X is read again for every row of the result, after earlier rows were written."""
    x = te.placeholder((8, 32), "float32", "X")
    k = te.reduce_axis(8, "k")
    total = te.compute((8, 32), lambda i, j: te.sum(x[k, j], [k]), "total")
    s = Schedule(te.func(te.compute((8, 32), lambda i, j: total[i, j] + x[i, j], "b"), "reread"))
    s.compute_at("total", "b_i")
    return s


def halo() -> Schedule:
    """The row of X before is read once more, after its place was written."""
    s = Schedule(neighbours())
    s.compute_at("a", "b_i")
    return s


REFUSED = {"backwards": lambda: Schedule(backwards()), "reread": reread, "halo": halo}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_would_be_wrong(case):
    func = REFUSED[case]().func
    assert overwritable(func) == ()
    inputs = interp.random_inputs(func)
    want = interp.run(func, inputs)["b"]
    pair = (0, len(func.params) - 1)
    assert any(not agree(interpreted(func, inputs, pair, order)["b"], want) for order in ORDERS)


def test_other_sizes_types_and_constants_are_refused():
    for name in ("matmul", "max_pool", "concat", "transpose"):
        assert overwritable(NESTS[name]()) == ()
    x = te.placeholder((8, 32), "float32", "X")
    cast = te.func(te.compute((8, 32), lambda i, j: te.cast(x[i, j], "int32"), "b"), "cast")
    assert overwritable(cast) == ()
    c = te.placeholder((8, 32), "float32", "C", constant=True)
    assert overwritable(te.func(te.compute((8, 32), lambda i, j: c[i, j] + 1.0, "b"), "constant")) == ()
