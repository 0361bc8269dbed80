"""Steps of Winograd's algorithm: a 3x3 convolution as products of matrices between two transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from workbench.ir.expr import loads
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Hole, Schedule
from workbench.space.shared_steps.block_queries import epilogue, is_padding, loops_of, producers, role, size_of
from workbench.space.shared_steps.placement import LEAST, fetch_weights, mark
from workbench.space.shared_steps.register_tiles import extent_of

#: Registers of the widest vectorised loops: of the transforms, whose bodies are large, and of the product. Chosen, not
#: measured; `bench_winograd` tells what comes of it.
TRANSFORM, PRODUCT = 2, 4

#: Name, loop or extent, number of factors, choices of the innermost one where it is a vector -> factors.
Sizes: TypeAlias = Callable[[str, "str | int", int, "tuple[int, ...] | None"], Sequence[Any]]


def channel_vectors(channels: int, most: int, lanes: int) -> tuple[int, ...]:
    """Divisors that fill at most `most` registers, wholly or with a rest; else the channels as they are."""
    found = [d for d in range(1, most * lanes + 1) if channels % d == 0]
    return tuple([d for d in found if d % lanes == 0] or [d for d in found if d >= lanes] or [channels])


@dataclass(slots=True)
class Winograd:
    """The steps for one block; the way back drives the nest.

    Attributes
    ----------
    s : Schedule
        Is changed.
    machine : Machine
    size : int
        Results of a tile along each dimension.
    data_first : bool
        Whether the data is transformed in a nest of its own, so that parallel blocks may share out the channels; else
        each block of tiles transforms its own.
    sizes : callable
        Gives the factors of loops.
    columns_first : bool
        Whether channels of the product are cut before its rows: logs know a space by the order of its steps.
    blocks, product : list of str
        The loops over parallel blocks, and those of the product's register tile, once they are made.
    stages : tuple of str
        All blocks that were made, and the one that writes the result.
    """

    s: Schedule
    machine: Machine
    size: int
    data_first: bool
    sizes: Sizes
    columns_first: bool = False
    blocks: list[str] = field(default_factory=list)
    product: list[str] = field(default_factory=list)
    stages: tuple[str, ...] = ()

    def make(self, name: str) -> None:
        """Take all steps for a block."""
        s = self.s
        block, _ = s.func.block(name)
        for pad in producers(s.func, block):
            if is_padding(pad) and role(s.func, pad) == "temp":
                s.compute_inline(pad.name)
        across, data, sums, down, out, *crop = s.winograd(name, self.size)
        last, _ = s.func.block(end := crop[0] if crop else out)
        user = epilogue(s.func, last)
        if user is not None and role(s.func, last) == "temp":
            s.compute_inline(end)
            end = user.name
        self.stages = (across, data, sums, down, out, *crop, end)
        tiles, width = self._blocks(out if crop else end)
        s.compute_at(down, tiles[-1])
        s.compute_at(sums, self.blocks[-1])
        own = loops_of(s.func, down)
        mark(s, (own["y"], own["b"]), own["o"])
        if crop:  # what lies behind the end of the image is left out
            s.reverse_compute_at(end, tiles[-1])
            _, h, w, o = loops_of(s.func, end).values()
            mark(s, (h, w), o)
        if not self.data_first:
            s.compute_at(data, self.blocks[-1])
        self._transform_data(across, data)
        self._multiply(sums, width if self.data_first else None)
        if self.machine.threads > 1:
            s.parallel(*self.blocks)

    def _channels(self, name: str, loop: str, parts: int, most: int) -> Sequence[Any]:
        """Factors of a loop over channels, the innermost one for vectors of at most so many registers."""
        extent = extent_of(self.s.func, loop)
        return self.sizes(name, loop, parts, channel_vectors(extent, most, self.machine.lanes))

    def _blocks(self, root: str) -> tuple[list[str], Any]:
        """Cut the image into blocks of tiles; returns the loops over tiles and the channels in a vector."""
        s, m = self.s, self.size
        n, h, w, o = loops_of(s.func, root).values()
        tall, long = (extent_of(s.func, loop) // m for loop in (h, w))
        high, wide = self.sizes("tile_h", tall, 2, None), self.sizes("tile_w", long, 2, None)
        deep = self._channels("tile_o", o, 3 if self.data_first else 2, TRANSFORM)
        hs, ws, os = s.split(h, [*high, m]), s.split(w, [*wide, m]), s.split(o, list(deep))
        self.blocks, tiles = [n, hs[0], ws[0], *os[:-2]], [hs[1], ws[1], os[-2]]
        s.reorder(*self.blocks, *tiles, hs[2], ws[2], os[-1])
        mark(s, (hs[2], ws[2]), os[-1])
        named = isinstance(deep[-1], Hole) and deep[-1].name is not None
        return tiles, deep[-1] if named else size_of(s.func, os[-1])

    def _transform_data(self, across: str, data: str) -> None:
        """Transform the data, the first pass inside of the second, some channels at a time.

        Each unrolls the axis that it computes, and runs along the other one: what its outputs share is one row.
        """
        s, own = self.s, loops_of(self.s.func, data)
        outer, inner = s.split(own["c"], list(self._channels("tile_data", own["c"], 2, TRANSFORM)))
        s.reorder(own["n"], own["ty"], own["tx"], outer, own["a"], own["b"], inner)
        s.compute_at(across, outer)
        first = loops_of(s.func, across)
        s.reorder(first["x"], first["a"])
        mark(s, (first["a"],), first["c"])
        mark(s, (own["b"],), inner)
        if self.data_first and self.machine.threads > 1:
            s.parallel(own["n"], own["ty"], own["tx"])

    def _multiply(self, sums: str, width: Any) -> None:
        """Tile the products: rows are tiles of the image, columns channels; the weights are packed to suit."""
        s, own = self.s, loops_of(self.s.func, sums)
        cuts = {axis: self.sizes(f"tile_{axis}", own[axis], 2, None) for axis in ("ty", "tx")}
        cuts["o"] = [None, width] if width is not None else self._channels("tile_p", own["o"], 2, PRODUCT)
        order = ("o", "ty", "tx") if self.columns_first else ("ty", "tx", "o")
        parts = {axis: s.split(own[axis], list(cuts[axis])) for axis in order}
        (ty, down), (tx, wide), (o, lane) = (parts[axis] for axis in ("ty", "tx", "o"))
        s.reorder(own["n"], own["a"], own["b"], o, ty, tx, own["c"], down, wide, lane)
        read = (ld.buffer for ld in loads(s.func.block(sums)[0].value))
        weights = next(name for name in read if s.func.buffer(name).role == "const")
        size = s.func.buffer(weights).nbytes
        s.transform_layout(weights, 3, size_of(s.func, lane))
        if size > LEAST:  # 4 or 1.8 times as many weights as the kernel has, for as few rows as there are tiles
            fetch_weights(s, own["c"], o, size > self.machine.l2)
        mark(s, (down, wide), lane)
        self.product = [down, wide, lane]
