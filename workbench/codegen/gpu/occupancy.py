"""How many blocks run at once on a multiprocessor, and what bounds them: NVIDIA's rules, by the numbers of each GPU."""

from __future__ import annotations

from dataclasses import dataclass

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


MULTIPROCESSORS = {
    "sm_70": Multiprocessor(64, 32, 96 << 10, 0),
    "sm_75": Multiprocessor(32, 16, 64 << 10, 0),
    "sm_80": Multiprocessor(64, 32, 164 << 10),
    "sm_86": Multiprocessor(48, 16, 100 << 10),
    "sm_87": Multiprocessor(48, 16, 164 << 10),
    "sm_89": Multiprocessor(48, 24, 100 << 10),
    "sm_90": Multiprocessor(64, 32, 228 << 10),
    "sm_100": Multiprocessor(64, 32, 228 << 10),
    "sm_120": Multiprocessor(48, 24, 100 << 10),
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
    warps = -(-threads // WARP)
    limits = {"warps": m.warps // warps, "blocks": m.blocks}
    if registers:
        held = -(-registers * WARP // _REGISTERS) * _REGISTERS
        limits["registers"] = m.registers // held // _QUARTERS * _QUARTERS // warps
    taken = -(-(shared + m.reserved) // _SHARED) * _SHARED
    if taken:
        limits["shared memory"] = m.shared // taken
    limiter = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limiter], limits[limiter] * warps / m.warps, limiter)
