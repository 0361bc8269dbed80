"""How many blocks run at once on a multiprocessor, and what bounds them: NVIDIA's rules, by the numbers of each GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.target_kinds.gpu import SHARED

#: Threads of a warp; registers are given out in such pieces to a warp, shared memory in such pieces to a block. A
#: quarter of a multiprocessor has a quarter of the registers, and as many warps as the other ones.
WARP, _REGISTERS, _SHARED, _QUARTERS = 32, 256, 128, 4


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """What the blocks on one multiprocessor share.

    Attributes
    ----------
    warps, blocks : int
        At most.
    shared : int
        Bytes of shared memory.
    reserved : int
        Bytes of it that the system takes for each block.
    registers : int
        Registers of 4 bytes.
    """

    warps: int
    blocks: int
    shared: int
    reserved: int = 1024
    registers: int = 65536

    def limits(self, threads: Any, registers: Any, shared: Any) -> dict[str, Any]:
        """Return how many blocks there can be by what bounds them, for numbers or for arrays of them.

        Parameters
        ----------
        threads, registers, shared : int, or array of whole numbers
            Threads of a block, registers of a thread, and bytes of a block.
        """
        warps = -(-threads // WARP)
        held = -(-np.maximum(registers, 1) * WARP // _REGISTERS) * _REGISTERS
        taken = -(-(shared + self.reserved) // _SHARED) * _SHARED
        return {
            "warps": self.warps // warps,
            "blocks": self.blocks,
            "registers": self.registers // held // _QUARTERS * _QUARTERS // warps,
            "shared memory": self.shared // np.maximum(taken, 1),
        }


MULTIPROCESSORS = {
    "sm_70": Multiprocessor(64, 32, SHARED["sm_70"], 0),
    "sm_75": Multiprocessor(32, 16, SHARED["sm_75"], 0),
    "sm_80": Multiprocessor(64, 32, SHARED["sm_80"]),
    "sm_86": Multiprocessor(48, 16, SHARED["sm_86"]),
    "sm_87": Multiprocessor(48, 16, SHARED["sm_87"]),
    "sm_89": Multiprocessor(48, 24, SHARED["sm_89"]),
    "sm_90": Multiprocessor(64, 32, SHARED["sm_90"]),
    "sm_100": Multiprocessor(64, 32, SHARED["sm_100"]),
    "sm_120": Multiprocessor(48, 24, SHARED["sm_120"]),
}


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How full a multiprocessor is.

    Attributes
    ----------
    blocks : int
        Blocks that run at once.
    share : float
        Part of the warps that there could be.
    limiter : str
        What keeps it from more: ``registers``, ``shared memory``, ``warps`` or ``blocks``.
    """

    blocks: int
    share: float
    limiter: str


def occupancy(arch: str, threads: int, registers: int, shared: int) -> Occupancy:
    """Work out the occupancy of a kernel by the threads of a block, registers of a thread and bytes of a block."""
    m = MULTIPROCESSORS[arch]
    limits = {name: int(n) for name, n in m.limits(threads, registers, shared).items()}
    limiter = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limiter], limits[limiter] * -(-threads // WARP) / m.warps, limiter)
