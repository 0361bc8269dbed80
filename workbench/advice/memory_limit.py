"""What memory allows a computation: what no cache near the cores keeps is fetched at every call, however it runs."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.analysis.figures.roofline import stored_roofs
from workbench.ir import Func
from workbench.ir.flops import count_flops
from workbench.machine_model.machine_parameters import Machine
from workbench.markup import size
from workbench.runtime.machine.measured_roofline import MEMORY
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The least time of a call for what it has to fetch.

    Attributes
    ----------
    level : str
        Where that comes from: "L3" or "memory".
    nbytes : int
        Bytes of it.
    gbytes : float
        How fast this machine reads there, measured, in GB/s (10^9 bytes).
    """

    level: str
    nbytes: int
    gbytes: float

    @property
    def ms(self) -> float:
        """Milliseconds of a call."""
        return self.nbytes / (self.gbytes * 1e6)

    def text(self, ms: float) -> str:
        """Say how near a measured time is."""
        return (
            f"{100 * self.ms / ms:.0f} % of what {self.level} allows: {size(self.nbytes)} come from there, "
            f"at {self.gbytes:.3g} GB/s"
        )


def memory_limit(base: Func, target: Target, constants: str = "near") -> MemoryLimit | None:
    """Return what memory allows a computation; None where all of it may be near the cores, or nothing was measured.

    Parameters
    ----------
    base : Func
        The computation; no schedule of it has to fetch less.
    target : Target
        Roofs that were measured of this machine before count (`runtime.machine.measured_roofline`).
    constants : {"near", "shared", "memory"}
        Where a call finds its constants, as for `MeasureOptions`.
    """
    if Machine.of(target).kind != "cpu":
        return None
    # Of a table that numbers are looked up in, no more is read than there is to do.
    most = 4 * count_flops(base) + sum(b.nbytes for b in base.outputs)
    weights = min(sum(b.nbytes for b in base.params if b.role == "const"), most)
    whole = weights + sum(b.nbytes for b in base.params if b.role != "const")
    roofs, own = stored_roofs(target), target.threads * target.l2_bytes
    for level, nbytes in (
        (MEMORY, whole if whole > max(own, target.l3_bytes) else weights if constants == "memory" else 0),
        ("L3", whole if whole > own else weights if constants != "near" else 0),
    ):
        if nbytes and level in roofs:
            return MemoryLimit(level, nbytes, roofs[level].gbytes)
    return None
