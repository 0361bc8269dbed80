"""What every backend starts from, and what it hands over."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from workbench.codegen.constants import Tasks
from workbench.errors import BuildError
from workbench.ir import Affine, Block, Bound, Digit, For, Func, Stmt, blocks
from workbench.ir.compact_temporaries import compact
from workbench.ir.poly import concrete
from workbench.ir.unit_loops import drop_unit_loops


@dataclass(frozen=True, slots=True)
class ParamInfo:
    """One parameter of a kernel, in the layout that the code expects."""

    name: str
    role: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class ObjectCode:
    """A generated function, compiled or still text.

    Attributes
    ----------
    object : bytes
        Relocatable object file; empty where it was not compiled.
    symbol : str
        Entry point.
    source : str
        The backend's text, before any optimisation; empty where another process compiled it.
    params : tuple of ParamInfo
        What ``bufs`` points to, in order.
    shared_bytes, per_thread_bytes : int
        Workspace: ``shared_bytes + threads * per_thread_bytes``.
    """

    object: bytes
    symbol: str
    source: str = ""
    params: tuple[ParamInfo, ...] = ()
    shared_bytes: int = 0
    per_thread_bytes: int = 0

    def workspace_bytes(self, threads: int) -> int:
        """Return the size of the workspace for so many threads."""
        return self.shared_bytes + threads * self.per_thread_bytes


def task_limit(threads: int) -> int:
    """Return into how many tasks a parallel nest is cut at most for so many threads."""
    return max(3, min(Tasks.PER_THREAD, Tasks.MANY // max(1, threads))) * max(1, threads)


def lowered(func: Func) -> Func:
    """Return the function as code is generated from it: no loops that run once, temporaries of the size that lives.

    Raises
    ------
    BuildError
        "build.holes" when a number is still open.
    """
    if not func.is_concrete:
        names = ", ".join(h.name for h in func.holes)
        raise BuildError(
            "build.holes", f"The schedule still has open numbers: {names}.", (func.name,), "fill them: s.fill({...})"
        )
    return compact(drop_unit_loops(func))


def reducing_loops(b: Block) -> frozenset[str]:
    """Names of the loops over which a block of a lowered function reduces."""
    return frozenset(it.name for it in b.iters if it.kind == "R")


def reduced_at(lp: For) -> Iterator[tuple[Block, tuple[For, ...]]]:
    """Blocks that reduce over a loop, each with the loops from that one on."""
    return ((b, path) for b, path in blocks((lp,)) if b.init is not None and lp.name in reducing_loops(b))


def init_nest(b: Block, path: tuple[For, ...], name: str, kinds: Collection[str] = ("vectorize",)) -> Stmt:
    """Return the nest that writes the init of every element that the loops of `path` accumulate onto.

    Loops of these `kinds` keep theirs, the others are serial.
    """
    assert b.init is not None
    reduction = reducing_loops(b)
    first: dict[str, Affine | Callable[[Digit], Affine]] = {loop: Affine() for loop in reduction}
    kept = [k for k, it in enumerate(b.iters) if it.name not in reduction]
    stmt: Stmt = replace(
        b,
        name=name,
        iters=tuple(b.iters[k] for k in kept),
        binds=tuple(b.binds[k] for k in kept),
        value=b.init,
        init=None,
        guard=tuple(Bound(c.form.subst(first), c.lo, c.hi) for c in b.guard),
    )
    for inner in reversed(path):
        if inner.name not in reduction:
            stmt = For(inner.name, inner.extent, (stmt,), inner.kind if inner.kind in kinds else "serial")
    return stmt


def cut(chain: Sequence[For], threads: int) -> tuple[int, int]:
    """Return the iterations of a parallel nest, and into how many tasks they are cut."""
    total = math.prod(concrete(lp.extent) for lp in chain)
    return total, min(total, task_limit(threads))


def params_of(func: Func) -> tuple[ParamInfo, ...]:
    """Describe the parameters of a concrete function."""
    return tuple(ParamInfo(b.name, b.role, tuple(concrete(d) for d in b.shape), b.dtype) for b in func.params)
