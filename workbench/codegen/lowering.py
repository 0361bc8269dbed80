"""What every backend starts from, and what it hands over."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import BuildError
from ..ir.compact import compact
from ..ir.func import Func
from ..ir.units import drop_unit_loops

#: Parallel nests are cut into at most this many tasks per thread.
TASKS_PER_THREAD = 8


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
    return tuple(ParamInfo(b.name, b.role, tuple(_int(d) for d in b.shape), b.dtype) for b in func.params)


def _int(d: object) -> int:
    assert isinstance(d, int)
    return d
