"""Running the accesses of a nest on simulated caches, whole or in part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.analysis.cache.access_tree import Program, Repeat, count
from workbench.analysis.cache.levels import Cache
from workbench.analysis.cache.lru import MOST_OWNERS, Hierarchy
from workbench.analysis.cache.machine_code import Code
from workbench.errors import InputError

Array = npt.NDArray[Any]

#: Iterations of an outermost loop of which a sample counts parts, at least: one to warm up, two to count.
_LEAST = 3
#: Share of a sample that warms the caches up, and parts of the rest that are compared for the error.
_WARM, _PARTS = 1 / 3, 8
#: Standard errors that the told error has: 19 of 20 means lie within, were the parts independent.
_SIGMAS = 2.0


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted.

    Attributes
    ----------
    table : array, shape (2 + 2 * levels, accesses)
        Rows: accesses, first touches of a line, misses of each level, lines that each level wrote back.
    simulated, total : int
        Accesses that were run, and those of the whole nest, conditions aside.
    errors : tuple of float
        Two standard errors of the misses of each level, as a share of them; 0 where everything was run.
    """

    table: Array
    simulated: int
    total: int
    errors: tuple[float, ...]


def simulate(program: Program, levels: Sequence[Cache], limit: int) -> Counts:
    """Run a program; of more than `limit` accesses, the first iterations of its outermost loops.

    Raises
    ------
    InputError
        "cache.accesses" for more places that touch memory than can be told apart.
    """
    if len(program.accesses) > MOST_OWNERS:
        text = f"The nest touches memory in {len(program.accesses):,} places; {MOST_OWNERS:,} can be told apart"
        raise InputError("cache.accesses", text, (), "show a nest with fewer statements")
    line = levels[0].line
    caches = Hierarchy(levels, program.nbytes // line + 1, len(program.accesses))
    code = Code(program, levels)
    sizes = [count([node], line) for node in program.nodes]
    share = limit / max(1, sum(sizes))
    table, variance = np.zeros(caches.counts.shape), np.zeros(len(levels))
    simulated = 0
    for k, (node, size) in enumerate(zip(program.nodes, sizes, strict=True)):
        units = node.count if isinstance(node, Repeat) else 1
        ran = units if share >= 1 else min(units, max(_LEAST, int(units * share)))
        found, spread = _part(code, caches, k, ran, units)
        table += found
        variance += spread
        simulated += size * ran // units
    misses = table[2 : 2 + len(levels)].sum(axis=1)
    errors = _SIGMAS * np.sqrt(variance) / np.maximum(1.0, misses)
    return Counts(np.rint(table).astype(np.int64), simulated, sum(sizes), tuple(float(e) for e in errors))


def _part(code: Code, caches: Hierarchy, part: int, ran: int, units: int) -> tuple[Array, Array]:
    """Counts of one outermost node, of which `ran` iterations are run, and the variance of its misses."""
    levels = len(caches.levels)
    begun = caches.counts.copy()
    warm = ran if ran == units else max(1, int(ran * _WARM))
    code.run(part, caches.address, 0, warm)
    if warm == units:
        return caches.counts - begun, np.zeros(levels)
    ends = np.unique(np.linspace(warm, ran, min(_PARTS, ran - warm) + 1).astype(int))
    each = []
    for first, stop in pairwise(ends):
        before = caches.counts.copy()
        code.run(part, caches.address, int(first), int(stop))
        each.append((caches.counts - before) / (stop - first))
    counted = np.average(each, axis=0, weights=np.diff(ends))
    misses = np.array(each)[:, 2 : 2 + levels].sum(axis=2)
    spread = misses.var(axis=0, ddof=1) / len(each) * (units - ran) ** 2
    return caches.counts - begun + counted * (units - ran), spread
