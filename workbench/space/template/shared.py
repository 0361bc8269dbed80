"""Steps that the templates of this package have in common; a template of your own may use them too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.ir.poly import concrete
from workbench.space.sketch.analysis import is_pointwise, suited
from workbench.space.sketch.lengthening import best_rows, best_width
from workbench.space.sketch.tiling import vector_choices
from workbench.space.template.config import Config
from workbench.space.template.knobs import Split
from workbench.space.template.numbers import Number
from workbench.space.template.patterns import Found

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Weights of so many bytes come from beyond the near caches; fetched so many iterations ahead, they are there in time.
LEAST, DISTANCE = 256 << 10, 16
#: Rows per weight from which fetching the next panel pays, and up to which fetching matters at all.
FEW, MANY = 24, 256
#: Unrolled vector instructions that a body may have: compile time grows with it, speed does not.
MAX_BODY = 256


def lanes_of(cfg: Config, s: Schedule, block: str) -> int:
    """Elements of a block that one vector register holds."""
    return suited(cfg.machine, s.func, s.func.block(block)[0]).lanes


def opening(cfg: Config, s: Schedule) -> tuple[Any, int]:
    """Begin a template: what its pattern has found, and the lanes of its block; stages between are computed inline."""
    m: Found = cfg.match
    for stage in m.between:
        s.compute_inline(stage)
    return m, lanes_of(cfg, s, m.block)


def vectors(cfg: Config, loop: str, lanes: int) -> Callable[[Any], bool]:
    """A filter for splits: the innermost factor fills whole registers; where none does, half ones or any."""
    allowed = vector_choices(cfg.extent(loop), replace(cfg.machine, lanes=lanes))
    return lambda e: e.size[-1] in allowed


def lengthen(
    cfg: Config, s: Schedule, block: str, rows: str, columns: str, copied: str | None
) -> tuple[str | None, str | None]:
    """Pad two loops of a product where that allows a much better register tile.

    Parameters
    ----------
    block, rows, columns : str
        The reduction, and two of its loops; those of `columns` become vectors.
    copied : str, optional
        Factor that moves with the columns, and gets its zeros in a copy; a constant has them ahead of time.

    Returns
    -------
    tuple
        Name of the copy, and of the stage that now writes the result, where there are any.
    """
    machine = replace(cfg.machine, lanes=lanes_of(cfg, s, block))
    down, across = (cfg.extent(loop) for loop in (rows, columns))
    wide = best_width(across, down, machine)
    tall = best_rows(down, wide, machine)
    if copied is not None and wide != across and down < 32:
        return None, _behind(s, block)  # read about once: not worth a copy
    copy = s.cache_read(block, copied) if copied is not None and wide != across else None
    found, _ = s.func.block(block)
    axis = {str(x.single_var()): it.name for it, x in zip(found.iters, found.binds, strict=True)}
    for loop, size, was in ((rows, tall, down), (columns, wide, across)):
        if size != was:
            s.pad(block, axis[loop], size)
    return copy, _behind(s, block)


def _behind(s: Schedule, block: str) -> str | None:
    """The element-wise stage that reads a block's result."""
    buffer = s.func.block(block)[0].buffer
    return next((b.name for b in s.blocks if is_pointwise(b) and any(ld.buffer == buffer for ld in b.loads())), None)


def pack(s: Schedule, m: Found, copy: str | None, dim: int, width: Number, at: str) -> None:
    """Bring weights into blocks of the tile's vectors: ahead of time, or where they are copied, inside of a loop."""
    if copy is not None:
        s.transform_layout(s.func.block(copy)[0].buffer, dim, width)
        s.compute_at(copy, at)
        s.vectorize(s.func.block(copy)[1][-1].name)
    elif m.constant:
        s.transform_layout(m.weights, dim, width)


