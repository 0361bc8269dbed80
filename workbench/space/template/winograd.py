"""Winograd's algorithm as the template for convolutions uses it: a product of matrices between two transforms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from workbench.space.sketch.analysis import loops_of
from workbench.space.template.config import Config
from workbench.space.template.patterns import Found
from workbench.space.template.shared import DISTANCE, LEAST, lanes_of, parallel_limits, product

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Registers of the widest vectorised loops: of the transforms, whose bodies are large, and of the product.
TRANSFORM, PRODUCT = 2, 4


def winograd(cfg: Config, s: Schedule, m: Found, size: int, data_first: bool) -> None:
    """Compute a 3x3 convolution in tiles of ``size x size`` results.

    The way back drives the nest: blocks of tiles run in parallel, each with its product and the transform of its data.
    With `data_first` all data is transformed before, so that blocks may also share out the channels.
    """
    lanes = lanes_of(cfg, s, m.block)
    if m.pad is not None:
        s.compute_inline(m.pad)
    across, data, sums, down, out, *crop = s.winograd(m.block, size)
    end = m.last or (crop[0] if crop else out)
    if m.last is not None:
        s.compute_inline(crop[0] if crop else out)

    # Blocks of tiles, tiles, then the results of one tile with a vector of channels.
    root = out if crop else end
    n, h, w, o = loops_of(s.func, root).values()
    high = cfg.define_split("tile_h", cfg.extent(h) // size, num_outputs=2)
    wide = cfg.define_split("tile_w", cfg.extent(w) // size, num_outputs=2)
    deep = cfg.define_split("tile_o", o, num_outputs=3 if data_first else 2, filter=whole(cfg, o, lanes, TRANSFORM))
    hs, ws, os = s.split(h, [*high.size, size]), s.split(w, [*wide.size, size]), deep.apply(s)
    blocks, tiles = [n, hs[0], ws[0], *os[:-2]], [hs[1], ws[1], os[-2]]
    s.reorder(*blocks, *tiles, hs[2], ws[2], os[-1])
    mark(s, (hs[2], ws[2]), os[-1])

    # Inside of the blocks: the product, and for each tile the first pass of the way back.
    s.compute_at(down, tiles[-1])
    s.compute_at(sums, blocks[-1])
    own = loops_of(s.func, down)
    mark(s, (own["y"], own["b"]), own["o"])
    if crop:  # what lies behind the end of the image is left out
        s.reverse_compute_at(end, tiles[-1])
        _, h, w, o = loops_of(s.func, end).values()
        mark(s, (h, w), o)

    if not data_first:
        s.compute_at(data, blocks[-1])
    transform_data(cfg, s, across, data, alone=data_first)
    multiply(cfg, s, sums, m.weights, deep.size[-1] if data_first else None)
    parallel_limits(cfg, product([high.size[0], wide.size[0], *deep.size[:-2]]))
    if cfg.machine.threads > 1:
        s.parallel(*blocks)


def transform_data(cfg: Config, s: Schedule, across: str, data: str, alone: bool) -> None:
    """Transform the data, the first pass inside of the second, some channels at a time."""
    own, lanes = loops_of(s.func, data), lanes_of(cfg, s, data)
    tile = cfg.define_split("tile_data", own["c"], filter=whole(cfg, own["c"], lanes, TRANSFORM))
    outer, inner = tile.apply(s)
    s.reorder(own["n"], own["ty"], own["tx"], outer, own["a"], own["b"], inner)
    s.compute_at(across, outer)
    first = loops_of(s.func, across)
    s.reorder(first["x"], first["a"])
    mark(s, (first["a"],), first["c"])
    mark(s, (own["b"],), inner)
    if alone and cfg.machine.threads > 1:
        s.parallel(own["n"], own["ty"], own["tx"])


def multiply(cfg: Config, s: Schedule, sums: str, weights: str, shared: Any) -> None:
    """Tile the products: rows are tiles of the image, columns channels; the weights are packed to suit."""
    own, lanes = loops_of(s.func, sums), lanes_of(cfg, s, sums)
    down, across = cfg.define_split("tile_ty", own["ty"]), cfg.define_split("tile_tx", own["tx"])
    if shared is None:  # else the vectors of the blocks
        deep = cfg.define_split("tile_p", own["o"], filter=whole(cfg, own["o"], lanes, PRODUCT))
        width, o = deep.size[-1], deep.apply(s)
    else:
        width, o = shared, s.split(own["o"], [None, shared])
    ty, tx = down.apply(s), across.apply(s)
    s.reorder(own["n"], own["a"], own["b"], o[0], ty[0], tx[0], own["c"], ty[1], tx[1], o[1])
    size = s.func.buffer(weights).nbytes
    s.transform_layout(weights, 3, width)
    if size > LEAST:  # 4 or 1.8 times as many weights as the kernel has, for as few rows as there are tiles
        s.annotate(own["c"], "prefetch", DISTANCE)
    if size > cfg.machine.l2:
        s.annotate(o[0], "prefetch", 1)
    mark(s, (ty[1], tx[1]), o[1])
    pixels = down.size[1] * across.size[1]
    cfg.limit("the register tile fits the registers", (pixels + 1) * width <= (cfg.machine.registers - 1) * lanes)


def whole(cfg: Config, loop: str, lanes: int, most: int) -> Callable[[Any], bool]:
    """A filter for splits: the innermost factor fills at most `most` registers, wholly where that is possible."""
    extent = cfg.extent(loop)
    found = [d for d in range(1, most * lanes + 1) if extent % d == 0]
    found = [d for d in found if d % lanes == 0] or [d for d in found if d >= lanes] or [extent]
    return lambda e: e.size[-1] in found


def mark(s: Schedule, unrolled: Iterable[str], vector: str) -> None:
    """Unroll some loops, and run one in lanes."""
    for loop in unrolled:
        s.unroll(loop)
    s.vectorize(vector)
