"""Fourier transforms of rows, as products of small ones: a plan of lengths, and a kernel that follows it.

A length is the product of the plan's lengths. Each stage does transforms of one of them for whole vectors of numbers,
multiplies by powers of a root of unity, and writes results in an order in which the next stage reads vectors again
(Stockham's).
Of real numbers, two neighbours are one complex number of a transform of half the length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from workbench.codegen.runtime_kernels.language import Array, Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter
from workbench.graph.kernels.small_transforms import Pair, factors, times, transformed

#: Longest transform in registers; vectors of a usual machine, of which a plan knows nothing more.
_LONGEST, _LANES = 32, 16
#: Largest prime factor: all its products are written out.
_PRIME = 31


@dataclass(frozen=True, slots=True)
class Transform:
    """What is known of a transform when its kernel is compiled.

    Attributes
    ----------
    size : int
        Length of the transform.
    used : int
        Numbers of a row that are given; zeros follow.
    step, count : int
        Distance of the beginnings of frames in a row of the input, and their number.
    results : int
        Numbers of a row of the result.
    parts : int
        1 for real numbers, 2 for complex ones.
    inverse : bool
    """

    size: int
    used: int
    step: int
    count: int
    results: int
    parts: int
    inverse: bool

    @property
    def halved(self) -> bool:
        """Whether two real numbers are one complex one."""
        return self.parts == 1 and self.size % 2 == 0 and self.results == self.size // 2 + 1 and not self.inverse

    @property
    def length(self) -> int:
        """Complex numbers that are transformed."""
        return self.size // 2 if self.halved else self.size

    @property
    def plan(self) -> tuple[int, ...]:
        """Lengths of the stages; none where a prime factor is too large."""
        if max(factors(self.length), default=1) > _PRIME:
            return ()
        return min(_products(self.length), key=_cost, default=())

    def table(self) -> np.ndarray:
        """Numbers that the kernel reads: powers of roots for each stage, then those that take halves apart."""
        rows, left = [], self.length
        for radix in self.plan:
            rest = left // radix
            if rest > 1:
                turns = np.arange(1, radix)[:, None] * np.arange(rest) / left
                rows += [np.cos(2 * np.pi * turns), -np.sin(2 * np.pi * turns)]
            left = rest
        if self.halved:
            turns = 2 * np.pi * np.arange(self.length + 1) / self.size
            rows += [-0.5 * np.sin(turns), -0.5 * np.cos(turns)]
        return np.concatenate([np.zeros(1), *(r.reshape(-1) for r in rows)])


def _products(size: int) -> Iterator[tuple[int, ...]]:
    """Ways to write a number as a product of lengths in order."""
    if size <= _LONGEST:
        yield (size,)
    for first in range(2, min(_LONGEST, size // 2) + 1):
        if size % first == 0:
            yield from ((first, *rest) for rest in _products(size // first))


def _cost(plan: tuple[int, ...]) -> float:
    """Vector instructions of a plan, about."""
    before, left, total = 1, math.prod(plan), 0.0
    for radix in plan:
        left //= radix
        lanes = _first_lanes(radix, left, _LANES) if before == 1 else _lanes(before, _LANES)
        vectors = -(-left // lanes) if before == 1 else left * -(-before // lanes)
        each = radix * (sum(factors(radix)) + (6 if left > 1 else 2))
        if before == 1 and left > 1:
            each += 2 * radix * (lanes.bit_length() if radix % lanes == 0 else 2 * lanes)
        total += vectors * each * (1.3 if radix > 16 else 1.0)
        before *= radix
    return total


def _lanes(count: int, most: int) -> int:
    """The widest vector that lies within so many numbers."""
    return 1 << min(most, count).bit_length() - 1


def _first_lanes(radix: int, left: int, most: int) -> int:
    """The widest vector of a first stage: squares of numbers are turned in registers where it divides the radix."""
    lanes = _lanes(left, most)
    fitting = math.gcd(radix, lanes)
    return fitting if fitting >= min(4, lanes) else lanes


def _over(code: Code, count: int, most: int, each: Callable[[Number, int], None], lanes: int = 0) -> None:
    """Take numbers up to below `count` in vectors of which the last one may overlap that before it."""
    lanes = lanes or _lanes(count, most)
    with code.loop(-(-count // lanes)) as j:
        each(j * lanes if count % lanes == 0 else (j * lanes).smallest(count - lanes), lanes)


def fourier(k: KernelEmitter, t: Transform) -> None:
    """Transform frames of each row; inputs: numbers, a table (`Transform.table`), and what frames are multiplied by."""
    kind, length = k.dtype("in1"), math.prod(k.shape("in0")[1:])
    room = t.length + 1
    for name in ("a_re", "a_im", "b_re", "b_im"):
        k.scratch(name, room, kind)

    def row(code: Code, number: Number) -> None:
        pairs = [(code.array(f"{n}_re"), code.array(f"{n}_im")) for n in "ab"]
        width = code.lanes(kind)
        start = number // t.count * length + number % t.count * (t.step * t.parts)
        _read(code, t, code.array("in0").at(start), _parts(t, pairs[0]))
        place, before, left = 1, 1, t.length
        for radix in t.plan:
            left //= radix
            roots = (code.array("in1").at(place), code.array("in1").at(place + (radix - 1) * left))
            stage = _Stage(code, radix, left, before, roots)
            (stage.first if before == 1 and left > 1 else stage.later)(pairs[0], pairs[1], width)
            place += 2 * (radix - 1) * left if left > 1 else 0
            before *= radix
            pairs.reverse()
        y = code.array("out0").at(number * (t.results * 2))
        _write(code, t, _parts(t, pairs[0]), y, code.array("in1").at(place))

    k.rows(k.shape("out0")[0] * t.count, row, t.length * max(1, t.length.bit_length()))


def _parts(t: Transform, pair: tuple[Array, Array]) -> tuple[Array, Array]:
    """Where real and imaginary parts are: the inverse is a transform of swapped ones."""
    return (pair[1], pair[0]) if t.inverse else pair


@dataclass(frozen=True, slots=True)
class _Stage:
    """Transforms of length `radix`: `left` numbers apart in the source, each of `before` numbers side by side."""

    code: Code
    radix: int
    left: int
    before: int
    roots: tuple[Array, Array]

    def first(self, source: tuple[Array, Array], target: tuple[Array, Array], width: int) -> None:
        """Of numbers that lie alone: vectors go along them, and are turned round before they are stored."""

        def some(at: Number, lanes: int) -> None:
            found = transformed([self._pair(source, at + j * self.left, lanes) for j in range(self.radix)])
            for k in range(1, self.radix):
                found[k] = times(found[k], self._pair(self.roots, at + (k - 1) * self.left, lanes))
            for part in range(2):
                _turned(target[part], at * self.radix, [x[part] for x in found])

        _over(self.code, self.left, width, some, _first_lanes(self.radix, self.left, width))

    def later(self, source: tuple[Array, Array], target: tuple[Array, Array], width: int) -> None:
        """Of numbers side by side."""
        with self.code.loop(self.left) as p:
            roots = (
                [self._pair(self.roots, p + k * self.left, 1) for k in range(self.radix - 1)] if self.left > 1 else []
            )

            def some(at: Number, lanes: int) -> None:
                places = [(p + j * self.left) * self.before + at for j in range(self.radix)]
                found = transformed([self._pair(source, place, lanes) for place in places])
                for k, root in enumerate(roots, 1):
                    found[k] = times(found[k], (root[0].spread(lanes), root[1].spread(lanes)))
                for k, x in enumerate(found):
                    for part in range(2):
                        target[part].store((p * self.radix + k) * self.before + at, x[part])

            _over(self.code, self.before, width, some)

    def _pair(self, arrays: tuple[Array, Array], at: Number, lanes: int) -> Pair:
        return arrays[0].load(at, lanes), arrays[1].load(at, lanes)


def _turned(target: Array, at: Number, rows: list[Number]) -> None:
    """Store vectors as the columns of a matrix."""
    lanes, count = rows[0].lanes, len(rows)
    if count % lanes:
        for k, row in enumerate(rows):
            for lane in range(lanes):
                target.store(at + (lane * count + k), row.lane(lane))
        return
    for start in range(0, count, lanes):
        square, half = rows[start : start + lanes], 1
        while half < lanes:  # squares of twice the size: their upper right and lower left quarters change places
            other = list(square)
            for k in (k for k in range(lanes) if not k & half):
                a, b = square[k], square[k + half]
                other[k] = a.shuffled([n if not n & half else lanes + n - half for n in range(lanes)], b)
                other[k + half] = a.shuffled([n + half if not n & half else lanes + n for n in range(lanes)], b)
            square, half = other, 2 * half
        for lane, column in enumerate(square):
            target.store(at + (lane * count + start), column)


def _read(code: Code, t: Transform, x: Array, to: tuple[Array, Array]) -> None:
    """Bring a frame's numbers into two rows, of real and of imaginary parts, with zeros behind them."""
    window, kind = code.given("in2"), to[0].dtype
    two = t.halved or t.parts == 2
    given = t.used // 2 if t.halved else t.used

    def loaded(at: Number, lanes: int, *, factors: bool) -> Number:
        v = x.load(at, lanes).to(kind)
        return v * window.load(at, lanes).to(kind) if window is not None and factors else v

    def some(at: Number, lanes: int) -> None:
        if two:
            both = [loaded(at * 2 + k * lanes, lanes, factors=t.halved) for k in range(2)]
            parts = [both[0].shuffled(range(k, 2 * lanes, 2), both[1]) for k in range(2)] if lanes > 1 else both
        else:
            parts = [loaded(at, lanes, factors=True), code.number(0, kind).spread(lanes)]
        if t.parts == 2 and window is not None:
            parts = [v * window.load(at, lanes).to(kind) for v in parts]
        for part, v in enumerate(parts):
            to[part].store(at, v)

    if given:
        _over(code, given, code.lanes(kind), some)
    if t.halved and t.used % 2:
        to[0][given], to[1][given] = loaded(code.number(t.used - 1), 1, factors=True), 0.0
        given += 1
    for behind in [part.at(given) for part in to]:

        def zeros(at: Number, lanes: int, behind: Array = behind) -> None:
            behind.store(at, code.number(0, kind).spread(lanes))

        code.along(t.length - given, kind, zeros)