def finish(s: Schedule, stage: str, at: str, vector: str, unrolled: bool) -> None:
    """Compute what is behind a tile as soon as the tile is complete, with the tile's own vectors."""
    s.reverse_compute_at(stage, at)
    path = [lp.name for lp in s.func.block(stage)[1]]
    own = path[path.index(at) + 1 :]
    width = s.func.loop(vector)[0].extent
    if s.func.loop(own[-1])[0].extent != width:
        own[-1:] = s.split(own[-1], [None, width if isinstance(width, int) else str(width)])
    for loop in own[:-1] if unrolled else ():  # the tile is in registers: every element by its number
        s.unroll(loop)
    s.vectorize(own[-1])


def register_limits(cfg: Config, pixels: Number, lane: Split, lanes: int, written: int = 1) -> None:
    """A tile of results, with one operand beside it, fits the registers, and its code stays small.

    Parameters
    ----------
    pixels : number
        Unrolled results.
    lane : Split
        Its innermost factor is vectorised.
    written : int
        Terms of the sum that are written out for each of them.
    """
    width, room = lane.size[-1], (cfg.machine.registers - 1) * lanes
    broad = all(2 * c[-1] > room for c in lane.candidates)  # a prime: nothing fits, and some is better than none
    cfg.limit("the register tile fits the registers", (pixels + 1) * width <= room, wish=broad)
    cfg.limit("the unrolled body stays small", pixels * width * written <= MAX_BODY * lanes)


def parallel_limits(cfg: Config, tasks: Number) -> None:
    """Enough parallel blocks for all threads, and to share them out evenly."""
    threads = cfg.machine.threads
    if threads > 1:
        cfg.limit("there is work for every thread", tasks >= threads, wish=True)
        cfg.limit("tasks can be shared out evenly", tasks >= 4 * threads, wish=True)


def place_frame(cfg: Config, s: Schedule, pad: str, where: str, at: str, width: Number = 1) -> None:
    """Put the stage that writes zeros around an image where a knob says.

    Parameters
    ----------
    pad : str
        The stage.
    where : str
        "first": a nest of its own. "in blocks": what a parallel block reads, inside of the loop `at`. "inline": a
        condition where it is read.
    width : number
        What the vectors of the blocks have, where a block has an open number of channels.
    """
    if where == "inline":
        s.compute_inline(pad)
        return
    if where == "in blocks":
        s.compute_at(pad, at)
    path = list(s.func.block(pad)[1])
    lanes, last, channels = lanes_of(cfg, s, pad), path[-1].name, path[-1].extent
    if not isinstance(channels, int):
        s.vectorize(s.split(last, [None, width])[1])
    elif channels <= 4 * lanes:
        s.vectorize(last)
    elif channels % lanes == 0:
        s.vectorize(s.split(last, [None, lanes])[1])
    if where == "first" and cfg.machine.threads > 1:
        s.parallel(path[0].name, path[1].name)


def fetch_ahead(cfg: Config, s: Schedule, m: Found, rows: tuple[str, ...], along: str, panel: str) -> None:
    """Fetch weights before they are needed, where they are many and few rows share them.

    Parameters
    ----------
    rows : tuple of str
        Loops of the unscheduled nest along which weights stay the same.
    along, panel : str
        The innermost loop of the sum, and the innermost one over blocks.
    """
    func, machine = s.base, cfg.machine
    many = product(concrete(func.loop(name)[0].extent) for name in rows)
    size = func.buffer(m.weights).nbytes
    if not m.constant or size <= LEAST or many > MANY or s.func.loop(along)[0].extent == 1:
        return
    ways = (["no"] if size <= machine.l2 else []) + ["near"] + (["near and panel"] if many >= FEW else [])
    way = cfg.define_knob("fetch", ways).val
    if way != "no":
        s.annotate(along, "prefetch", DISTANCE)
    if way == "near and panel":
        s.annotate(panel, "prefetch", 1)


def product(numbers: Iterable[Number]) -> Any:
    """Product of open numbers."""
    return math.prod(numbers)
