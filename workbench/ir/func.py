"""A function: buffers and a loop nest, possibly with holes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import ScheduleError, ShapeError, did_you_mean
from .affine import Affine
from .poly import Dim, Relation, product, substitute
from .stmt import Block, For, Stmt, blocks, loops, map_block, rewrite

Role: TypeAlias = Literal["input", "const", "temp", "output"]


@dataclass(frozen=True, slots=True)
class LayoutStep:
    """Packing step: axis `dim` of size n becomes an outermost axis ``n // block`` and an innermost axis of size
    `block`.
    """

    dim: int
    block: Dim


@dataclass(frozen=True, slots=True)
class Buffer:
    """A dense row-major array. `layout` lists the packing steps that led from the array as given to `shape`."""

    name: str
    shape: tuple[Dim, ...]
    dtype: str = "float32"
    role: Role = "temp"
    layout: tuple[LayoutStep, ...] = ()

    @property
    def size(self) -> Dim:
        """Number of elements."""
        return product(self.shape)

    @property
    def nbytes(self) -> int:
        """Size in bytes of a concrete buffer."""
        assert isinstance(self.size, int)
        return self.size * np.dtype(self.dtype).itemsize

    def logical_shape(self) -> tuple[Dim, ...]:
        """Shape before packing: that of the array as the user gives it."""
        shape = self.shape
        for step in reversed(self.layout):
            inner = list(shape[1:-1])
            inner.insert(step.dim, shape[0] * shape[-1])
            shape = tuple(inner)
        return shape


@dataclass(frozen=True, slots=True)
class HoleInfo:
    """An open number. `choices` restricts its values; without it, any factor that its relation admits."""

    name: str
    choices: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Constraint:
    """``expr >= 0``, checked per row of hole values; a limit on numbers, never on structure."""

    label: str
    expr: Dim


@dataclass(frozen=True, slots=True, repr=False)
class Func:
    """Buffers (parameters in order, then temporaries) and statements; with holes, also relations and constraints.

    `aliases` remembers holes that a later split replaced by a product: old name -> that product.
    """

    name: str
    buffers: tuple[Buffer, ...]
    body: tuple[Stmt, ...]
    holes: tuple[HoleInfo, ...] = ()
    relations: tuple[Relation, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    aliases: tuple[tuple[str, Dim], ...] = ()

    def __repr__(self) -> str:
        return str(self)  # at the end of a notebook's cell one wants the nest

    def __str__(self) -> str:
        from .printer import to_text  # the printer is a client of this module

        return to_text(self)

    @property
    def params(self) -> tuple[Buffer, ...]:
        """Buffers that a caller passes, in order: inputs, constants and outputs."""
        return tuple(b for b in self.buffers if b.role != "temp")

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        """Parameters that are read: inputs and constants."""
        return tuple(b for b in self.buffers if b.role in ("input", "const"))

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        """Parameters that are written."""
        return tuple(b for b in self.buffers if b.role == "output")

    def buffer(self, name: str) -> Buffer:
        """Buffer by name; `ScheduleError` "buffer.unknown" when there is none."""
        for b in self.buffers:
            if b.name == name:
                return b
        raise ScheduleError(
            "buffer.unknown",
            f"There is no buffer {name!r}.",
            (name,),
            did_you_mean(name, [b.name for b in self.buffers], "buffers"),
        )

    def loop(self, name: str) -> tuple[For, tuple[For, ...]]:
        """Loop by name with the loops around it; `ScheduleError` "loop.unknown" when there is none."""
        for lp, path in loops(self.body):
            if lp.name == name:
                return lp, path
        raise ScheduleError(
            "loop.unknown",
            f"There is no loop {name!r}.",
            (name,),
            did_you_mean(name, [lp.name for lp, _ in loops(self.body)], "loops"),
        )

    def block(self, name: str) -> tuple[Block, tuple[For, ...]]:
        """Block by name with the loops around it; `ScheduleError` "block.unknown" when there is none."""
        for b, path in blocks(self.body):
            if b.name == name:
                return b, path
        raise ScheduleError(
            "block.unknown",
            f"There is no block {name!r}.",
            (name,),
            did_you_mean(name, [b.name for b, _ in blocks(self.body)], "blocks"),
        )

    @property
    def is_concrete(self) -> bool:
        """Whether no hole is open."""
        return not self.holes

    def with_buffers(self, new: Iterable[Buffer]) -> Func:
        """Replace buffers of the same name; append the others."""
        table = {b.name: b for b in self.buffers}
        table.update({b.name: b for b in new})
        return replace(self, buffers=tuple(table.values()))

    def fresh_name(self, base: str) -> str:
        """Return `base`, or `base` with a number, such that no loop, block or buffer has that name yet."""
        taken = {lp.name for lp, _ in loops(self.body)} | {b.name for b, _ in blocks(self.body)}
        taken |= {b.name for b in self.buffers}
        name, k = base, 0
        while name in taken:
            k += 1
            name = f"{base}_{k}"
        return name


def subst_holes(func: Func, env: Mapping[str, Dim]) -> Func:
    """Substitute holes everywhere in the nest, the buffers and the constraints (not in holes and relations)."""

    def g(d: Dim) -> Dim:
        return substitute(d, env)

    def form(a: Affine) -> Affine:
        return a.map_dims(g)

    def fn(s: Stmt) -> tuple[Stmt, ...]:
        if isinstance(s, For):
            return (replace(s, extent=g(s.extent)),)
        return (map_block(s, form, form, g),)

    buffers = tuple(
        replace(b, shape=tuple(g(d) for d in b.shape), layout=tuple(LayoutStep(s.dim, g(s.block)) for s in b.layout))
        for b in func.buffers
    )
    return replace(
        func,
        body=rewrite(func.body, fn),
        buffers=buffers,
        constraints=tuple(Constraint(c.label, g(c.expr)) for c in func.constraints),
        aliases=tuple((n, g(d)) for n, d in func.aliases),
    )


def pack(buffer: Buffer, array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Bring an array as the user gives it into the buffer's packed layout (a copy, C-contiguous)."""
    if array.shape != buffer.logical_shape():
        raise ShapeError(
            "shape.mismatch",
            f"{buffer.name!r} has shape {array.shape}, expected {buffer.logical_shape()}.",
            (buffer.name,),
        )
    for step in buffer.layout:
        assert isinstance(step.block, int)
        n = array.shape[step.dim]
        split = array.reshape(*array.shape[: step.dim], n // step.block, step.block, *array.shape[step.dim + 1 :])
        array = np.moveaxis(split, (step.dim, step.dim + 1), (0, -1))
    return np.ascontiguousarray(array)
