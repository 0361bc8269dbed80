"""The template for products of matrices: ``C[i, j] = sum(A[i, k] * B[k, j])``, dense layers included."""

from __future__ import annotations

from workbench.schedule import Schedule
from workbench.space.shared_steps.placement import finish, mark
from workbench.space.shared_steps.register_tiles import parallel_limits, tile_limits
from workbench.space.template.common_knobs import fetch_ahead, lengthen, opening, pack, vectors
from workbench.space.template.config import Config
from workbench.space.template.registry import template


@template("matmul", matches="matmul")
def matmul(cfg: Config, s: Schedule) -> None:
    """Parallel blocks, tiles for the caches, and a tile of C in vector registers while the sum runs."""
    m, machine = opening(cfg, s)

    # What no good tile divides gets longer; there is no other way for B than a copy with room for zeros.
    rows, columns = cfg.extent(m.i), cfg.extent(m.j)
    copy, last = lengthen(cfg, s, m.i, m.j, machine)

    # B lies in the order in which the tile reads it: ahead of time, by a copy inside the blocks, or not at all.
    wide = rows >= 32 and columns >= 16 * machine.lanes
    if not m.constant and copy is None and wide and cfg.define_knob("pack", [False, True]).val:
        copy = s.cache_read(m.block, m.weights)

    # With panels the sum is cut as well: parts of A and B stay in a cache while all tiles use them.
    panels = cfg.extent(m.k) >= 64 and cfg.define_knob("panels", [False, True]).val
    levels = 4 if panels else 3
    tile_i = cfg.define_split("tile_i", m.i, num_outputs=levels, filter=lambda e: e.size[-1] <= cfg.machine.registers)
    tile_j = cfg.define_split("tile_j", m.j, num_outputs=levels, filter=vectors(cfg, m.j, machine))
    i, j = tile_i.apply(s), tile_j.apply(s)
    k = cfg.define_split("tile_k", m.k, num_outputs=2).apply(s) if panels else (m.k,)
    between = [i[2], j[2]] if panels else []
    s.reorder(i[0], j[0], i[1], j[1], *k[:-1], *between, k[-1], i[-1], j[-1])

    # The tile of C, one row of A and one vector of B are in registers at the same time.
    cfg.limits(tile_limits(s.func, (i[-1], j[-1]), machine, 1))
    cfg.limits(parallel_limits(s.func, (i[0], j[0]), machine))

    pack(s, m, copy, 1, tile_j.size[-1], at=k[0] if panels else j[0])
    if last is not None:
        finish(s, last, at=j[1], vector=j[-1], unrolled=not panels)
    mark(s, (i[-1],), j[-1])
    if machine.threads > 1:
        s.parallel(i[0], j[0])
    fetch_ahead(cfg, s, rows=(m.i,), along=k[-1], panel=j[0])
