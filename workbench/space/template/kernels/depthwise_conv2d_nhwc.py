"""The template for depthwise convolutions of NHWC images: every channel has a kernel of its own."""

from __future__ import annotations

from workbench.schedule import Schedule
from workbench.space.shared_steps.placement import finish, mark
from workbench.space.shared_steps.register_tiles import MAX_BODY, parallel_limits, tile_limits
from workbench.space.template.common_knobs import opening, pack, place_frame, vectors
from workbench.space.template.config import Config
from workbench.space.template.registry import template

#: Taps of a kernel up to which they are written out. Chosen, not measured; `bench_templates` tells what comes of it.
UNROLLED_TAPS = 16


@template("depthwise_conv2d_nhwc", matches="depthwise_conv2d_nhwc")
def depthwise_conv2d_nhwc(cfg: Config, s: Schedule) -> None:
    """A tile of pixels by channels in registers; neighbours share most of what they read."""
    m, machine = opening(cfg, s)

    tile_h = cfg.define_split("tile_h", m.h, num_outputs=3)
    tile_w = cfg.define_split("tile_w", m.w, num_outputs=3)
    tile_c = cfg.define_split("tile_c", m.c, num_outputs=3, filter=vectors(cfg, m.c, machine))
    h, w, c = tile_h.apply(s), tile_w.apply(s), tile_c.apply(s)
    s.reorder(m.n, h[0], w[0], c[0], h[1], w[1], c[1], m.kh, m.kw, h[2], w[2], c[2])

    taps = cfg.extent(m.kh) * cfg.extent(m.kw)
    small = taps <= UNROLLED_TAPS and taps * min(c[-1] for c in tile_c.candidates) <= MAX_BODY * machine.lanes
    width = tile_c.size[-1]
    cfg.limits(tile_limits(s.func, (h[2], w[2], c[2]), machine, taps if small else 1))
    cfg.limits(parallel_limits(s.func, (h[0], w[0], c[0]), machine))

    pack(s, m, None, len(s.func.buffer(m.weights).shape) - 1, width, at=c[0])
    if m.last is not None:
        finish(s, m.last, at=c[1], vector=c[2], unrolled=True)
    if m.pad is not None:  # zeros around the image: written first, written for each block, or asked for when read
        place_frame(cfg, s, m.pad, c[0], width)

    mark(s, (h[2], w[2], *((m.kh, m.kw) if small else ())), c[2])
    if machine.threads > 1:
        s.parallel(m.n, h[0], w[0], c[0])
