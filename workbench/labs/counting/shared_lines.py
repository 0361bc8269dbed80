"""What threads do to each other, counted: parallel iterations, and cache lines that several of them write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from workbench.ir import Affine, Block, Func, blocks
from workbench.ir.compact_temporaries import Scope, compact, scopes
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import concrete
from workbench.ir.stmt import For

#: Bytes of a cache line, and the float32 numbers in it.
LINE = 64
PER_LINE = LINE // 4


@dataclass(frozen=True, slots=True)
class Sharing:
    """Counts of one stage.

    Attributes
    ----------
    iterations : int
        Iterations that may run at the same time; 1 where no loop is parallel.
    lines : int
        Cache lines that the stage writes.
    shared : int
        Those of them that more than one iteration writes: threads take such a line from each other.
    writers : int
        Most iterations that write the same line.
    """

    iterations: int
    lines: int
    shared: int
    writers: int


def shared_lines(func: Func, line: int = LINE) -> dict[str, Sharing]:
    """Count for every stage of a concrete nest which lines of its result are written by several parallel iterations.

    Buffers are taken to begin at the beginning of a line, as those of the workbench do. A temporary that lives inside
    of a parallel loop is each iteration's own: its lines are counted for each, and none of them is shared.

    Parameters
    ----------
    line : int
        Bytes of a cache line.
    """
    small = compact(func)
    homes = scopes(small)
    return {
        block.name: _sharing(small, block, path, homes.get(block.buffer), line) for block, path in blocks(small.body)
    }


def _sharing(func: Func, block: Block, path: tuple[For, ...], home: Scope | None, line: int) -> Sharing:
    buffer = func.buffer(block.buffer)
    forms = [form.subst(dict(block.env)) for form in block.index]
    parallel = [lp for lp in path if lp.kind == "parallel"]
    moved = {digit.var for form in forms for digit, _ in form.terms}
    used = [*parallel, *(lp for lp in path if lp.name in moved and lp not in parallel)]
    extents = [concrete(lp.extent) for lp in used]
    grid = np.indices(extents, sparse=True) if extents else []
    values = {lp.name: axis for lp, axis in zip(used, grid, strict=True)}
    place: Any = 0
    for form, size in zip(forms, map(concrete, buffer.shape), strict=True):
        place = place * size + _value(form, values)
    where = place * itemsize(buffer.dtype) // line
    for lp in parallel:
        if home is not None and lp in home.path:
            where = where * concrete(lp.extent) + values[lp.name]
    where = np.broadcast_to(where, extents or (1,))
    iterations = prod(extents[: len(parallel)])
    pairs = np.unique(np.stack([where.ravel(), np.repeat(np.arange(iterations), where.size // iterations)]), axis=1)
    _, writers = np.unique(pairs[0], return_counts=True)
    return Sharing(iterations, len(writers), int((writers > 1).sum()), int(writers.max()))


def _value(form: Affine, values: Mapping[str, Any]) -> Any:
    total: Any = concrete(form.const)
    for digit, c in form.terms:
        at = values[digit.var] // concrete(digit.lower)
        total = total + concrete(c) * (at if digit.extent is None else at % concrete(digit.extent))
    return total
