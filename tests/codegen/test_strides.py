"""Rows that are read from their end or in steps: vectors that are turned round or picked from, whole and cut."""

import numpy as np
import pytest
from codegen.running import marked

from workbench import te
from workbench.codegen.backend import build_func
from workbench.ir.interpreter import interp
from workbench.runtime.kernel import Kernel
from workbench.target import Target

CPUS = [
    t
    for t in (Target.host(threads=1), *(Target("llvm", cpu=cpu, threads=1) for cpu in ("haswell", "x86-64")))
    if Target.host().arch == t.arch and not t.missing_here()
]


def mirrored(n: int, before: int, behind: int, dtype: str):
    """A row between two reflections of its ends."""
    x = te.placeholder((3, n), dtype, name="X")

    def place(i, k):
        rest = te.select(k < before + n, x[i, k - before], x[i, k * -1 + (before + 2 * n - 2)])
        return te.select(k < before, x[i, k * -1 + before], rest)

    return te.func(te.compute((3, before + n + behind), place, name="Y"))


@pytest.mark.parametrize("target", CPUS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16", "bool"])
def test_turned_rows(dtype, target):
    rng = np.random.default_rng(0)
    for n in (*range(2, 36, 3), 64, 200):
        for before, behind in ((0, 0), (1, 1), (n - 1, n - 1), (n // 2, 0)):
            func = marked(mirrored(n, before, behind, dtype), k="vectorize")
            x = (rng.normal(size=(3, n)) * 50).astype(dtype)
            got = Kernel(func, build_func(func, target, poison=True), target, poison=True)(x)
            np.testing.assert_array_equal(got, interp.run(func, {"X": x})["Y"])


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_whole_rows_the_other_way_round(dtype):
    for n in (1, 5, 16, 33, 150):
        x = te.placeholder((2, n), dtype, name="X")
        func = te.func(te.compute((2, n), lambda i, k, x=x, n=n: x[i, k * -1 + (n - 1)], name="Y"))
        data = np.arange(2 * n).reshape(2, n).astype(dtype)
        func = marked(func, k="vectorize")
        target = CPUS[0]
        np.testing.assert_array_equal(Kernel(func, build_func(func, target), target)(data), data[:, ::-1])


@pytest.mark.parametrize("target", CPUS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "bool", "float16"])
def test_rows_in_steps(dtype, target):
    """To the very last element of a buffer, and to the lanes of narrower rests."""
    if dtype == "float16" and not target.isa & {"f16c", "avx512fp16"}:
        pytest.skip("this processor has no float16")
    rng = np.random.default_rng(0)
    for step in (2, 3, 4, 5):
        for n in (2, 8, 14, 21, 31, 64, 150):
            x = te.placeholder((2, step * (n - 1) + 1), dtype, name="X")
            func = te.func(te.compute((2, n), lambda i, k, x=x, step=step: x[i, k * step], name="Y"))
            data = (rng.normal(size=x.shape) * 50).astype(dtype)
            got = Kernel(marked(func, k="vectorize"), build_func(marked(func, k="vectorize"), target), target)(data)
            np.testing.assert_array_equal(got, data[:, ::step])
