"""What every backend starts from, and what it hands over."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import BuildError
from workbench.ir.compact import compact
from workbench.ir.func import Func
from workbench.ir.poly import concrete
from workbench.ir.units import drop_unit_loops

#: A parallel nest is cut into at most this many tasks per thread; fewer where many threads share it.
TASKS_PER_THREAD = 8
#: All threads of a region draw their tasks from one word, and a draw costs about a tenth of a microsecond once they are
#: many: up to this many tasks it is nothing, beyond it a thread gets three, so that one may still come late.
MANY_TASKS = 64


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
        The backend's text, before any optimisation.
    params : tuple of ParamInfo
        What ``bufs`` points to, in order.
    shared_bytes, per_thread_bytes : int
        Workspace: ``shared_bytes + threads * per_thread_bytes``.
    """

    object: bytes
    symbol: str
    source: str
    params: tuple[ParamInfo, ...]
    shared_bytes: int
    per_thread_bytes: int


def task_limit(threads: int) -> int:
    """Return into how many tasks a parallel nest is cut at most for so many threads."""
    return max(3, min(TASKS_PER_THREAD, MANY_TASKS // max(1, threads))) * max(1, threads)


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


def params_of(func: Func) -> tuple[ParamInfo, ...]:
    """Describe the parameters of a concrete function."""
    return tuple(ParamInfo(b.name, b.role, tuple(concrete(d) for d in b.shape), b.dtype) for b in func.params)
