"""Regions of images: means and maxima of bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

from workbench.codegen.runtime_kernels.language import Array, Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter

#: Channels of a region that one thread takes at once. Chosen: the weights are worked out anew for each such block.
_CHANNELS = 32
#: Elements of a row side by side; regions are narrow.
_LANES = 8
#: Samples along a side of a bin, at most: a region may be infinite.
_MOST = 1 << 16


def means_of_bins(k: KernelEmitter, samples: int, scale: float, half: bool) -> None:
    """Mean of samples in each bin of a region, between the elements around them.

    What a bin takes of each row and of each column of the image is worked out once for a region: the mean is a product
    with both. `samples` along a side of a bin; 0 for as many as a bin has elements.
    """
    images, channels, *size = k.shape("in0")
    regions, _, *bins = k.shape("out0")
    wide = "float64" if k.dtype("in0") == "float64" else "float32"
    for d, name in enumerate("yx"):
        k.scratch(f"{name}_weights", bins[d] * size[d], wide)
        k.scratch(f"{name}_ends", 2 * bins[d], "int64")
    k.scratch("row", size[1], wide)
    blocks = -(-channels // _CHANNELS)

    def one(code: Code, number: Number) -> None:
        region, first = number // blocks, number % blocks * _CHANNELS
        for d, name in enumerate("yx"):
            box = code.array("in1").at(region * 4 + (1 - d))
            _side(code, name, bins[d], _samples(code, wide, box, (size[d], bins[d], samples), (scale, half)))
        image = code.array("in2")[region].to("int64").largest(0).smallest(images - 1)
        with code.loop((first + _CHANNELS).smallest(channels), first) as channel:
            x = code.array("in0").at((image * channels + channel) * (size[0] * size[1]))
            y = code.array("out0").at((region * channels + channel) * (bins[0] * bins[1]))
            with code.loop(bins[0]) as i:
                _bins_of_row(code, x, y.at(i * bins[1]), i, size, bins[1])

    k.rows(regions * blocks, one, min(channels, _CHANNELS) * bins[0] * (bins[1] * 8 + size[1]))


@dataclass(frozen=True, slots=True)
class _Samples:
    """Where the samples of a region lie along one side of an image of `size` elements: `count` in each bin."""

    start: Number
    step: Number
    count: Number
    size: int

    def around(self, i: Number, n: Number) -> tuple[Number, Number, Number, Number]:
        """Of a sample of a bin whether it is in the image, the elements before and behind it, the share of that."""
        wide = self.start.dtype
        place = self.start + i.to(wide) * self.step + (n.to(wide) + 0.5) * (self.step / self.count.to(wide))
        within = (place >= -1.0) & (place <= float(self.size))
        inside = within.select(place, 0.0).largest(0.0)
        before = inside.to("int64").smallest(self.size - 1)
        behind = (before + 1).smallest(self.size - 1)
        return within, before, behind, before.eq(self.size - 1).select(0.0, inside - before.to(wide))


def _samples(code: Code, wide: str, box: Array, counts: tuple[int, int, int], how: tuple[float, bool]) -> _Samples:
    """Samples along the side of a region whose ends are `box[0]` and `box[2]`."""
    (size, bins, samples), (scale, half) = counts, how
    start, stop = (box[at].to(wide) * scale - (0.5 if half else 0.0) for at in (0, 2))
    length = stop - start if half else (stop - start).largest(1.0)
    step = length / float(bins)
    count = code.number(samples) if samples else step.apply("ceil").to("int64").largest(0).smallest(_MOST)
    return _Samples(start, step, count, size)


def _side(code: Code, name: str, bins: int, samples: _Samples) -> None:
    """Weights of the rows (or columns) of an image in each bin along that side, and where they begin and end."""
    weights, ends, size = code.array(f"{name}_weights"), code.array(f"{name}_ends"), samples.size
    with code.loop(bins) as i:
        own, low, high = weights.at(i * size), code.variable(size), code.variable(-1)
        with code.loop(size) as at:
            own[at] = 0.0
        with code.loop(samples.count) as n:
            within, before, behind, part = samples.around(i, n)
            with code.when(within):
                share = code.number(1.0, weights.dtype) / samples.count.to(weights.dtype)
                own[before] = own[before] + (1.0 - part) * share
                own[behind] = own[behind] + part * share
                low.set(low.now.smallest(before))
                high.set(high.now.largest(behind))
        ends[i * 2], ends[i * 2 + 1] = low.now, high.now + 1


def _bins_of_row(code: Code, x: Array, y: Array, i: Number, size: list[int], bins: int) -> None:
    """Bins beside each other: the mean of their rows, as far as any of them reaches, and parts of that."""
    row, wide = code.array("row"), code.array("row").dtype
    rows, columns, ends = code.array("y_weights").at(i * size[0]), code.array("x_weights"), code.array("x_ends")
    low, high = code.array("y_ends")[i * 2], code.array("y_ends")[i * 2 + 1]
    first, last = code.variable(size[1]), code.variable(0)
    with code.loop(bins) as j:
        first.set(first.now.smallest(ends[j * 2]))
        last.set(last.now.largest(ends[j * 2 + 1]))

    def mean(at: Number, lanes: int) -> None:
        total = code.variable(0, wide, lanes)
        with code.loop(high, low) as r:
            total.set(total.now + x.load(r * size[1] + at, lanes).to(wide) * rows[r].spread(lanes))
        row.store(at, total.now)

    start = first.now
    whole = start + (last.now - start).largest(0) // _LANES * _LANES
    with code.loop(whole, start, _LANES) as at:
        mean(at, _LANES)
    with code.loop(last.now, whole) as at:
        mean(at, 1)
    with code.loop(bins) as j:
        total = code.variable(0, wide)
        with code.loop(ends[j * 2 + 1], ends[j * 2]) as at:
            total.set(total.now + row[at] * columns[j * size[1] + at])
        y[j] = total.now.to(y.dtype)


def largest_of_bins(k: KernelEmitter, samples: int, scale: float, half: bool) -> None:
    """Of each bin of a region the largest share that a sample takes of an element around it; 0 without samples."""
    images, channels, *size = k.shape("in0")
    regions, _, *bins = k.shape("out0")
    wide = "float64" if k.dtype("in0") == "float64" else "float32"
    blocks, cells = -(-channels // _CHANNELS), bins[0] * bins[1]

    def one(code: Code, number: Number) -> None:
        region, first = number // blocks, number % blocks * _CHANNELS
        boxes = (code.array("in1").at(region * 4 + at) for at in (1, 0))
        sides = [_samples(code, wide, b, (size[d], bins[d], samples), (scale, half)) for d, b in enumerate(boxes)]
        image = code.array("in2")[region].to("int64").largest(0).smallest(images - 1)
        x = code.array("in0").at(image * (channels * size[0] * size[1]))
        y = code.array("out0").at(region * (channels * cells))
        last = (first + _CHANNELS).smallest(channels)
        with code.loop(bins[0]) as i, code.loop(bins[1]) as j:
            cell = i * bins[1] + j
            with code.loop(last, first) as channel:
                y[channel * cells + cell] = 0.0
            with code.loop(sides[0].count) as m, code.loop(sides[1].count) as n:
                shares = _shares(sides[0].around(i, m), sides[1].around(j, n), size[1])
                with code.loop(last, first) as channel:
                    part, at = x.at(channel * (size[0] * size[1])), channel * cells + cell
                    most = reduce(Number.largest, (part[place].to(wide) * share for place, share in shares))
                    y[at] = (m + n).eq(0).select(most, y[at].to(wide).largest(most)).to(y.dtype)

    k.rows(regions * blocks, one, min(channels, _CHANNELS) * cells * 16)


def _shares(row: tuple[Number, ...], column: tuple[Number, ...], width: int) -> list[tuple[Number, Number]]:
    """Places of the four elements around a sample, and its shares of them, which are 0 outside of the image."""
    sides = []
    for within, before, behind, part in (row, column):
        sides.append(((before, within.select(1.0 - part, 0.0)), (behind, within.select(part, 0.0))))
    return [(r * width + c, a * b) for r, a in sides[0] for c, b in sides[1]]


def largest_of_windows(k: KernelEmitter, scale: float) -> None:
    """Largest element of each window of a region ``[image, x1, y1, x2, y2]``, whose ends belong to it; 0 of none."""
    images, channels, *size = k.shape("in0")
    *_, high, wide = k.shape("out0")

    def one(code: Code, number: Number) -> None:
        box = code.array("in1").at(number // channels * 5)
        image = box[0].to("int64").largest(0).smallest(images - 1)
        x = code.array("in0").at((image * channels + number % channels) * (size[0] * size[1]))
        y = code.array("out0").at(number * (high * wide))
        ends = [(box[at].to("float32") * scale + 0.5).apply("floor").to("int64") for at in (2, 1, 4, 3)]
        with code.loop(high) as i, code.loop(wide) as j:
            top, bottom = _window(i, (ends[0], ends[2]), high, size[0])
            left, right = _window(j, (ends[1], ends[3]), wide, size[1])
            most = code.variable(-math.inf, x.dtype)
            with code.loop(bottom, top) as r, code.loop(right, left) as c:
                most.set(most.now.largest(x[r * size[1] + c]))
            y[i * wide + j] = ((top < bottom) & (left < right)).select(most.now, 0.0)

    k.rows(math.prod(k.shape("out0")[:2]), one, size[0] * size[1] // 4 + high * wide * 8)


def _window(i: Number, ends: tuple[Number, Number], count: int, size: int) -> tuple[Number, Number]:
    """Where one of `count` equal parts of a range begins and ends, as far as the image goes."""
    step = (ends[1] - ends[0] + 1).largest(1).to("float32") / float(count)
    edges = ((i.to("float32") * step).apply("floor"), ((i + 1).to("float32") * step).apply("ceil"))
    low, high = ((v.to("int64") + ends[0]).largest(0).smallest(size) for v in edges)
    return low, high
