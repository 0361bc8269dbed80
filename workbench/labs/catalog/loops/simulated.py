"""The cache of the lab, and the nests that run on it."""

from __future__ import annotations

from workbench import te
from workbench.analysis import Cache, CacheCounts, cache_view
from workbench.ir import Func
from workbench.labs.exercise import Setting
from workbench.schedule import Schedule

#: So small that small matrices behave on it as large ones do on a real one: 64 lines, in 8 sets of 8.
CACHE = Cache("cache", 4096, ways=8)
LINES = 64
#: Rows of the matrix whose columns are summed: more than the cache has lines.
ROWS = 80
#: Rows and columns of square matrices; a column has more lines than the cache.
SIZES = {"n": (80, 112, 144)}


def run(s: Schedule | Func) -> CacheCounts:
    """Return what every access of a nest does to the cache of the lab."""
    return cache_view(s, levels=CACHE)


def misses(s: Schedule | Func, buffer: str | None = None) -> int:
    """Return how many accesses of a nest, or of one array in it, miss the cache of the lab."""
    return run(s).misses(CACHE.name, buffer)


def column_sums(rows: int, columns: int, row_length: int | None = None) -> Func:
    """Return the sums of the columns of X; from row to row of X there are `row_length` numbers in memory."""
    x = te.placeholder((rows, columns if row_length is None else row_length), name="X")
    i = te.reduce_axis(rows, name="i")
    return te.func(te.compute((columns,), lambda j: te.sum(x[i, j], axis=i), name="Y"), name="column_sums")


def transposition(n: int) -> Func:
    """Return C, which is A with rows and columns exchanged."""
    a = te.placeholder((n, n), name="A")
    return te.func(te.compute((n, n), lambda j, i: a[i, j], name="C"), name="transposition")


def rows_by_rows(n: int) -> Func:
    """Return the product of A and the transposition of B: each element multiplies a row by a row."""
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis(n, name="k")
    return te.func(te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C"), name="rows_by_rows")


def cubed(at: Setting) -> int:
    """Multiply-adds of a product of square matrices."""
    return at["n"] ** 3
