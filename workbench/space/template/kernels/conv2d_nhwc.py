"""The template for convolutions of NHWC images with kernels HWIO; bias, residual and activation behind them."""

from __future__ import annotations

from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.shared_steps.placement import finish, mark
from workbench.space.shared_steps.register_tiles import parallel_limits, tile_limits
from workbench.space.shared_steps.winograd_steps import Winograd
from workbench.space.template.common_knobs import fetch_ahead, lengthen, opening, pack, place_frame, vectors
from workbench.space.template.config import Config
from workbench.space.template.registry import template
from workbench.space.template.symbolic_knobs import Number


@template("conv2d_nhwc", matches="conv2d_nhwc")
def conv2d_nhwc(cfg: Config, s: Schedule) -> None:
    """A tile of pixels by output channels in registers; packed weights stream past it."""
    m, machine = opening(cfg, s)

    # Few multiplications, if the kernel is 3x3 and moves by one; the transforms have to pay.
    three = cfg.extent(m.kh) == cfg.extent(m.kw) == 3 and m.constant
    if three and (size := cfg.define_knob("winograd", [0, 4, 2]).val):
        return winograd(cfg, s, machine, size, cfg.define_knob("data_first", [False, True]).val)

    copy, last = lengthen(cfg, s, m.w, m.o, machine)

    # Levels 0: parallel blocks. 1: order inside of a block. 2: with panels of channels. Last: the register tile.
    panels = cfg.extent(m.c) >= 64 and cfg.define_knob("panels", [False, True]).val
    levels = 4 if panels else 3
    tile_h = cfg.define_split("tile_h", m.h, num_outputs=levels)
    tile_w = cfg.define_split("tile_w", m.w, num_outputs=levels)
    tile_o = cfg.define_split("tile_o", m.o, num_outputs=levels, filter=vectors(cfg, m.o, machine))
    h, w, o = tile_h.apply(s), tile_w.apply(s), tile_o.apply(s)
    c = cfg.define_split("tile_c", m.c, num_outputs=2).apply(s) if panels else (m.c,)
    between = [h[2], w[2], o[2]] if panels else []
    s.reorder(m.n, h[0], w[0], o[0], h[1], w[1], o[1], *c[:-1], *between, m.kh, m.kw, c[-1], h[-1], w[-1], o[-1])

    cfg.limits(tile_limits(s.func, (h[-1], w[-1], o[-1]), machine, 1))
    cfg.limits(parallel_limits(s.func, (h[0], w[0], o[0]), machine))

    pack(s, m, copy, 3, tile_o.size[-1], at=o[0])
    if last is not None:
        finish(s, last, at=o[1], vector=o[-1], unrolled=not panels)
    if m.pad is not None:  # zeros around the image: written first, written for each block, or asked for when read
        place_frame(cfg, s, m.pad, o[0])

    mark(s, (h[-1], w[-1]), o[-1])
    if machine.threads > 1:
        s.parallel(m.n, h[0], w[0], o[0])
    fetch_ahead(cfg, s, rows=(m.n, m.h, m.w), along=c[-1], panel=o[0])


def winograd(cfg: Config, s: Schedule, machine: Machine, size: int, data_first: bool) -> None:
    """A product of matrices between two transforms, for tiles of ``size x size`` results.

    With `data_first` all data is transformed before, so that blocks may also share out the channels.
    """

    def sizes(name: str, axis: str | int, parts: int, choices: tuple[int, ...] | None) -> tuple[Number, ...]:
        only = None if choices is None else lambda e: e.size[-1] in choices
        return cfg.define_split(name, axis, num_outputs=parts, filter=only).size

    steps = Winograd(s, machine, size, data_first, sizes, columns_first=True)
    steps.make(cfg.match.block)
    (label, room, _), _ = tile_limits(s.func, steps.product, machine, 1)
    cfg.limit(label, room)
    cfg.limits(parallel_limits(s.func, steps.blocks[1:], machine))
