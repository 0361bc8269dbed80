"""Knobs that the templates of this package have in common, and the steps that take them; yours may use them too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from workbench.ir.poly import concrete
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.shared_steps import register_tiles
from workbench.space.shared_steps.block_queries import is_pointwise, suited
from workbench.space.shared_steps.placement import FEW, LEAST, MANY, fetch_weights, place_copy
from workbench.space.template.config import Config
from workbench.space.template.patterns import Found


def opening(cfg: Config, s: Schedule) -> tuple[Any, Machine]:
    """Begin a template: what its pattern has found, and the machine with the lanes of its block's elements.

    Stages between the block and the last one are computed inline.
    """
    m: Found = cfg.match
    for stage in m.between:
        s.compute_inline(stage)
    return m, suited(cfg.machine, s.func, s.func.block(m.block)[0])


def vectors(cfg: Config, loop: str, machine: Machine) -> Callable[[Any], bool]:
    """A filter for splits: the innermost factor fills whole registers; where none does, half ones or any."""
    allowed = register_tiles.vector_choices(cfg.extent(loop), machine)
    return lambda e: e.size[-1] in allowed


def lengthen(cfg: Config, s: Schedule, rows: str, columns: str, machine: Machine) -> tuple[str | None, str | None]:
    """Pad two loops of a product where that allows a much better register tile.

    Weights that are no constant get their zeros in a copy; where few rows share it, that does not pay.

    Returns
    -------
    tuple
        Name of the copy, and of the stage that now writes the result, where there are any.
    """
    m: Found = cfg.match
    sizes = register_tiles.longer(s.func, rows, columns, machine)
    copied = [] if m.constant or columns not in sizes else [m.weights]
    if copied and cfg.extent(rows) < register_tiles.MIN_ROWS:
        sizes, copied = {}, []
    copies = register_tiles.lengthen(s, m.block, sizes, copied)
    buffer = s.func.block(m.block)[0].buffer
    behind = (b.name for b in s.blocks if is_pointwise(b) and any(ld.buffer == buffer for ld in b.loads()))
    return next(iter(copies), None), next(behind, None)


def pack(s: Schedule, m: Found, copy: str | None, dim: int, width: Any, at: str) -> None:
    """Bring weights into blocks of the tile's vectors: ahead of time, or where they are copied, inside of a loop."""
    if copy is not None:
        place_copy(s, copy, dim, width, at)
    elif m.constant:
        s.transform_layout(m.weights, dim, width)


def place_frame(cfg: Config, s: Schedule, pad: str, at: str, width: Any = 1) -> None:
    """Put the stage that writes zeros around an image where the knob "pad" says.

    "first": a nest of its own. "in blocks": what a parallel block reads, inside of the loop `at`. "inline": a condition
    where it is read. `width` is what the vectors have where a block has an open number of channels.
    """
    where = cfg.define_knob("pad", ["first", "in blocks", "inline"]).val
    if where == "inline":
        s.compute_inline(pad)
        return
    if where == "in blocks":
        s.compute_at(pad, at)
    block, path = s.func.block(pad)
    lanes, last, channels = suited(cfg.machine, s.func, block).lanes, path[-1].name, path[-1].extent
    if not isinstance(channels, int):
        s.vectorize(s.split(last, [None, width])[1])
    elif channels <= 4 * lanes:
        s.vectorize(last)
    elif channels % lanes == 0:
        s.vectorize(s.split(last, [None, lanes])[1])
    if where == "first" and cfg.machine.threads > 1:
        s.parallel(path[0].name, path[1].name)


def fetch_ahead(cfg: Config, s: Schedule, rows: tuple[str, ...], along: str, panel: str) -> None:
    """Fetch weights before they are needed, where they are many and few rows share them: the knob "fetch".

    Parameters
    ----------
    cfg : Config
    s : Schedule
    rows : tuple of str
        Loops of the unscheduled nest along which weights stay the same.
    along, panel : str
        The innermost loop of the sum, and the innermost one over blocks.
    """
    m: Found = cfg.match
    many = math.prod(concrete(s.base.loop(name)[0].extent) for name in rows)
    size = s.base.buffer(m.weights).nbytes
    if not m.constant or size <= LEAST or many > MANY or s.func.loop(along)[0].extent == 1:
        return
    ways = (["no"] if size <= cfg.machine.l2 else []) + ["near"] + (["near and panel"] if many >= FEW else [])
    way = cfg.define_knob("fetch", ways).val
    if way != "no":
        fetch_weights(s, along, panel, far=way == "near and panel")
