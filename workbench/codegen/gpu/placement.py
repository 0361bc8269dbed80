"""In which memory of a device a temporary lies: registers of a thread, shared by a block, or the workspace."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from workbench.codegen.constants import Device
from workbench.codegen.gpu.kernels import Kernel
from workbench.errors import BuildError
from workbench.ir import Buffer, For, Func, blocks
from workbench.ir.compact_temporaries import Scope, scopes
from workbench.ir.poly import concrete
from workbench.ir.stmt import BLOCK_KINDS, THREAD_KINDS, touched
from workbench.ir.thread_ownership import Owner

Memory: TypeAlias = Literal["local", "shared", "global"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A temporary in its memory.

    Attributes
    ----------
    memory : {"local", "shared", "global"}
    nbytes : int
        Of one copy.
    home : str or None
        Innermost loop that all uses share.
    copies : tuple of For
        Loops around `home` whose iterations run at once, each with a copy of its own.
    offset : int
        Place in the workspace, for "global".
    """

    memory: Memory
    nbytes: int
    home: str | None
    copies: tuple[For, ...] = ()
    offset: int = 0

    @property
    def total(self) -> int:
        """Bytes of all copies."""
        return self.nbytes * math.prod(concrete(lp.extent) for lp in self.copies)


def users(func: Func, kernels: Iterable[Kernel]) -> dict[str, list[Kernel]]:
    """Kernels that touch each temporary."""
    out: dict[str, list[Kernel]] = {b.name: [] for b in func.buffers if b.role == "temp"}
    for kernel in kernels:
        for name in {n for b, _ in blocks(kernel.body) for n in touched(b)} & out.keys():
            out[name].append(kernel)
    return out


def memories(func: Func, kernels: tuple[Kernel, ...], owned: Mapping[str, Owner], limit: int) -> dict[str, Memory]:
    """Choose the memory of each temporary, by its scope where it has one; a block shares `limit` bytes at most.

    Raises
    ------
    BuildError
        "gpu.scope" for one that several kernels use and that belongs to a thread or a block by its scope.
    """
    out: dict[str, Memory] = {}
    used = users(func, kernels)
    room = {k.name: limit - _asked(func, k, used) for k in kernels}
    home = scopes(func)
    for b in (b for b in func.buffers if b.name in used):
        if b.scope in ("local", "shared"):
            out[b.name] = b.scope
            if len(used[b.name]) > 1 or (b.scope == "local" and b.name not in owned):
                raise _homeless(b, used[b.name])
            continue
        out[b.name] = "global"
        if b.scope == "auto" and len(used[b.name]) == 1:
            kernel, threads = used[b.name][0], math.prod(owned_sizes(owned.get(b.name, {})))
            size = b.nbytes * math.prod(concrete(x.extent) for x in home[b.name].path if x.kind in THREAD_KINDS)
            if b.name in owned and b.nbytes <= Device.LOCAL_BYTES * threads:
                out[b.name] = "local"
            elif _in_block(kernel, home[b.name]) and size <= room[kernel.name]:
                out[b.name] = "shared"
                room[kernel.name] -= size
    return out


def owned_sizes(owner: Owner) -> list[int]:
    """Number of values of each digit of a thread that is left out of a local temporary."""
    return [concrete(p.extent) for places in owner.values() for p in places]


def _asked(func: Func, kernel: Kernel, used: Mapping[str, list[Kernel]]) -> int:
    """Bytes that the kernel shares because scopes say so."""
    return sum(b.nbytes for b in func.buffers if b.scope == "shared" and kernel in used.get(b.name, []))


def _in_block(kernel: Kernel, scope: Scope) -> bool:
    return kernel.grid.keys() <= {lp.kind for lp in scope.path}


def _homeless(b: Buffer, kernels: list[Kernel]) -> BuildError:
    return BuildError(
        "gpu.scope",
        f"{b.name!r} is {b.scope}, but {len(kernels)} kernels use it: {', '.join(k.name for k in kernels)}."
        if len(kernels) > 1
        else f"{b.name!r} is {b.scope}, but several threads touch its elements.",
        (b.name,),
        "bring all its uses into one nest over the blocks of the grid with compute_at, or leave it global",
    )


def place(func: Func, memory: Mapping[str, Memory]) -> dict[str, Placed]:
    """Place the temporaries of a function whose local ones have no digits of threads any more.

    Raises
    ------
    BuildError
        "gpu.local" for a temporary that is too large for a thread.
    """
    out: dict[str, Placed] = {}
    offset = 0
    home = scopes(func)
    for b in (b for b in func.buffers if b.name in memory):
        path, where = home[b.name].path, memory[b.name]
        kinds = {"local": frozenset[str](), "shared": THREAD_KINDS, "global": THREAD_KINDS | BLOCK_KINDS}[where]
        nbytes = -(-b.nbytes // Device.ALIGN) * Device.ALIGN
        placed = Placed(where, nbytes, home[b.name].loop, tuple(lp for lp in path if lp.kind in kinds), offset)
        if where == "local" and nbytes > Device.THREAD_BYTES:
            raise BuildError(
                "gpu.local",
                f"{b.name!r} has {nbytes} bytes for each thread; a thread has at most {Device.THREAD_BYTES}.",
                (b.name,),
                "use more threads or smaller tiles, or leave it global",
            )
        offset += placed.total if where == "global" else 0
        out[b.name] = placed
    return out


def shared_bytes(placed: Mapping[str, Placed], kernel: Kernel) -> int:
    """Bytes that the threads of a block of the kernel share."""
    names = {n for b, _ in blocks(kernel.body) for n in touched(b)}
    return sum(p.total for n, p in placed.items() if n in names and p.memory == "shared")


def workspace(placed: Mapping[str, Placed]) -> int:
    """Bytes of the workspace."""
    return sum(p.total for p in placed.values() if p.memory == "global")
