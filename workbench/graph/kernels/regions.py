"""Regions of images: means of bins."""

from __future__ import annotations

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
            _side(code, name, box, (size[d], bins[d], samples), (scale, half))
        image = code.array("in2")[region].to("int64").largest(0).smallest(images - 1)
        with code.loop((first + _CHANNELS).smallest(channels), first) as channel:
            x = code.array("in0").at((image * channels + channel) * (size[0] * size[1]))
            y = code.array("out0").at((region * channels + channel) * (bins[0] * bins[1]))
            with code.loop(bins[0]) as i:
                _bins_of_row(code, x, y.at(i * bins[1]), i, size, bins[1])

    k.rows(regions * blocks, one, min(channels, _CHANNELS) * bins[0] * (bins[1] * 8 + size[1]))


def _side(code: Code, name: str, box: Array, counts: tuple[int, int, int], how: tuple[float, bool]) -> None:
    """Weights of the rows (or columns) of an image in each bin along that side, and where they begin and end."""
    (size, bins, samples), (scale, half) = counts, how
    weights, ends = code.array(f"{name}_weights"), code.array(f"{name}_ends")
    wide, shift = weights.dtype, 0.5 if half else 0.0
    start, stop = (box[at].to(wide) * scale - shift for at in (0, 2))
    length = stop - start if half else (stop - start).largest(1.0)
    step = length / float(bins)
    count = code.number(samples) if samples else step.apply("ceil").to("int64").largest(0).smallest(_MOST)
    with code.loop(bins) as i:
        own, low, high = weights.at(i * size), code.variable(size), code.variable(-1)
        with code.loop(size) as at:
            own[at] = 0.0
        with code.loop(count) as n:
            place = start + i.to(wide) * step + (n.to(wide) + 0.5) * (step / count.to(wide))
            with code.when((place >= -1.0) & (place <= float(size))):
                inside = place.largest(0.0)
                before = inside.to("int64").smallest(size - 1)
                behind = (before + 1).smallest(size - 1)
                part = (before.eq(size - 1)).select(0.0, inside - before.to(wide))
                share = code.number(1.0, wide) / count.to(wide)
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
