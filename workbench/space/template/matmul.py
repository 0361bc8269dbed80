"""The template for products of matrices: ``C[i, j] = sum(A[i, k] * B[k, j])``, dense layers included."""

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
    register_limits,
    vectors,
)

if TYPE_CHECKING:
    from workbench.schedule import Schedule


@template("matmul", matches="matmul")
def matmul(cfg: Config, s: Schedule) -> None:
    """Parallel blocks, tiles for the caches, and a tile of C in vector registers while the sum runs."""
    m, lanes = opening(cfg, s)

    # What no good tile divides gets longer; there is no other way for B than a copy with room for zeros.
    rows, columns = cfg.extent(m.i), cfg.extent(m.j)
    copy, last = lengthen(cfg, s, m.block, m.i, m.j, None if m.constant else m.weights)

    # B lies in the order in which the tile reads it: ahead of time, by a copy inside the blocks, or not at all.
    wide = rows >= 32 and columns >= 16 * lanes
    if not m.constant and copy is None and wide and cfg.define_knob("pack", [False, True]).val:
        copy = s.cache_read(m.block, m.weights)

    # With panels the sum is cut as well: parts of A and B stay in a cache while all tiles use them.
    panels = cfg.extent(m.k) >= 64 and cfg.define_knob("panels", [False, True]).val
    levels = 4 if panels else 3
    tile_i = cfg.define_split("tile_i", m.i, num_outputs=levels, filter=lambda e: e.size[-1] <= cfg.machine.registers)
    tile_j = cfg.define_split("tile_j", m.j, num_outputs=levels, filter=vectors(cfg, m.j, lanes))
    i, j = tile_i.apply(s), tile_j.apply(s)
    k = cfg.define_split("tile_k", m.k, num_outputs=2).apply(s) if panels else (m.k,)
    between = [i[2], j[2]] if panels else []
    s.reorder(i[0], j[0], i[1], j[1], *k[:-1], *between, k[-1], i[-1], j[-1])

    # The tile of C, one row of A and one vector of B are in registers at the same time.
    register_limits(cfg, tile_i.size[-1], tile_j, lanes)
    parallel_limits(cfg, tile_i.size[0] * tile_j.size[0])

    pack(s, m, copy, 1, tile_j.size[-1], at=k[0] if panels else j[0])
    if last is not None:
        finish(s, last, at=j[1], vector=j[-1], unrolled=not panels)
    s.unroll(i[-1])
    s.vectorize(j[-1])
    if cfg.machine.threads > 1:
        s.parallel(i[0], j[0])
    fetch_ahead(cfg, s, m, rows=(m.i,), along=k[-1], panel=j[0])
