"""Different elements or slices: sorted by their digits, the last one first, and counted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.codegen.runtime_kernels.language import Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter
from workbench.graph.kernels.ordering import key_of, key_type

#: Values of a digit: a byte of a key.
_DIGIT = 256
#: Key of the element of a number, at a place of its slice.
_Key = Callable[[Number, Number], Number]


def different_slices(k: KernelEmitter, outer: int, length: int, inner: int, in_order: bool) -> None:
    """Slices along an axis, each once, where the first of its kind lies, the kind of each, and how many there are."""
    for name in ("order", "other", "firsts", "kinds", "counts", "places"):
        k.scratch(name, length, "int64", shared=True)
    k.scratch("ends", _DIGIT, "int64", shared=True)

    def step(code: Code) -> None:
        x = code.array("in0")

        def key(number: Number, at: Number) -> Number:
            found = x[(at // inner * length + number) * inner + at % inner]
            return key_of(found, largest=True).to("uint64")

        order = code.array("order")
        with code.loop(length) as j:
            order[j] = j
        size = np.dtype(key_type(x.dtype)).itemsize
        with code.loop(outer * inner) as back:
            _sorted(code, length, size, lambda number: key(number, (outer * inner - 1) - back))
        kinds = _kinds(code, length, outer * inner, key)
        _written(code, (outer, length, inner), kinds, in_order)

    k.once(step)


def _sorted(code: Code, length: int, size: int, key: Callable[[Number], Number]) -> None:
    """Order the numbers by a key; equal ones stay in their order. Bytes in which no two keys differ are left out."""
    order, other = code.array("order"), code.array("other")
    first, differ = key(order[0]), code.variable(0, "uint64")
    with code.loop(length) as j:
        differ.set(differ.now | (key(j) ^ first))
    with code.loop(size) as byte:
        shift = (byte * 8).bits("uint64")
        with code.when(((differ.now >> shift) & (_DIGIT - 1)).ne(0)):
            _by_digit(code, length, lambda number: ((key(number) >> shift) & (_DIGIT - 1)).bits("int64"))
            with code.loop(length) as j:
                order[j] = other[j]


def _by_digit(code: Code, length: int, digit: Callable[[Number], Number]) -> None:
    """Order the numbers by a digit."""
    order, other, ends = (code.array(n) for n in ("order", "other", "ends"))
    with code.loop(_DIGIT) as d:
        ends[d] = 0
    with code.loop(length) as j:
        d = digit(j)
        ends[d] = ends[d] + 1
    before = code.variable(0)
    with code.loop(_DIGIT) as d:
        count = ends[d]
        ends[d] = before.now
        before.set(before.now + count)
    with code.loop(length) as j:
        number = order[j]
        d = digit(number)
        place = ends[d]
        other[place] = number
        ends[d] = place + 1


def _kinds(code: Code, length: int, size: int, key: _Key) -> Number:
    """Number the kinds in their order; returns how many there are."""
    order, firsts, kinds, counts = (code.array(n) for n in ("order", "firsts", "kinds", "counts"))
    kind = code.variable(-1)
    with code.loop(length) as j:
        number, before = order[j], order[(j - 1).largest(0)]
        new = code.variable(j.eq(0), "bool")
        at = code.variable(0)
        with code.repeat(lambda: ~new.now & (at.now < size)):
            new.set(key(number, at.now).ne(key(before, at.now)))
            at.set(at.now + 1)
        with code.when(new.now):
            kind.set(kind.now + 1)
            firsts[kind.now], counts[kind.now] = number, 0
        kinds[number] = kind.now
        counts[kind.now] = counts[kind.now] + 1
    return kind.now + 1


def _written(code: Code, sizes: tuple[int, int, int], kinds: Number, in_order: bool) -> None:
    """Write the results: kinds in their order, or as they first occur."""
    outer, length, inner = sizes
    of, firsts, counts, places = (code.array(n) for n in ("kinds", "firsts", "counts", "places"))
    if in_order:
        with code.loop(kinds) as kind:
            places[kind] = kind
    else:
        next_one = code.variable(0)
        with code.loop(length) as j, code.when(firsts[of[j]].eq(j)):
            places[of[j]] = next_one.now
            next_one.set(next_one.now + 1)
    x, (y, where, back, many) = code.array("in0"), (code.given(f"out{i}") for i in range(4))
    with code.loop(kinds) as kind:
        place, first = places[kind], firsts[kind]
        if where is not None:
            where[place] = first
        if many is not None:
            many[place] = counts[kind]
        if y is not None:
            with code.loop(outer) as o:
                source, to = x.at((o * length + first) * inner), y.at((o * length + place) * inner)
                code.along(inner, x.dtype, lambda at, lanes: to.store(at, source.load(at, lanes)))
    if back is not None:
        with code.loop(length) as j:
            back[j] = places[of[j]]
    code.array("out4")[0] = kinds
