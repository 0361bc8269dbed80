"""Windows of images whose places data decide, or that are asked for: the places of maxima, samples of moved windows."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence

from workbench.codegen.runtime_kernels.language import Array, Code, Number, Variable
from workbench.codegen.runtime_kernels.module import KernelEmitter
from workbench.ir.dtypes import lowest

#: Numbers of a window along each dimension: elements, strides, dilations, padding before.
Windows = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def places_of_maxima(k: KernelEmitter, windows: Windows, by_column: bool) -> None:
    """Maximum of each window, and the number of its first place in the tensor.

    Elements of an image are numbered along its last dimension first, or `by_column` along its first. Of a window that
    lies in the padding the maximum is the least number.
    """
    images, channels, *size = k.shape("in0")
    out = k.shape("out0")[2:]
    kernel, strides, dilations, begin = windows
    weights = [math.prod(size[:d]) if by_column else math.prod(size[d + 1 :]) for d in range(len(size))]

    def image(code: Code, number: Number) -> None:
        whole, results = math.prod(size), math.prod(out)
        x, y = code.array("in0").at(number * whole), code.array("out0").at(number * results)

        def window(at: Sequence[Number]) -> None:
            best, place = code.variable(lowest(x.dtype), x.dtype), code.variable(-1)

            def look(taps: Sequence[Number]) -> None:
                spots = [a * s + t * d - b for a, s, t, d, b in zip(at, strides, taps, dilations, begin, strict=True)]
                with code.when(_all((p >= 0) & (p < n) for p, n in zip(spots, size, strict=True))):
                    v, old = x[_number(spots, size)], best.now
                    nan = v.ne(v) & old.eq(old)
                    with code.when((place.now < 0) | (v > old) | nan):
                        best.set(v)
                        place.set(sum((p * w for p, w in zip(spots, weights, strict=True)), code.number(0)))

            _grid(code, kernel, look)
            to = _number(at, out)
            y[to] = best.now
            code.array("out1")[number * results + to] = place.now + number * whole

        _grid(code, out, window)

    k.rows(images * channels, image, math.prod(out) * math.prod(kernel) * 2)


def moved_windows(k: KernelEmitter, windows: Windows, groups: int) -> None:
    """Elements of windows of an image, a column for each window, each read at an offset, between its neighbours.

    Channels of a group share offsets; zeros lie around the image.
    """
    images, channels, *size = k.shape("in0")
    out = k.shape("out0")[2:]
    kernel, strides, dilations, begin = windows
    taps, results = math.prod(kernel), math.prod(out)

    def row(code: Code, number: Number) -> None:
        image, rest = number // (channels * taps), number % (channels * taps)
        group, tap = rest // taps // (channels // groups), rest % taps
        x = code.array("in0").at((image * channels + rest // taps) * math.prod(size))
        at = (image * groups + group) * taps + tap
        offsets, y = code.array("in1").at(at * (2 * results)), code.array("out0").at(number * results)
        wide = "float64" if x.dtype == "float64" else "float32"
        steps = tap // kernel[1], tap % kernel[1]
        with code.loop(out[0]) as i, code.loop(out[1]) as j:
            here = i * out[1] + j
            places = [
                (p * strides[d] + steps[d] * dilations[d] - begin[d]).to(wide) + offsets[here + d * results].to(wide)
                for d, p in enumerate((i, j))
            ]
            v = code.variable(0, wide)
            _between(code, x, size, places, v)
            if k.has("in2"):
                v.set(v.now * code.array("in2")[at * results + here].to(wide))
            y[here] = v.now.to(y.dtype)

    k.rows(images * channels * taps, row, results * 24)


def _between(code: Code, x: Array, size: Sequence[int], places: Sequence[Number], found: Variable) -> None:
    """The mean of the four neighbours of a place, as near as they are; nothing where it is no number."""
    inside = _all((p > -1.0) & (p < float(n)) for p, n in zip(places, size, strict=True))
    with code.when(inside):
        low = [p.apply("floor") for p in places]
        far = [p - a for p, a in zip(places, low, strict=True)]
        for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
            spots = [a.to("int64") + c for a, c in zip(low, corner, strict=True)]
            share = [f if c else 1.0 - f for f, c in zip(far, corner, strict=True)]
            with code.when(_all((p >= 0) & (p < n) for p, n in zip(spots, size, strict=True))):
                found.set(found.now + x[_number(spots, size)].to(found.now.dtype) * share[0] * share[1])


def _grid(code: Code, counts: Sequence[int], each: Callable[[Sequence[Number]], None], *at: Number) -> None:
    """Take the places of a grid one after the other."""
    if len(at) == len(counts):
        each(at)
        return
    with code.loop(counts[len(at)]) as i:
        _grid(code, counts, each, *at, i)


def _number(at: Sequence[Number], size: Sequence[int]) -> Number:
    found = at[0]
    for i, n in zip(at[1:], size[1:], strict=True):
        found = found * n + i
    return found


def _all(conditions: Iterable[Number]) -> Number:
    return functools.reduce(operator.and_, conditions)
