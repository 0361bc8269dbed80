"""What a core has to load and keep for a nest, counted from the nest itself.

A load stays outside of the loops that do not move it, and the copies of an unrolled loop share it. Nothing is measured
here: equal nests have equal counts on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise, takewhile
from math import prod

from workbench.arguments import shown
from workbench.errors import ScheduleError
from workbench.ir import Affine, Block, Digit, For, Func, blocks
from workbench.ir.dtypes import itemsize
from workbench.ir.expr import all_index_forms, loads
from workbench.ir.poly import concrete
from workbench.space.shared_steps.block_queries import axis_of


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of one block.

    Attributes
    ----------
    loaded : dict of str to int
        Buffer -> bytes that the core loads from it, the same byte as often as it is loaded again.
    accumulators : int
        Vector registers that hold results while the reduction runs; 0 when they are kept in memory.
    rows, vectors : int
        Accumulators as a tile: copies by unrolling, and vectors of the vectorised loop.
    vectorized : str
        Axis that the vectorised loop runs along; empty without one.
    lanes : int
        Extent of the vectorised loop; 1 without one.
    strides : dict of str to int
        Buffer -> elements from one lane to the next, at most.
    """

    loaded: Mapping[str, int]
    accumulators: int
    rows: int
    vectors: int
    vectorized: str
    lanes: int
    strides: Mapping[str, int]

    @property
    def vector_loads(self) -> int:
        """Loads of one step of the tile: a broadcast for each row, a vector for each column of vectors."""
        return self.rows + self.vectors

    @property
    def adds_per_load(self) -> float:
        """Vector multiply-adds for each load; 0 when the results are not in registers."""
        return self.accumulators / self.vector_loads if self.accumulators else 0.0


def count(func: Func, lanes: int, block: str | None = None) -> Counts:
    """Count what one block of a concrete nest does.

    Parameters
    ----------
    func : Func
        A nest without open numbers.
    lanes : int
        Elements of one vector register.
    block : str, optional
        Which block; the first one that reduces by default.

    Raises
    ------
    ScheduleError
        "block.unknown" for a block that the nest does not have, or where none reduces.
    """
    stmt, path = block_of(func, block)
    moved = _moved(stmt)
    loaded: dict[str, int] = {}
    for name, vars_ in moved.items():
        loaded[name] = loaded.get(name, 0) + itemsize(func.buffer(name).dtype) * _loaded(path, vars_)
    rows, vectors = _tile(stmt, path, lanes)
    vector = next((lp for lp in path if lp.kind == "vectorize"), None)
    return Counts(
        loaded,
        rows * vectors,
        rows,
        vectors,
        "" if vector is None else axis_of(stmt, vector.name) or "",
        1 if vector is None else _size(vector),
        {} if vector is None else _strides(func, stmt, vector.name),
    )


def block_of(func: Func, name: str | None) -> tuple[Block, tuple[For, ...]]:
    """Return a block with the loops around it, the first one that reduces by default; `ScheduleError` without one."""
    if name is None:
        name = next((block.name for block, _ in blocks(func.body) if block.is_reduction), None)
    if name is None:
        reason = f"No block of {shown(func.name)} reduces"
        raise ScheduleError("block.unknown", reason, (func.name,), "say which block is meant")
    return func.block(name)


def _size(lp: For) -> int:
    return concrete(lp.extent)


def _moved(block: Block) -> dict[str, set[str]]:
    """Buffers that the block reads, apart from its own result -> loops that move the place."""
    env = block.env
    out: dict[str, set[str]] = {}
    for load in loads(block.value):
        if load != block.own_load():
            used = {v for form in all_index_forms(load) for axis in form.vars for v in env[axis].vars}
            out[load.buffer] = out.get(load.buffer, set()) | used
    return out


def _loaded(path: tuple[For, ...], moved: set[str]) -> int:
    """Elements loaded: once per iteration of the loops down to the last real loop that moves the place."""
    last = max((k for k, lp in enumerate(path) if lp.name in moved and lp.kind in ("serial", "parallel")), default=-1)
    return prod(_size(lp) for k, lp in enumerate(path) if k <= last or lp.name in moved)


def _tile(block: Block, path: tuple[For, ...], lanes: int) -> tuple[int, int]:
    """(copies by unrolling, vectors) that stay in registers at the outermost reducing loop where they can.

    What an instruction computes is one vector.
    """
    reduce = block.driving("R")
    path = tuple(takewhile(lambda x: not x.intrin, path))
    for k, lp in enumerate(path):
        inner = [x for x in path[k + 1 :] if x.name not in reduce]
        if lp.name in reduce and all(x.kind in ("unroll", "vectorize") for x in inner):
            rows = prod(_size(x) for x in inner if x.kind == "unroll")
            return rows, prod(-(-_size(x) // lanes) for x in inner if x.kind == "vectorize")
    return 0, 0


def _strides(func: Func, block: Block, loop: str) -> dict[str, int]:
    """Buffer -> elements from one iteration of the loop to the next, in row-major order."""
    places = [(block.buffer, block.index), *((x.buffer, x.index) for x in loads(block.value))]
    return {name: _stride(func, block.env, index, name, loop) for name, index in places}


def _stride(func: Func, env: Mapping[str, Affine], index: tuple[Affine, ...], buffer: str, loop: str) -> int:
    """Largest distance between the places of neighbouring iterations: a fused loop need not step evenly."""
    step, terms = 1, []
    for form, size in zip(reversed(index), reversed(func.buffer(buffer).shape), strict=True):
        terms += [(digit, concrete(c) * step) for digit, c in form.subst(dict(env)).terms if digit.var == loop]
        step *= concrete(size)
    places = [sum(c * _value(digit, at) for digit, c in terms) for at in range(_size(func.loop(loop)[0]))]
    return max((abs(b - a) for a, b in pairwise(places)), default=0)


def _value(digit: Digit, at: int) -> int:
    value = at // concrete(digit.lower)
    return value if digit.extent is None else value % concrete(digit.extent)
