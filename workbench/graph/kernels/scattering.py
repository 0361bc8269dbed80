"""A copy of a tensor with elements or slices stored at places that are known at run time.

Where several name one place, they are stored or joined in their order, whatever the number of threads: what one place
gets is the work of one thread. Numbers that lie outside of the tensor store nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from workbench.codegen.runtime_kernels.language import Array, Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter, split
from workbench.graph.group import row_major

#: How an element is joined to what is there.
_JOIN = {"add": "add", "mul": "mul", "max": "max", "min": "min"}
#: The same for truth values, which are bytes in memory.
_TRUTH = {"add": "max", "mul": "min", "max": "max", "min": "min"}
#: Elements that are copied as a row; neighbours that are stored as one.
_COPIED, _BLOCK = 8192, 64
#: Elements of a row that are read before the first of them is stored.
_TOGETHER = 4


def _stored(out: Array, at: Number, new: Number, join: str | None) -> None:
    """Store an element or vector, or join it to what is there."""
    if join is not None:
        old = out.load(at, new.lanes)
        new = Number(out.code, out.code.arithmetic.binary(join, old.value, new.value))
    out.store(at, new)


def _joined(k: KernelEmitter, how: str) -> str | None:
    return (_TRUTH if k.dtype("in0") == "bool" else _JOIN).get(how)


def copied(k: KernelEmitter) -> None:
    """Copy the first input to the first output, unless they are the same memory."""
    size = math.prod(k.shape("in0"))

    def rows(code: Code, number: Number) -> None:
        x, y = code.array("in0"), code.array("out0")
        with code.when(~x.same(y)):
            start = number * _COPIED
            with code.when((start + _COPIED) <= size):
                code.along(_COPIED, x.dtype, lambda i, lanes: y.store(start + i, x.load(start + i, lanes)))
            if size % _COPIED:
                with code.when((start + _COPIED) > size):
                    code.along(size % _COPIED, x.dtype, lambda i, lanes: y.store(start + i, x.load(start + i, lanes)))

    k.rows(-(-size // _COPIED), rows, _COPIED // 8)


def _place(number: Number, size: int) -> tuple[Number, Number]:
    """A number as it counts from the front, and whether it lies inside."""
    at = number.to("int64")
    at = (at < 0).select(at + size, at)
    return at, at.bits("uint64") < size


def scatter_slices(k: KernelEmitter, how: str) -> None:
    """Store slices at tuples of numbers, the last dimension of the second input."""
    shape, index = k.shape("in0"), k.shape("in1")
    width, size = index[-1], math.prod(shape[index[-1] :])
    count, join = math.prod(index[:-1]), _joined(k, how)
    strides = row_major(shape[:width])
    copied(k)
    # A thread has some columns of all slices, or, where these are short, some of the places.
    by_columns = size >= 2 * k.target.lanes(k.dtype("in0"))
    parts = -(-size // _BLOCK) if by_columns else k.target.threads
    slices = math.prod(shape[:width])

    def part(code: Code, number: Number) -> None:
        numbers, new, out = code.array("in1"), code.array("in2"), code.array("out0")
        low, high = number * slices // parts, (number + 1) * slices // parts
        with code.loop(count) as m:
            at, inside = code.number(0), None
            for d in range(width):
                one, fits = _place(numbers[m * width + d], shape[d])
                at, inside = at + one * strides[d], fits if inside is None else inside & fits
            assert inside is not None
            if not by_columns:
                inside = inside & (at >= low) & (at < high)
            with code.when(inside):
                source, target = new.at(m * size), out.at(at * size)
                if by_columns:
                    _columns(code, number, size, source, target, join)
                else:
                    code.along(size, source.dtype, lambda i, lanes: _stored(target, i, source.load(i, lanes), join))

    k.rows(parts, part, count * (width + (_BLOCK // 8 if by_columns else -(-size // parts))))


def _columns(code: Code, number: Number, size: int, source: Array, target: Array, join: str | None) -> None:
    """Store the elements of a slice that are a thread's."""
    start = number * _BLOCK
    source, target = source.at(start), target.at(start)

    def store(at: Number, lanes: int) -> None:
        _stored(target, at, source.load(at, lanes), join)

    if size >= _BLOCK:
        with code.when((start + _BLOCK) <= size):
            code.along(_BLOCK, source.dtype, store)
    if size % _BLOCK:
        with code.when((start + _BLOCK) > size):
            code.along(size % _BLOCK, source.dtype, store)


