"""What each stage of a function costs: how often it is computed, and how much room its result takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from workbench.ir import Func, blocks
from workbench.ir.compact_temporaries import compact
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import concrete


@dataclass(frozen=True, slots=True)
class Stage:
    """Counts of one stage.

    Attributes
    ----------
    runs : int
        How often its statement runs.
    needed : int
        How often it runs where nothing is computed twice: its elements, times the steps of its sum.
    kept : int
        Bytes of its result that exist at a time.
    temporary : bool
        Whether the result is none of the function's outputs.
    """

    runs: int
    needed: int
    kept: int
    temporary: bool

    @property
    def repeated(self) -> float:
        """How many times as often as needed the statement runs; 1 where nothing is computed twice."""
        return self.runs / self.needed


def stages(func: Func) -> dict[str, Stage]:
    """Count what every stage of a concrete nest costs, by its name.

    An inlined stage is no stage any more. Iterations that a condition leaves out are counted as well.
    """
    out, small = {}, compact(func)
    for block, path in blocks(func.body):
        buffer = small.buffer(block.buffer)
        runs = prod(concrete(loop.extent) for loop in path)
        needed = prod(concrete(it.extent) for it in block.iters)
        kept = prod(map(concrete, buffer.shape)) * itemsize(buffer.dtype)
        out[block.name] = Stage(runs, needed, kept, buffer.role == "temp")
    return out
