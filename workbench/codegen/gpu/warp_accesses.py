"""What a warp's accesses cost, from their index forms alone: transactions of global memory, conflicts of shared banks.

Taken of the first warp of a block, with all loops at their first iteration: the steps between threads are the same
everywhere, the place where they begin is not always.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.codegen.gpu.kernels import Kernel
from workbench.codegen.gpu.occupancy import WARP
from workbench.codegen.gpu.placement import Placed
from workbench.codegen.gpu.warp_tiles import tile_at
from workbench.ir import Affine, Buffer, For, accesses, blocks
from workbench.ir.affine import flat_index
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import concrete
from workbench.ir.stmt import THREAD_KINDS

#: Bytes of a transaction of global memory; banks of shared memory, and bytes of one.
SECTOR, BANKS, BANK = 32, 32, 4
_AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


@dataclass(frozen=True, slots=True)
class WarpAccess:
    """One access of a block's statement, by the threads of a warp together.

    Attributes
    ----------
    block, buffer : str
        The statement and what it touches.
    memory : {"global", "shared"}
    is_write : bool
    width : int
        Bytes of each thread.
    threads : int
        Threads of the warp that take part.
    transactions : int
        Of 32 bytes, for global memory; turns of the banks, for shared memory.
    least : int
        As few as there could be for as many different bytes.
    """

    block: str
    buffer: str
    memory: str
    is_write: bool
    width: int
    threads: int
    transactions: int
    least: int

    @property
    def row(self) -> str:
        """Row of the nest that it belongs to."""
        return f"stmt:{self.block}"


def warp_accesses(
    kernel: Kernel, placed: Mapping[str, Placed], buffers: Mapping[str, Buffer], wide: Mapping[str, int]
) -> Iterator[WarpAccess]:
    """Yield the accesses of a kernel to global and shared memory; `wide` says what blocks move several elements."""
    for b, path in blocks(kernel.body):
        if tile_at(path) is not None:
            continue  # how a warp loads a tile is the instruction's business
        lanes = list(_lanes(kernel, path))
        for acc in accesses(b):
            memory = placed[acc.buffer].memory if acc.buffer in placed else "global"
            if memory == "local" or any(d.free for x in acc.index for d, _ in x.terms):
                continue
            size, count = itemsize(buffers[acc.buffer].dtype), wide.get(b.name, 1)
            flat = flat_index(acc.index, buffers[acc.buffer].strides())
            places = [_value(flat, values) * size for values in lanes]
            taken, least = (_global if memory == "global" else _shared)(places, size * count)
            yield WarpAccess(b.name, acc.buffer, memory, acc.is_write, size * count, len(lanes), taken, least)


def _lanes(kernel: Kernel, path: Sequence[For]) -> Iterator[dict[str, int]]:
    """Values of the loops over threads around a block, for each thread of the first warp that runs it."""
    own = {lp.kind: lp for lp in path if lp.kind in THREAD_KINDS}
    for thread in range(min(WARP, kernel.threads)):
        values, rest, runs = {}, thread, True
        for axis in _AXES:
            rest, at = divmod(rest, kernel.block.get(axis, 1))
            if axis in own:
                values[own[axis].name] = at
            runs &= at < (concrete(own[axis].extent) if axis in own else 1)
        if runs:
            yield values


def _value(form: Affine, values: Mapping[str, int]) -> int:
    out = concrete(form.const)
    for digit, c in form.terms:
        at = values.get(digit.var, 0) // concrete(digit.lower)
        out += concrete(c) * (at if digit.extent is None else at % concrete(digit.extent))
    return out


def _global(places: Sequence[int], width: int) -> tuple[int, int]:
    """Sectors that are touched, and as few as hold so many bytes."""
    touched = {b for at in places for b in range(at, at + width)}
    return len({b // SECTOR for b in touched}), -(-len(touched) // SECTOR)


def _shared(places: Sequence[int], width: int) -> tuple[int, int]:
    """Turns that the banks need: different words of one bank follow each other; wide accesses go by parts of a warp."""
    words = max(1, width // BANK)
    part = max(1, WARP // words)
    turns = 0
    for k in range(0, len(places), part):
        banks: dict[int, set[int]] = {}
        for at in places[k : k + part]:
            for word in range(at // BANK, at // BANK + words):
                banks.setdefault(word % BANKS, set()).add(word)
        turns += max(map(len, banks.values()))
    return turns, -(-len(places) // part)