def scatter_elements(k: KernelEmitter, axis: int, how: str) -> None:
    """Store elements along an axis, each at a number of its own."""
    shape, index = k.shape("in0"), k.shape("in1")
    theirs, own, join = row_major(shape), row_major(index), _joined(k, how)
    last = len(shape) - 1
    # Elements of a row go along the axis; where that is not the last one, a row has some neighbours beside it.
    block = 1 if axis == last else min(index[last], _BLOCK)
    blocks = 1 if axis == last else -(-index[last] // block)
    others = [d for d in range(last) if d != axis] if axis != last else list(range(last))
    by_row = axis == last and shape[:last] == index[:last]  # a row is copied just before its elements are stored
    if not by_row:
        copied(k)

    def row(code: Code, number: Number) -> None:
        first = number % blocks * block
        to, of = _begin(code, number // blocks, others, index, (theirs, own))
        numbers, new, out = code.array("in1"), code.array("in2"), code.array("out0")
        if by_row:
            x, y = code.array("in0").at(to), out.at(to)
            with code.when(~x.same(y)):
                code.along(shape[last], x.dtype, lambda at, lanes: y.store(at, x.load(at, lanes)), 4)

        def some(here: Number, beside: Number | int, count: int) -> None:
            """Read so many elements side by side, then store one after the other."""
            places = [_place(numbers[here + n], shape[axis]) for n in range(count)]
            values = [new[here + n] for n in range(count)]
            for (at, inside), value in zip(places, values, strict=True):
                with code.when(inside):
                    _stored(out, to + at * theirs[axis] + beside, value, join)

        if axis == last:
            whole = index[last] // _TOGETHER * _TOGETHER
            with code.loop(whole, 0, _TOGETHER) as j:
                some(of + j, 0, _TOGETHER)
            for n in range(whole, index[last]):
                some(of + n, 0, 1)
            return
        count = code.number(block) if block * blocks == index[last] else (index[last] - first).smallest(block)
        with code.loop(index[axis]) as j, code.loop(count) as i:
            some(of + j * own[axis] + first + i, first + i, 1)

    k.rows(math.prod(index[d] for d in others) * blocks, row, index[axis] * block * 4)


def _begin(
    code: Code, number: Number, dims: Sequence[int], sizes: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[Number, ...]:
    """Where a row of a number begins in arrays of these strides."""
    starts = [code.number(0) for _ in strides]
    for d in reversed(dims):
        at, number = number % sizes[d], number // sizes[d]
        starts = [s + at * stride[d] for s, stride in zip(starts, strides, strict=True)]
    return tuple(starts)


def new_slices(k: KernelEmitter, axis: int, circular: bool) -> None:
    """A copy with slices stored along an axis, in each batch from a number on; in a circle where `circular`."""
    copied(k)
    outer, length, inner = split(k.shape("in0"), axis)
    count, batches = k.shape("in1")[axis], k.shape("in0")[0]

    def row(code: Code, number: Number) -> None:
        new, y = code.array("in1").at(number * (count * inner)), code.array("out0").at(number * (length * inner))
        first = code.array("in2")[number // (outer // batches)].to("int64") if k.has("in2") else code.number(0)
        with code.loop(count) as j:
            at = first + j
            at = (at % length + length) % length if circular else at
            with code.when((at >= 0) & (at < length)):
                code.along(inner, new.dtype, lambda i, lanes: y.store(at * inner + i, new.load(j * inner + i, lanes)))

    k.rows(outer, row, count * inner)
