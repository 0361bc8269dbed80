"""Where the temporaries of a kernel live; the same for every backend, because the caller provides the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..ir.compact import scopes
from ..ir.func import Func

Place: TypeAlias = Literal["stack", "shared", "thread"]

#: Temporaries up to this size live on the stack of the function that uses them.
STACK_BYTES = 16 << 10
ALIGN = 64


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a temporary lives: "stack", "shared" or "thread" with its offset there; `loop`: what it lives inside of."""

    kind: Place
    offset: int
    nbytes: int
    loop: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """Places by buffer, and the workspace in bytes: ``shared + threads * per_thread``."""

    placed: dict[str, Placed]
    shared: int
    per_thread: int


def place(func: Func) -> Memory:
    """Place the temporaries of a concrete, compacted function.

    What lives for the whole call is shared by the threads; what lives inside a loop is each thread's own.
    """
    placed: dict[str, Placed] = {}
    shared = per_thread = 0
    home = scopes(func)
    for b in func.buffers:
        if b.role != "temp":
            continue
        size = -(-b.nbytes // ALIGN) * ALIGN
        loop = home[b.name].loop
        if loop is None:
            placed[b.name], shared = Placed("shared", shared, b.nbytes), shared + size
        elif b.nbytes <= STACK_BYTES:
            placed[b.name] = Placed("stack", 0, b.nbytes, loop)
        else:
            placed[b.name], per_thread = Placed("thread", per_thread, b.nbytes, loop), per_thread + size
    return Memory(placed, shared, per_thread)
