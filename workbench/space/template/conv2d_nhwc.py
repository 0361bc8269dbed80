"""The template for convolutions of NHWC images with kernels HWIO; bias, residual and activation behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.space.template.config import Config
from workbench.space.template.registry import template
from workbench.space.template.shared import (
    fetch_ahead,
    finish,
    lengthen,
    opening,
    pack,
    parallel_limits,
    place_frame,
    product,
    register_limits,
    vectors,
)
from workbench.space.template.winograd import winograd

if TYPE_CHECKING:
    from workbench.schedule import Schedule


@template("conv2d_nhwc", matches="conv2d_nhwc")
def conv2d_nhwc(cfg: Config, s: Schedule) -> None:
    """A tile of pixels by output channels in registers; packed weights stream past it."""
    m, lanes = opening(cfg, s)

    # Few multiplications, if the kernel is 3x3 and moves by one; the transforms have to pay.
    three = cfg.extent(m.kh) == cfg.extent(m.kw) == 3 and m.constant
    if three and (size := cfg.define_knob("winograd", [0, 4, 2]).val):
        return winograd(cfg, s, m, size, cfg.define_knob("data_first", [False, True]).val)

    copy, last = lengthen(cfg, s, m.block, m.w, m.o, None if m.constant else m.weights)

    # Levels 0: parallel blocks. 1: order inside of a block. 2: with panels of channels. Last: the register tile.
    panels = cfg.extent(m.c) >= 64 and cfg.define_knob("panels", [False, True]).val
    levels = 4 if panels else 3
    tiles = [
        cfg.define_split("tile_h", m.h, num_outputs=levels),
        cfg.define_split("tile_w", m.w, num_outputs=levels),
        cfg.define_split("tile_o", m.o, num_outputs=levels, filter=vectors(cfg, m.o, lanes)),
    ]
    h, w, o = (tile.apply(s) for tile in tiles)
    c = cfg.define_split("tile_c", m.c, num_outputs=2).apply(s) if panels else (m.c,)
    between = [h[2], w[2], o[2]] if panels else []
    s.reorder(m.n, h[0], w[0], o[0], h[1], w[1], o[1], *c[:-1], *between, m.kh, m.kw, c[-1], h[-1], w[-1], o[-1])

    register_limits(cfg, tiles[0].size[-1] * tiles[1].size[-1], tiles[2], lanes)
    parallel_limits(cfg, product(tile.size[0] for tile in tiles))

    pack(s, m, copy, 3, tiles[2].size[-1], at=o[0])
    if last is not None:
        finish(s, last, at=o[1], vector=o[-1], unrolled=not panels)
    if m.pad is not None:  # zeros around the image: written first, written for each block, or asked for when read
        place_frame(cfg, s, m.pad, cfg.define_knob("pad", ["first", "in blocks", "inline"]).val, o[0])

    for loop in (h[-1], w[-1]):
        s.unroll(loop)
    s.vectorize(o[-1])
    if cfg.machine.threads > 1:
        s.parallel(m.n, h[0], w[0], o[0])
    fetch_ahead(cfg, s, m, rows=(m.n, m.h, m.w), along=c[-1], panel=o[0])
