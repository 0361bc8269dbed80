"""A runtime kernel as a value: its body, and what it is emitted for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.codegen.lowering import ParamInfo


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A body, and the sizes and types that it is emitted for.

    Attributes
    ----------
    body : callable
        ``body(k, *arguments)`` writes the kernel with a `KernelEmitter`; a function of a module, so that another
        process finds it.
    arguments : tuple
        Numbers and texts that are part of the code: sizes, attributes.
    flops : int
        Arithmetic operations of one run; 0 where that is no measure of the work.
    overwrites : tuple of (str, str)
        Names of an input and of the output that may lie in the same memory.
    params : tuple of ParamInfo
        The arguments of a call in order. Input ``i`` of the node is called ``in{i}``, output ``i`` ``out{i}``; those
        that a node does not have are left out.
    """

    body: Callable[..., None]
    arguments: tuple[Any, ...] = ()
    flops: int = 0
    overwrites: tuple[tuple[str, str], ...] = ()
    params: tuple[ParamInfo, ...] = ()

    @property
    def name(self) -> str:
        """Name of the body."""
        return self.body.__name__

    @property
    def text(self) -> str:
        """What decides about the code: equal texts are equal kernels."""
        params = (f"{p.name}: {p.dtype}{list(p.shape)}" for p in self.params)
        return f"{self.body.__module__}.{self.name}{self.arguments!r} of {', '.join(params)}"

    @property
    def reuses(self) -> tuple[tuple[int, int], ...]:
        """Positions among `params` of each input that an output may be written over, and of that output."""
        at = {p.name: k for k, p in enumerate(self.params)}
        return tuple((at[old], at[new]) for old, new in self.overwrites if old in at and new in at)
