"""How many memory accesses a second run on simulated caches.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_cache.py

For each nest: accesses, seconds with compiling, millions of accesses a second, and the share of them that misses the
first level. The claim is 50 million a second for each nest: 20 ns an access.
"""

from __future__ import annotations

import time

import pytest

import workbench as wb
from workbench import te
from workbench.analysis import Cache, cache_view

LEVELS = (Cache("L1", 32 << 10, 8), Cache("L2", 1 << 20, 8), Cache("L3", 32 << 20, 16))
CLAIM = 50e6


def matmul(order=None):
    s = wb.Schedule(wb.workloads.matmul(512, 512, 512))
    return s.reorder(order) if order else s


def tiled():
    s = matmul()
    i0, i1 = s.split("i", [None, 32])
    j0, j1 = s.split("j", [None, 32])
    k0, k1 = s.split("k", [None, 32])
    return s.reorder([i0, j0, k0, i1, k1, j1])


def transposition():
    a = te.placeholder((4096, 4096), "float32", "A")
    return wb.Schedule(te.func([te.compute((4096, 4096), lambda i, j: a[j, i], "B")]))


NESTS = {
    "matmul 512": matmul,
    "matmul 512, ikj": lambda: matmul(["i", "k", "j"]),
    "matmul 512, tiles of 32": tiled,
    "transposition 4096 (misses every level)": transposition,
}


def measure(name):
    """Return accesses, seconds, and the share that misses the first level."""
    s = NESTS[name]()
    start = time.perf_counter()
    view = cache_view(s, levels=LEVELS, accesses="written", limit=10**9)
    return view.total(), time.perf_counter() - start, view.miss_rate("L1")


@pytest.mark.bench
@pytest.mark.parametrize("name", NESTS)
def test_fifty_million_accesses_a_second(name):
    accesses, seconds, _ = measure(name)
    assert accesses / seconds > CLAIM


if __name__ == "__main__":
    for nest in NESTS:
        accesses, seconds, rate = measure(nest)
        speed = f"{seconds:7.2f} s {accesses / seconds / 1e6:8.0f} M/s"
        print(f"{nest:42} {accesses:12,} {speed} {100 * rate:6.1f} % miss L1")
