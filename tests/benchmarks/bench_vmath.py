"""Throughput of the vector functions beside NumPy's (erf: torch's), and of a softmax beside torch's, on one thread.

Run: ``python tests/benchmarks/bench_vmath.py [--rounds N]``. Million elements per second of thread CPU time; the
contestants of a row take turns and the median counts. "L1" is a vector of 2048 elements, computed again and again
by one call; "L2" is 250 x 1000; "1000x1000" needs more than most second-level caches.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from workbench import te
from workbench.codegen.backend import build_func
from workbench.ir import For, Func
from workbench.ir.expr import BINARY_OPS
from workbench.ir.stmt import rewrite
from workbench.runtime.kernel import Kernel
from workbench.space.default_schedule import default_schedule
from workbench.target import Target
from workbench.te.value import binary, unary
from workbench.workloads import softmax

TARGET = Target.host(threads=1)
NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": lambda x: torch.erf(torch.from_numpy(x)),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "pow": np.power,
    "mod": np.mod,
}


def function(op: str, dtype: str, m: int, n: int, repeats: int = 1) -> Func:
    """One function over a matrix, with vectorised rows; `repeats` computes it that many times."""
    x, z = te.placeholder((m, n), dtype, name="X"), te.placeholder((m, n), dtype, name="Z")

    def at(i: te.Axis, j: te.Axis) -> te.Value:
        return binary(op, x[i, j], z[i, j]) if op in BINARY_OPS else unary(op, x[i, j])

    func = te.func(te.compute((m, n), at, name="Y"))
    body = vectorised(func.body, "j")
    return replace(func, body=(For("again", repeats, body),) if repeats > 1 else body)


def vectorised(body: tuple, name: str) -> tuple:
    """The nest with one loop marked."""
    return rewrite(body, lambda s: (replace(s, kind="vectorize"),) if isinstance(s, For) and s.name == name else None)


def operands(op: str, dtype: str, m: int, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, n))
    x = np.abs(x) + 0.01 if op in ("log", "sqrt", "rsqrt", "pow") else x
    second = [rng.standard_normal((m, n)) * 3] if op in BINARY_OPS else []
    return [v.astype(dtype) for v in [x, *second]]


def compare(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of thread time of each call; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    loops = {}
    for name, call in calls.items():
        call()
        start = time.thread_time()
        call()
        loops[name] = max(1, int(5e-3 / max(time.thread_time() - start, 1e-7)))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.thread_time()
            for _ in range(loops[name]):
                call()
            times[name].append((time.thread_time() - start) / loops[name])
    return {name: statistics.median(t) for name, t in times.items()}


def prepared(func: Func, *arrays: np.ndarray) -> Callable[[], object]:
    return Kernel(func, build_func(func, TARGET), TARGET).prepare(*arrays)


def functions(rounds: int) -> None:
    """Print the table of functions."""
    print(f"{'function':10}{'dtype':10}{'L1':>9}{'L2':>9}{'numpy':>9}{'ratio':>8}{'1000x1000':>11}{'numpy':>9}")
    for dtype in ("float32", "float64"):
        for op, numpy in NUMPY.items():
            calls: dict[str, Callable[[], object]] = {}
            for m in (250, 1000):
                arrays = operands(op, dtype, m, 1000)
                calls[f"own{m}"] = prepared(function(op, dtype, m, 1000), *arrays)
                calls[f"numpy{m}"] = lambda numpy=numpy, arrays=arrays: numpy(*arrays)
            calls["l1"] = prepared(function(op, dtype, 1, 2048, 200), *operands(op, dtype, 1, 2048))
            t = compare(calls, rounds)
            rate = {k: v / t[k] / 1e6 for k, v in (("own250", 25e4), ("numpy250", 25e4), ("own1000", 1e6))}
            print(
                f"{op:10}{dtype:10}{2048 * 200 / t['l1'] / 1e6:9.0f}{rate['own250']:9.0f}{rate['numpy250']:9.0f}"
                f"{rate['own250'] / rate['numpy250']:8.2f}{rate['own1000']:11.0f}{1 / t['numpy1000']:9.0f}"
            )


def rows(rounds: int) -> None:
    """Print the softmax of the rows of a 1000 x 1000 matrix, as scheduled without tuning."""
    x = np.random.default_rng(0).standard_normal((1000, 1000)).astype(np.float32)
    calls: dict[str, Callable[[], object]] = {
        "own": prepared(default_schedule(softmax(1000, 1000), TARGET).func, x),
        "numpy": lambda: _numpy_softmax(x),
    }
    tensor = torch.from_numpy(x)
    out = torch.empty_like(tensor)
    calls["torch"] = lambda: torch.softmax(tensor, 1)
    calls["torch, into an array"] = lambda: torch._softmax(tensor, 1, False, out=out)
    for name, seconds in compare(calls, rounds).items():
        print(f"softmax 1000x1000 float32, {name}: {seconds * 1e6:.0f} us")


def _numpy_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    functions(arguments.rounds)
    rows(arguments.rounds)