def _write(code: Code, t: Transform, z: tuple[Array, Array], y: Array, table: Array) -> None:
    """Write the results of a frame, real and imaginary parts in turn."""
    kind, size = z[0].dtype, t.length
    if t.halved:
        for part in z:
            part[size] = part[0]

    def some(at: Number, lanes: int) -> None:
        re, im = (part.load(at, lanes) for part in z)
        if t.halved:
            # Of halves a and b of the turn, both transforms are in their sum and their difference.
            back = [part.load((size + 1 - lanes) - at, lanes).shuffled(range(lanes)[::-1]) for part in z]
            roots = table.load(at, lanes), table.load(at + (size + 1), lanes)
            odd = times(roots, (re - back[0], im + back[1]))
            re, im = (re + back[0]) * 0.5 + odd[0], (im - back[1]) * 0.5 + odd[1]
        elif t.inverse:
            re, im = re * (1 / t.size), im * (1 / t.size)
        both = [v.to(y.dtype) for v in (re, im)]
        mixed = [v for k in range(lanes) for v in (k, lanes + k)]
        for half in range(2):
            part = both[0].shuffled(mixed[half * lanes : (half + 1) * lanes], both[1]) if lanes > 1 else both[half]
            y.store(at * 2 + half * lanes, part)

    _over(code, t.results, code.lanes(kind), some)
