"""Expressions over a box of a domain, with bounds on rounding."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

import numpy as np

from workbench.ir.dtypes import is_float
from workbench.ir.expr import Binary, Cast, Const, Expr, Index, Load, Select, Unary, Where
from workbench.ir.expr_dtypes import dtype_of
from workbench.ir.func import Func
from workbench.ir.numpy_reference.expressions import Evaluator
from workbench.ir.rounding_bounds.operations import Array, Near, Ulps, binary, cast, choice, double, unary

Box: TypeAlias = dict[str, range]

#: Elements of an operand of a matrix product, 32 MB of doubles: a product of 25088 x 4096 took 7.4 s and 2.7 GB whole,
#: and takes 0.9 s in such pieces.
OPERAND = 1 << 22
#: Ends of the ranges of bytes.
_BYTES = {"int8": (-128, 127), "uint8": (0, 255)}
#: Not the name of any buffer.
_ERROR = "?"


def boxes(sizes: Mapping[str, int], most: int) -> Iterator[Box]:
    """Cut a domain into boxes of at most so many points, along its leading axes."""
    counts: dict[str, int] = {}
    for name in reversed(list(sizes)):
        counts[name] = max(1, min(sizes[name], most))
        most //= counts[name]
    return boxes_of(sizes, counts)


def boxes_of(sizes: Mapping[str, int], counts: Mapping[str, int]) -> Iterator[Box]:
    """Cut a domain into boxes of so many points along each axis."""
    for starts in itertools.product(*(range(0, sizes[n], counts[n]) for n in sizes)):
        yield {n: range(at, min(at + counts[n], sizes[n])) for n, at in zip(sizes, starts, strict=True)}


class Memory:
    """Values and bounds of all buffers of a function, as far as they are computed, and what is known of them."""

    def __init__(self, func: Func, ulps: Ulps) -> None:
        self.func, self.ulps = func, ulps
        self.values: dict[str, Array] = {}
        self.errors: dict[str, Array] = {}
        self.cut = self.converted = 0
        #: Largest relative error of a sum of magnitudes, for buffers of sums.
        self.sums: dict[str, float] = {}
        self.varied = {b.name for b in func.inputs if is_float(b.dtype)}


class Domain:
    """Where expressions are evaluated: a box of the axes of a block."""

    def __init__(self, memory: Memory, axes: Mapping[str, int], box: Box) -> None:
        self.memory, self.axes, self.box = memory, dict(axes), dict(box)
        self._part = {n: values for n, values in box.items() if len(values) != axes[n]}
        self.values = self.over(memory.values)

    def over(self, arrays: dict[str, Array]) -> Evaluator:
        """An evaluator that reads these arrays."""
        return Evaluator(arrays, self.axes, True, self._part)

    def inside(self, box: Box) -> Domain:
        """The same with further axes cut."""
        return Domain(self.memory, self.axes, {**self.box, **box})

    def near(self, e: Expr, used: Array | None = None) -> Near:
        """Evaluate; under a `Select`, `used` says where the value counts: elsewhere loads may point outside."""
        func, ulps = self.memory.func, self.memory.ulps
        match e:
            case Const(value, dtype):
                number = np.asarray(value).astype(dtype).reshape((1,) * len(self.axes))
                return Near(number.astype(np.float64) if is_float(dtype) else number)
            case Load():
                return self.load(e, used)
            case Index(form):
                return Near(self.values.form(form))
            case Unary(op, a):
                return unary(op, self.near(a, used), dtype_of(a, func), ulps)
            case Binary(op, a, b):
                return binary(op, self.near(a, used), self.near(b, used), dtype_of(a, func), ulps)
            case Cast(dtype, a):
                before = dtype_of(a, func)
                near = cast(self.near(a, used), before, dtype)
                if is_float(before) and dtype in _BYTES:
                    self.memory.converted += near.value.size
                    self.memory.cut += int(np.isin(near.value, _BYTES[dtype]).sum())
                return near
            case Select(conds, a, b):
                inside = self.values.mask(conds)
                if inside.all() or not inside.any():
                    return self.near(a if inside.any() else b, used)
                chosen, other = (inside, ~inside) if used is None else (inside & used, ~inside & used)
                return choice(Near(inside), self.near(a, chosen), self.near(b, other))
            case Where(cond, a, b):
                return choice(self.near(cond, used), self.near(a, used), self.near(b, used))
        assert_never(e)

    def load(self, e: Load, used: Array | None) -> Near:
        """An element; any that there is, where its place is in doubt."""
        value = double(self.values.load(e, used))
        error = None
        if e.buffer in self.memory.errors:  # under a name of its own: numbers that are read stand among the values
            there = {**self.memory.values, _ERROR: self.memory.errors[e.buffer]}
            error = self.over(there).load(replace(e, buffer=_ERROR), used)
        doubts = [near.error > 0 for p in e.at if (near := self.near(p.value, used)).error is not None]
        for doubt in doubts:
            sure = Near(value, error)
            error = sure.margin | doubt if value.dtype == bool else np.where(doubt, np.inf, sure.margin)
        return Near(value, error)

    def operand(self, e: Expr) -> tuple[Near, Callable[[Array], Array]]:
        """A factor of a product as it lies in memory, and how an array of its shape is read over the domain."""
        if isinstance(e, Load) and not e.at and not self._part:
            whole = Near(self.memory.values[e.buffer], self.memory.errors.get(e.buffer))
            return whole, lambda x: self.over({e.buffer: x}).load(e, None)
        return self.near(e), lambda x: x
