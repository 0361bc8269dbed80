"""The sizes of an accelerator, from its target."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.memoize import remembered
from workbench.target import Target

#: Memories that a program fills, and what they hold.
DTYPES = {"inp": "int8", "wgt": "int8", "acc": "int32"}
#: Bytes of a micro-op: places of a sum, of data and of weights.
UOP_BYTES = 4


@dataclass(frozen=True, slots=True)
class Design:
    """Sizes of an accelerator.

    Attributes
    ----------
    inputs, outputs : int
        Numbers that a product sums up, and sums that it computes at once: one cycle has ``inputs * outputs``
        multiplications.
    depth : dict
        Memory -> how many rows it has room for: of `inputs` bytes of data, of a block of weights, of `outputs` sums,
        or of one micro-op.
    bus, latency, fill, mhz : int
        As the options of the target.
    """

    inputs: int
    outputs: int
    depth: dict[str, int] = field(hash=False)
    bus: int
    latency: int
    fill: int
    mhz: int

    @staticmethod
    def of(target: Target) -> Design:
        """Read a target of the kind "vta"."""
        return _design(target)

    @property
    def rows(self) -> dict[str, int]:
        """Memory -> elements of one of its rows."""
        return {"inp": self.inputs, "wgt": self.inputs * self.outputs, "acc": self.outputs}

    @property
    def gemm(self) -> str:
        """Name of the intrinsic that the product is."""
        return f"vta.gemm.1x{self.outputs}x{self.inputs}"


@remembered(64)
def _design(target: Target) -> Design:
    def number(name: str) -> int:
        return int(target.option(name))

    _, outputs, inputs = map(int, str(target.option("gemm")).split("x"))
    row = {"inp": inputs, "wgt": inputs * outputs, "acc": 4 * outputs, "uop": UOP_BYTES}
    depth = {name: number(name) // nbytes for name, nbytes in row.items()}
    return Design(inputs, outputs, depth, number("bus"), number("latency"), number("fill"), number("mhz"))
