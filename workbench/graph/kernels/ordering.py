"""The largest or smallest elements of rows.

Elements are compared as unsigned integers, their *keys*, so that larger keys come first. A heap holds the best so far,
the worst of them on top; whole vectors of elements are compared with it at once, and few have to be looked at.
"""

from __future__ import annotations

import numpy as np

from workbench.codegen.runtime_kernels.language import Array, Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter, split

_UNSIGNED = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
#: Vectors that are compared with the top of the heap at once.
_AT_ONCE = 4


def key_type(dtype: str) -> str:
    """Type of the keys of elements."""
    return _UNSIGNED[np.dtype(dtype).itemsize]


def key_of(x: Number, largest: bool) -> Number:
    """An unsigned integer that is larger where an element comes earlier; all NaN are equal, above infinity."""
    kind = key_type(x.dtype)
    size = 8 * np.dtype(kind).itemsize
    sign, every = 1 << (size - 1), (1 << size) - 1
    if x.value.is_float:
        bits = x.bits(kind)
        plain = (bits & (sign - 1)).eq(0).select(0, bits)  # -0.0 is 0.0
        key = (plain >= sign).select(plain ^ every, plain | sign)
        key = x.ne(x).select(every, key)
    else:
        key = x.bits(kind) ^ (0 if x.dtype in _UNSIGNED.values() else sign)
    return key if largest else key ^ every


class Heap:
    """The worst of some elements on top: of equal keys, that with the larger number."""

    def __init__(self, code: Code) -> None:
        self.code, self.keys, self.numbers = code, code.array("keys"), code.array("numbers")

    def sift(self, at: Number | int, key: Number, number: Number, size: Number | int) -> None:
        """Put an element into the free place `at`, after those below it that are worse have moved up."""
        code = self.code
        place, last = code.variable(at), code.number(size) - 1
        child = code.variable(code.number(at) * 2 + 1)
        going = code.variable(child.now <= last, "bool")
        with code.repeat(lambda: going.now):
            left = child.now
            right = (left + 1).smallest(last)
            k = self._worse(right, self.keys[left], self.numbers[left]).select(right, left)
            up = self._worse(k, key, number)
            with code.when(up):
                here = place.now
                self.keys[here], self.numbers[here] = self.keys[k], self.numbers[k]
                place.set(k)
                child.set(k * 2 + 1)
            going.set(up & (child.now <= last))
        self.keys[place.now], self.numbers[place.now] = key, number

    def _worse(self, k: Number, key: Number, number: Number) -> Number:
        """Whether the element at `k` is worse than another one."""
        own = self.keys[k]
        return (own < key) | (own.eq(key) & (self.numbers[k] > number))


def top_k(k: KernelEmitter, axis: int, count: int, largest: bool) -> None:
    """The first `count` elements of each row in their order, and their places; of equal elements the earlier ones."""
    outer, length, inner = split(k.shape("in0"), axis)
    dtype = k.dtype("in0")
    k.scratch("keys", count, key_type(dtype))
    k.scratch("numbers", count, "int64")

    def row(code: Code, number: Number) -> None:
        start = number // inner * (length * inner) + number % inner
        x, heap = code.array("in0").at(start), Heap(code)
        with code.loop(count) as j:
            heap.keys[j], heap.numbers[j] = key_of(x[j * inner], largest), j
        with code.loop(count // 2) as j:
            at = count // 2 - 1 - j
            heap.sift(at, heap.keys[at], heap.numbers[at], count)
        _improve(code, heap, x, (count, length, inner), largest)
        with code.loop(count - 1) as j:
            last = count - 1 - j
            key, which = heap.keys[last], heap.numbers[last]
            heap.keys[last], heap.numbers[last] = heap.keys[0], heap.numbers[0]
            heap.sift(0, key, which, last)
        first = number // inner * (count * inner) + number % inner
        _written(code, heap, x, inner, count, first)

    k.rows(outer * inner, row, length + 8 * count)


def _improve(code: Code, heap: Heap, x: Array, sizes: tuple[int, int, int], largest: bool) -> None:
    """Let the elements behind the first `count` take the place of the worst ones."""
    count, length, inner = sizes
    wide = 1 if inner > 1 else min(_AT_ONCE * code.lanes(x.dtype), 64)

    def look(j: Number) -> None:
        key = key_of(x[j * inner], largest)
        with code.when(key > heap.keys[0]):
            heap.sift(0, key, j, count)

    whole = length - (length - count) % wide
    if wide > 1:
        with code.loop(whole, count, wide) as j:
            some, top = x.load(j, wide), x[heap.numbers[0]]
            behind = some <= top if largest else some >= top  # of NaN neither holds: it is looked at
            left = code.variable((~behind).mask(), "uint64")
            with code.repeat(lambda: left.now.ne(0)):
                found = left.now
                look(j + found.lowest_bit())
                left.set(found & (found - 1))
    with code.loop(length, whole if wide > 1 else count) as j:
        look(j)


def _written(code: Code, heap: Heap, x: Array, inner: int, count: int, first: Number) -> None:
    values, places = code.given("out0"), code.given("out1")
    with code.loop(count) as j:
        which, at = heap.numbers[j], first + j * inner
        if values is not None:
            values[at] = x[which * inner]
        if places is not None:
            places[at] = which
