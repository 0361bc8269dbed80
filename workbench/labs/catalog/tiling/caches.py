"""The caches of the lab, and nests in tiles that run on them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from workbench.analysis import Cache, CacheCounts, cache_view
from workbench.ir import Func
from workbench.labs.catalog.loops.simulated import CACHE, cubed
from workbench.labs.counting import PER_LINE
from workbench.labs.exercise import Goal, Setting
from workbench.labs.goals import misses_at_most
from workbench.schedule import Schedule
from workbench.workloads import matmul

#: The cache of lab 1, and one behind it that is eight times as large.
L1 = Cache("L1", CACHE.size, CACHE.ways)
L2 = Cache("L2", 8 * CACHE.size, CACHE.ways)
#: Rows and columns: a row has an odd number of lines, and tiles of 4, 8, 12, 16, 24 and 48 divide it.
SIZES = {"n": (144, 240, 336)}
#: Rows and columns of a tile of which three fit into L1, and into L2.
NEAR, FAR = 16, 48


def product(at: Setting) -> Func:
    """Return the product of square matrices of the student's size."""
    return matmul(at["n"], at["n"], at["n"])


def few(share: int) -> Goal:
    """Return the goal that at most so small a share of the multiply-adds miss L1."""
    return misses_at_most(lambda at: cubed(at) // share, L1, L2)


def run(s: Schedule | Func) -> CacheCounts:
    """Return what every access of a nest does to the two caches."""
    return cache_view(s, levels=(L1, L2))


def cut(s: Schedule, sizes: Sequence[int]) -> None:
    """Cut all three loops of a product into tiles of these sizes, the outermost first; j stays innermost."""
    factors = [a // b for a, b in pairwise(sizes)]
    for loop in ("i", "j", "k"):
        s.split(loop, [None, *factors, sizes[-1]])
    last = len(sizes)
    order = [f"{loop}.{k}" for k in range(last) for loop in "ijk"]
    s.reorder(*order, f"i.{last}", f"k.{last}", f"j.{last}")


def lines(at: Setting) -> int:
    """Lines of one matrix."""
    return at["n"] ** 2 // PER_LINE
