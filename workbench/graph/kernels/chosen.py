"""Elements and boxes that data choose: as many as there can be are written, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from workbench.codegen.runtime_kernels.language import Array, Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter
from workbench.graph.kernels.ordering import Heap, key_of, key_type

#: Elements that a thread looks through at once, and those whose truth values are one number.
_BLOCK, _GROUP = 4096, 64


def _each_other(code: Code, x: Array, start: Number, stop: Number, do: Callable[[Number], None]) -> None:
    """Do something for the place of each element that is not 0, in order."""
    whole = start + (stop - start) // _GROUP * _GROUP
    with code.loop(whole, start, _GROUP) as at:
        left = code.variable(_others(x, at), "uint64")
        with code.repeat(lambda: left.now.ne(0)):
            found = left.now
            do(at + found.lowest_bit())
            left.set(found & (found - 1))
    with code.loop(stop, whole) as at, code.when(x[at].ne(0)):
        do(at)


def _others(x: Array, at: Number) -> Number:
    """Which elements of a group are not 0, as bits."""
    return x.load(at, _GROUP).ne(0).mask()


def places_of_others(k: KernelEmitter) -> None:
    """Place of each element that is not 0, a column of the result for each."""
    shape = k.shape("in0")
    size, most = math.prod(shape), max(1, k.shape("out0")[1])
    blocks = -(-size // _BLOCK)
    k.scratch("counts", blocks, "int64", shared=True)

    def ends(number: Number) -> tuple[Number, Number]:
        return number * _BLOCK, (number * _BLOCK + _BLOCK).smallest(size)

    def count(code: Code, number: Number) -> None:
        x, found, (start, stop) = code.array("in0"), code.variable(0), ends(number)
        whole = start + (stop - start) // _GROUP * _GROUP
        with code.loop(whole, start, _GROUP) as at:
            found.set(found.now + _others(x, at).ones())
        with code.loop(stop, whole) as at:
            found.set(found.now + x[at].ne(0).to("int64"))
        code.array("counts")[number] = found.now

    def sums(code: Code) -> None:
        counts, found = code.array("counts"), code.variable(0)
        with code.loop(blocks) as j:
            here = counts[j]
            counts[j] = found.now
            found.set(found.now + here)
        code.array("out1")[0] = found.now

    def write(code: Code, number: Number) -> None:
        places, found = code.array("out0"), code.variable(code.array("counts")[number])

        def one(at: Number) -> None:
            rest = at.bits("uint64")
            for d in reversed(range(len(shape))):
                places[found.now + d * most] = (rest % shape[d] if d else rest).bits("int64")
                rest = rest // shape[d]
            found.set(found.now + 1)

        _each_other(code, code.array("in0"), *ends(number), one)

    k.rows(blocks, count, _BLOCK // _GROUP * 4)
    k.once(sums)
    k.rows(blocks, write, _BLOCK)


def marked_slices(k: KernelEmitter, outer: int, length: int, inner: int) -> None:
    """Slices along an axis that a condition marks."""
    most = min(k.shape("in1")[0], length)
    k.scratch("places", most, "int64", shared=True)

    def look(code: Code) -> None:
        places, found = code.array("places"), code.variable(0)

        def one(at: Number) -> None:
            places[found.now] = at
            found.set(found.now + 1)

        _each_other(code, code.array("in1"), code.number(0), code.number(most), one)
        code.array("out1")[0] = found.now

    def copy(code: Code, number: Number) -> None:
        places, found = code.array("places"), code.array("out1")[0]
        o, part = number // parts, number % parts
        x, y = code.array("in0").at(o * (length * inner)), code.array("out0").at(o * (most * inner))
        with code.loop((part + 1) * found // parts, part * found // parts) as j:
            source, to = x.at(places[j] * inner), y.at(j * inner)
            code.along(inner, x.dtype, lambda at, lanes: to.store(at, source.load(at, lanes)), 4)

    parts = max(1, min(most, 2 * k.target.threads))  # as many slices in each, whatever is marked
    k.once(look)
    k.rows(outer * parts, copy, -(-most // parts) * (4 + inner // 8))


def boxes_that_stay(k: KernelEmitter, most: int, centred: bool) -> None:
    """Of boxes that overlap the one with the highest score: [image, class, box], images and classes side by side."""
    images, classes, count = k.shape("in1")
    k.scratch("keys", count, key_type("float32"))
    k.scratch("numbers", count, "int64")
    k.scratch("counts", images * classes, "int64", shared=True)

    def one(code: Code, row: Number) -> None:
        heap, kept = _by_score(k, code, row), code.variable(0)
        boxes, own = code.array("in0").at(row // classes * (count * 4)), code.array("out0").at(row * (most * 3))
        limit = code.array("in3")[0] if k.has("in3") else code.number(0, "float32")
        with code.repeat(lambda: (heap.size.now > 0) & (kept.now < most)):
            which = heap.pop()
            free, other = code.variable(1, "bool"), code.variable(0)
            here = _corners(boxes, which, centred)
            with code.repeat(lambda: free.now & (other.now < kept.now)):
                there = _corners(boxes, own[other.now * 3 + 2], centred)
                free.set(~_overlaps(here, there, limit))
                other.set(other.now + 1)
            with code.when(free.now):
                for d, number in enumerate((row // classes, row % classes, which)):
                    own[kept.now * 3 + d] = number
                kept.set(kept.now + 1)
        code.array("counts")[row] = kept.now

    def joined(code: Code) -> None:
        counts, out, total = code.array("counts"), code.array("out0"), code.variable(0)
        with code.loop(images * classes) as row:
            with code.loop(counts[row] * 3) as j:
                out[total.now * 3 + j] = out[row * (most * 3) + j]
            total.set(total.now + counts[row])
        with code.loop(images * classes * most * 3, total.now * 3) as j:
            out[j] = 0
        code.array("out1")[0] = total.now

    k.rows(images * classes, one, count * 16)
    k.once(joined)


def _by_score(k: KernelEmitter, code: Code, row: Number) -> _ByScore:
    """The boxes of a row whose scores are above the least."""
    count = k.shape("in1")[2]
    heap, scores = _ByScore(code, count), code.array("in1").at(row * count)
    least = code.array("in4")[0] if k.has("in4") else code.number(float("-inf"), "float32")
    with code.loop(count) as j, code.when(scores[j] > least):
        heap.add(key_of(scores[j], largest=False), j)
    heap.order()
    return heap


class _ByScore:
    """Boxes by falling scores, of equal ones the first."""

    def __init__(self, code: Code, count: int) -> None:
        self.heap, self.count, self.size = Heap(code), count, code.variable(0)
        self.code = code

    def add(self, key: Number, box: Number) -> None:
        """Put a box behind the others, in no order."""
        self.heap.keys[self.size.now], self.heap.numbers[self.size.now] = key, (self.count - 1) - box
        self.size.set(self.size.now + 1)

    def order(self) -> None:
        """Put the best on top."""
        half = self.size.now // 2
        with self.code.loop(half) as j:
            at = half - 1 - j
            self.heap.sift(at, self.heap.keys[at], self.heap.numbers[at], self.size.now)

    def pop(self) -> Number:
        """Take the best one away."""
        best, last = self.heap.numbers[0], self.size.now - 1
        self.size.set(last)
        self.heap.sift(0, self.heap.keys[last], self.heap.numbers[last], last)
        return (self.count - 1) - best


def _corners(boxes: Array, which: Number, centred: bool) -> list[tuple[Number, Number]]:
    """Least and greatest coordinate of a box along both dimensions."""
    numbers = [boxes[which * 4 + d] for d in range(4)]
    if centred:
        return [(m - size * 0.5, m + size * 0.5) for m, size in zip(numbers[:2], numbers[2:], strict=True)]
    return [(a.smallest(b), a.largest(b)) for a, b in zip(numbers[:2], numbers[2:], strict=True)]


def _overlaps(one: Sequence[tuple[Number, Number]], other: Sequence[tuple[Number, Number]], limit: Number) -> Number:
    """Whether two boxes have more than a part of what they cover in common."""

    def area(sides: Sequence[tuple[Number, Number]]) -> Number:
        return (sides[0][1] - sides[0][0]) * (sides[1][1] - sides[1][0])

    both = [(a[0].largest(b[0]), a[1].smallest(b[1])) for a, b in zip(one, other, strict=True)]
    common = (both[0][1] - both[0][0]).largest(0.0) * (both[1][1] - both[1][0]).largest(0.0)
    return (common > 0.0) & (common > limit * (area(one) + area(other) - common))
