"""Where the temporaries of a kernel live; the same for every backend, because the caller provides the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from workbench.codegen.constants import Storage
from workbench.ir import Buffer, Func
from workbench.ir.compact_temporaries import scopes

Place: TypeAlias = Literal["stack", "shared", "thread"]


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

    What lives for the whole call is shared by the threads; what lives inside a loop is each thread's own. A scope
    decides between the stack ("local") and the workspace ("global", and "shared", which a CPU has no other memory for).
    """
    placed: dict[str, Placed] = {}
    shared = per_thread = 0
    home = scopes(func)
    for b in func.buffers:
        if b.role != "temp":
            continue
        size = -(-b.nbytes // Storage.ALIGN) * Storage.ALIGN
        path, loop = home[b.name].path, home[b.name].loop
        if b.nbytes <= _stack_limit(b, loop is not None):
            placed[b.name] = Placed("stack", 0, b.nbytes, loop)
        elif b.scope != "local" and (loop is None or (b.scope != "auto" and path[0].kind != "parallel")):
            placed[b.name], shared = Placed("shared", shared, b.nbytes, loop), shared + size
        else:
            placed[b.name], per_thread = Placed("thread", per_thread, b.nbytes, loop), per_thread + size
    return Memory(placed, shared, per_thread)


def _stack_limit(b: Buffer, inside: bool) -> int:
    """Most bytes with which the buffer goes to the stack; `inside`: it lives inside a loop."""
    if b.scope == "local":
        return Storage.LOCAL_STACK_BYTES
    return Storage.STACK_BYTES if b.scope == "auto" and inside else -1
