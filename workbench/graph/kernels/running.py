"""Sums, or products, of all elements up to each one."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, mul

from workbench.codegen.runtime_kernels.language import Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter, split

#: Vectors of a row's neighbours that are summed side by side: their additions do not wait for each other.
_SIDE_BY_SIDE = 4


#: Function -> what joins two numbers, and the number that changes none.
_JOINS: dict[str, tuple[Callable[[Number, Number], Number], int]] = {"sum": (add, 0), "product": (mul, 1)}


def running(k: KernelEmitter, what: str, axis: int, exclusive: bool, reverse: bool) -> None:
    """Sums or products along an axis, without the element itself where `exclusive`, from the end where `reverse`."""
    by_row = split(k.shape("in0"), axis)[2] == 1
    (_along_rows if by_row else _across_rows)(k, what, axis, exclusive, reverse)


def _sum_type(dtype: str) -> str:
    """What sums are kept in."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def _across_rows(k: KernelEmitter, what: str, axis: int, exclusive: bool, reverse: bool) -> None:
    """Sum whole rows of neighbours, some vectors of them at a time."""
    (join, none), (outer, length, inner) = _JOINS[what], split(k.shape("in0"), axis)
    dtype = k.dtype("in0")
    block = min(inner, _SIDE_BY_SIDE * k.target.lanes(dtype))
    blocks = -(-inner // block)

    def columns(code: Code, start: Number, lanes: int) -> None:
        x, y = code.array("in0").at(start), code.array("out0").at(start)
        total = code.variable(none, _sum_type(dtype), lanes)
        with code.loop(length) as j:
            at = ((length - 1) - j if reverse else j) * inner
            before = total.now
            after = join(before, x.load(at, lanes).to(_sum_type(dtype)))
            y.store(at, (before if exclusive else after).to(dtype))
            total.set(after)

    def row(code: Code, number: Number) -> None:
        which = number % blocks
        start = number // blocks * (length * inner) + which * block
        rest = inner % block
        with code.when(which < inner // block):
            columns(code, start, block)
        if rest:
            with code.when(which.eq(blocks - 1)), code.loop(rest) as j:
                columns(code, start + j, 1)

    k.rows(outer * blocks, row, length * 2)


def _along_rows(k: KernelEmitter, what: str, axis: int, exclusive: bool, reverse: bool) -> None:
    """Sum the vectors of a row by themselves, each lane with those before it, and add what came before."""
    (join, none), (outer, length, _) = _JOINS[what], split(k.shape("in0"), axis)
    dtype = k.dtype("in0")

    def row(code: Code, number: Number) -> None:
        x, y = code.array("in0").at(number * length), code.array("out0").at(number * length)
        total = code.variable(none, _sum_type(dtype))

        def vector(at: Number, lanes: int) -> None:
            at = (length - lanes) - at if reverse else at
            found = _turned(x.load(at, lanes), reverse).to(_sum_type(dtype))
            for step in (1 << n for n in range(lanes.bit_length() - 1)):
                found = join(found, _moved(code, found, step, none))
            before = total.now
            sums = join(_moved(code, found, 1, none) if exclusive else found, before.spread(lanes))
            y.store(at, _turned(sums, reverse).to(dtype))
            total.set(join(before, found.lane(lanes - 1)))

        code.along(length, _sum_type(dtype), vector)

    k.rows(outer, row, length * 2)


def _turned(x: Number, reverse: bool) -> Number:
    """Lanes in the other order."""
    return x.shuffled(range(x.lanes)[::-1]) if reverse and x.lanes > 1 else x


def _moved(code: Code, x: Number, by: int, first: int) -> Number:
    """Each lane from so many lanes before it; `first` comes in."""
    new = code.like(first, x)
    return new if by >= x.lanes else x.shuffled([k - by if k >= by else x.lanes for k in range(x.lanes)], new)
