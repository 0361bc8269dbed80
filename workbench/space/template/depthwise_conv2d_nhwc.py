"""The template for depthwise convolutions of NHWC images: every channel has a kernel of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.space.template.config import Config
from workbench.space.template.registry import template
from workbench.space.template.shared import (
    MAX_BODY,
    finish,
    opening,
    parallel_limits,
    place_frame,
    product,
    register_limits,
    vectors,
)

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Kernels of at most this many taps are written out.
UNROLLED_TAPS = 16


@template("depthwise_conv2d_nhwc", matches="depthwise_conv2d_nhwc")
def depthwise_conv2d_nhwc(cfg: Config, s: Schedule) -> None:
    """A tile of pixels by channels in registers; neighbours share most of what they read."""
    m, lanes = opening(cfg, s)

    tiles = [
        cfg.define_split("tile_h", m.h, num_outputs=3),
        cfg.define_split("tile_w", m.w, num_outputs=3),
        cfg.define_split("tile_c", m.c, num_outputs=3, filter=vectors(cfg, m.c, lanes)),
    ]
    h, w, c = (tile.apply(s) for tile in tiles)
    s.reorder(m.n, h[0], w[0], c[0], h[1], w[1], c[1], m.kh, m.kw, h[2], w[2], c[2])

    taps = cfg.extent(m.kh) * cfg.extent(m.kw)
    small = taps <= UNROLLED_TAPS and taps * min(c[-1] for c in tiles[2].candidates) <= MAX_BODY * lanes
    width = tiles[2].size[-1]
    register_limits(cfg, tiles[0].size[-1] * tiles[1].size[-1], tiles[2], lanes, written=taps if small else 1)
    parallel_limits(cfg, product(tile.size[0] for tile in tiles))

    if m.constant:
        s.transform_layout(m.weights, len(s.func.buffer(m.weights).shape) - 1, width)
    if m.last is not None:
        finish(s, m.last, at=c[1], vector=c[2], unrolled=True)
    if m.pad is not None:  # zeros around the image: written first, written for each block, or asked for when read
        place_frame(cfg, s, m.pad, cfg.define_knob("pad", ["first", "in blocks", "inline"]).val, c[0], width)

    for loop in (h[2], w[2], *((m.kh, m.kw) if small else ())):
        s.unroll(loop)
    s.vectorize(c[2])
    if cfg.machine.threads > 1:
        s.parallel(m.n, h[0], w[0], c[0])
