"""A function: buffers and a loop nest, possibly with holes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ScheduleError, ShapeError, did_you_mean
from workbench.ir.affine import Affine
from workbench.ir.poly import Dim, Relation, product, substitute
from workbench.ir.stmt import Block, For, Stmt, blocks, loops, map_block, rewrite, walk
from workbench.ir.winograd_weights import WinogradStep
from workbench.late_binding import Provided
from workbench.memoize import remembered

#: Readable text of a function; `text.printer` provides it.
func_text: Provided[[Func], str] = Provided("the text of functions")

Role: TypeAlias = Literal["input", "const", "temp", "output"]
#: Where a temporary lives. "auto": the code generator decides by size and use. "global": in the workspace of the call.
#: "shared": common to the threads of one block. "local": each thread has its own. "inp", "wgt", "acc": an accelerator's
#: memories for data, weights and sums; a CPU takes them for "auto".
Scope: TypeAlias = Literal["auto", "global", "shared", "local", "inp", "wgt", "acc"]


@dataclass(frozen=True, slots=True)
class LayoutStep:
    """Packing step: axis `dim` of size n becomes an outermost axis ``n // block`` and an innermost axis of size
    `block`; with `here` the axis of the blocks stays where it is.
    """

    dim: int
    block: Dim
    here: bool = False

    def logical_shape(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Shape before the step."""
        inner = list(shape[:-1])
        count = inner.pop(self.dim if self.here else 0)
        inner.insert(self.dim, count * shape[-1])
        return tuple(inner)

    def apply(self, array: NDArray[Any]) -> NDArray[Any]:
        """Pack an array."""
        assert isinstance(self.block, int)
        k, n = self.dim, array.shape[self.dim]
        split = array.reshape(*array.shape[:k], n // self.block, self.block, *array.shape[k + 1 :])
        return np.moveaxis(split, (k, k + 1), (k if self.here else 0, -1))


@dataclass(frozen=True, slots=True)
class PadStep:
    """Padding step: dimension `dim` of `size` elements gets zeros behind its end, up to `extent`."""

    dim: int
    size: int
    extent: int

    def logical_shape(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Shape before the step."""
        return (*shape[: self.dim], self.size, *shape[self.dim + 1 :])

    def apply(self, array: NDArray[Any]) -> NDArray[Any]:
        """Pad an array."""
        missing = [(0, self.extent - self.size if d == self.dim else 0) for d in range(array.ndim)]
        return np.pad(array, missing)


#: How an array as given becomes the array in memory, step by step.
Layout: TypeAlias = tuple[LayoutStep | PadStep | WinogradStep, ...]


@dataclass(frozen=True, slots=True)
class Align:
    """The stride of dimension `dim` is the least one that is `offset` more than a multiple of `factor` elements."""

    dim: int
    factor: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Buffer:
    """A row-major array. `layout` lists the packing steps that led from the array as given to `shape`.

    Only a temporary has a `scope` other than "auto", or strides that `align` pads; neither changes any index.
    """

    name: str
    shape: tuple[Dim, ...]
    dtype: str = "float32"
    role: Role = "temp"
    layout: Layout = ()
    scope: Scope = "auto"
    align: tuple[Align, ...] = ()

    @property
    def size(self) -> Dim:
        """Number of elements (without what `align` adds)."""
        return product(self.shape)

    def strides(self) -> tuple[Dim, ...]:
        """Distance in elements between neighbours of each dimension; sizes below an aligned dimension must be known."""
        out: list[Dim] = []
        step: Dim = 1
        padding = {a.dim: a for a in self.align}
        for dim in reversed(range(len(self.shape))):
            if dim in padding:
                assert isinstance(step, int), f"the stride of {self.name} is open"
                step += (padding[dim].offset - step) % padding[dim].factor
            out.append(step)
            step = step * self.shape[dim]
        return tuple(reversed(out))

    @property
    def nbytes(self) -> int:
        """Size in bytes of a concrete buffer, padding between rows included."""
        span = self.strides()[0] * self.shape[0] if self.shape else 1
        assert isinstance(span, int)
        return span * np.dtype(self.dtype).itemsize

    def logical_shape(self) -> tuple[Dim, ...]:
        """Shape before packing: that of the array as the user gives it."""
        shape = self.shape
        for step in reversed(self.layout):
            shape = step.logical_shape(shape)
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
        return func_text(self)

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
        raise _unknown("buffer", name, [b.name for b in self.buffers])

    def loop(self, name: str) -> tuple[For, tuple[For, ...]]:
        """Loop by name with the loops around it; `ScheduleError` "loop.unknown" when there is none."""
        placed = _all_named(self.body)[0].get(name)
        if placed is None:
            raise _unknown("loop", name, [lp.name for lp, _ in loops(self.body)])
        return placed

    def block(self, name: str) -> tuple[Block, tuple[For, ...]]:
        """Block by name with the loops around it; `ScheduleError` "block.unknown" when there is none."""
        placed = _all_named(self.body)[1].get(name)
        if placed is None:
            raise _unknown("block", name, [b.name for b, _ in blocks(self.body)])
        return placed

    @property
    def is_concrete(self) -> bool:
        """Whether no hole is open."""
        return not self.holes

    def with_body(self, body: tuple[Stmt, ...]) -> Func:
        """Replace the statements."""
        return Func(self.name, self.buffers, body, self.holes, self.relations, self.constraints, self.aliases)

    def with_buffers(self, new: Iterable[Buffer]) -> Func:
        """Replace buffers of the same name; append the others."""
        table = {b.name: b for b in self.buffers}
        table.update({b.name: b for b in new})
        buffers = tuple(table.values())
        return Func(self.name, buffers, self.body, self.holes, self.relations, self.constraints, self.aliases)

    def fresh_name(self, base: str) -> str:
        """Return `base`, or `base` with a number, such that no loop, block or buffer has that name yet."""
        named = _all_named(self.body)
        name, k = base, 0
        while name in named[0] or name in named[1] or any(b.name == name for b in self.buffers):
            k += 1
            name = f"{base}_{k}"
        return name


_Named: TypeAlias = tuple[dict[str, tuple[For, tuple[For, ...]]], dict[str, tuple[Block, tuple[For, ...]]]]


@remembered(512)
def _all_named(body: tuple[Stmt, ...]) -> _Named:
    """Loops and blocks of all nests; most steps change one of them, and the others are the same objects as before."""
    out: _Named = ({}, {})
    for s in reversed(body):  # of two with one name the first counts
        loops_of, blocks_of = _named(s)
        out[0].update(loops_of)
        out[1].update(blocks_of)
    return out


@remembered(512)
def _named(nest: Stmt) -> _Named:
    """Loops and blocks of a nest by name, with the loops around them."""
    out: _Named = ({}, {})
    for s, path in walk((nest,)):
        if isinstance(s, For):
            out[0].setdefault(s.name, (s, path))
        else:
            out[1].setdefault(s.name, (s, path))
    return out


def _unknown(kind: str, name: str, known: list[str]) -> ScheduleError:
    hint = did_you_mean(name, known, f"{kind}s")
    return ScheduleError(f"{kind}.unknown", f"There is no {kind} {name!r}.", (name,), hint)


def map_layout(layout: Layout, dims: Callable[[Dim], Dim]) -> Layout:
    """Apply `dims` to the block sizes of packing steps."""
    return tuple(replace(s, block=dims(s.block)) if isinstance(s, LayoutStep) else s for s in layout)


def subst_holes(func: Func, env: Mapping[str, Dim]) -> Func:
    """Substitute holes everywhere in the nest, the buffers and the constraints (not in holes and relations)."""
    return map_dims(func, lambda d: substitute(d, env))


def map_dims(func: Func, g: Callable[[Dim], Dim]) -> Func:
    """Apply `g` to every dim of the nest, the buffers, the constraints and the aliases."""

    def form(a: Affine) -> Affine:
        return a.map_dims(g)

    def fn(s: Stmt) -> tuple[Stmt, ...] | None:
        if isinstance(s, For):
            extent = g(s.extent)
            return None if extent is s.extent else (replace(s, extent=extent),)
        return (map_block(s, form, form, g),)

    buffers = tuple(
        replace(b, shape=tuple(g(d) for d in b.shape), layout=map_layout(b.layout, g)) for b in func.buffers
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
        array = step.apply(array)
    return np.asarray(array, order="C")  # of a scalar, too: `ascontiguousarray` gives it a dimension


class Same:
    """A function as a key of a table: the same object, not one that is equal.

    Parameters
    ----------
    func : Func
        Is held, so that its ``id`` stays its own.
    """

    def __init__(self, func: Func) -> None:
        self.func = func

    def __hash__(self) -> int:
        return id(self.func)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.func is self.func
