"""The rule for 3x3 convolutions: Winograd's algorithm, its transforms next to a tiled matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.expr import loads
from workbench.ir.poly import product
from workbench.ir.stmt import Block
from workbench.machine_model.parameters import Machine
from workbench.schedule.convolution import match_conv
from workbench.space.sketch.analysis import (
    epilogue,
    fills_registers,
    is_padding,
    loops_of,
    main_block,
    producers,
    role,
    size_of,
)
from workbench.space.sketch.base import Draft, rule
from workbench.space.sketch.fetching import DISTANCE, LEAST
from workbench.space.sketch.pointwise import pointwise

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Registers of the widest vectorised loops: of the matrix product, and of the transforms (their bodies are large).
PRODUCT_VECTORS, TRANSFORM_VECTORS = 4, 2
#: With fewer tiles of 4x4 outputs than this, tiles of 2x2 were faster (7x7 images of 512 channels: 0.98 against 1.48
#: ms on one core); with 16 of them (13x13, 14x14) they were slower by a tenth, with more by half.
FEW_TILES = 8


@rule("winograd", after="tensorize")
def winograd(draft: Draft, machine: Machine) -> Iterator[Draft]:
    """Compute a 3x3 convolution by Winograd's algorithm, with tiles of 4x4 outputs, or of 2x2 where there are few.

    The way back drives the nest: blocks of tiles in parallel, each with its matrix products and the transform of what
    they read. In a second form the data is transformed first, as a nest of its own, so that blocks may also share out
    the output channels. The result is as exact as the docs of `Schedule.winograd` say.
    """
    block = main_block(draft.func)
    if block is None:
        yield draft.skip("winograd", "nothing is reduced")
        return
    try:
        match_conv(draft.func, block)
    except ScheduleError as e:
        yield draft.skip("winograd", e.message, block.name)
        return
    size = _tile(block, machine)
    why = _unsuited(block, machine)
    same = f"this form multiplies with the kernel as it is; of Winograd's, {size.why}"
    yield draft.skip("winograd", why or same, block.name)
    for outside in () if why else (False, True):
        try:
            made = _Sketch(draft, machine, size, outside).make()
        except ScheduleError:  # sizes that the loops below do not suit
            continue
        yield from (replace(d, closed=True) for d in pointwise(made, machine))


@dataclass(frozen=True, slots=True)
class _Tile:
    """Outputs of a tile along each dimension, and why so many."""

    outputs: int
    why: str


def _tile(block: Block, machine: Machine) -> _Tile:
    """Tiles of 4x4, or of 2x2 where so few tiles of 4x4 share the transformed weights that fetching these (4 times the
    kernel's, against 1.8 times) decides.
    """
    extents = {k: [it.extent for it in block.iters if it.kind == k and isinstance(it.extent, int)] for k in "SR"}
    n, h, w, o = extents["S"]
    weights, tiles = 36 * o * max(extents["R"]) * 4, n * -(-h // 4) * -(-w // 4)
    shared = f"{tiles} tiles of 4x4 would share {weights / 2**20:.1f} MB of transformed weights"
    if weights <= machine.l2:
        return _Tile(4, f"tiles of 4x4 do the fewest multiplications: {shared}, which L2 holds")
    if tiles >= FEW_TILES:
        return _Tile(4, f"tiles of 4x4 do the fewest multiplications: {shared}, and {FEW_TILES} are enough for that")
    return _Tile(2, f"tiles of 2x2 have fewer weights to fetch: {shared}, and fewer than {FEW_TILES} are too few")


def _unsuited(block: Block, machine: Machine) -> str:
    """Why its channels do not suit the vectors of the transforms and of the product; empty where they do."""
    o = next(it.extent for it in reversed(block.iters) if it.kind == "S")
    c = max(it.extent for it in block.iters if it.kind == "R" and isinstance(it.extent, int))
    try:
        if isinstance(o, int) and 2 * o < machine.lanes:
            return f"{o} channels fill no vectors."
        for channels in (o, c):
            if isinstance(channels, int):
                vectors(channels, TRANSFORM_VECTORS, machine)
    except ScheduleError as e:
        return e.message
    return ""


def vectors(channels: int, most: int, machine: Machine) -> tuple[int, ...]:
    """Divisors that fill at most `most` registers, wholly or with a rest; few channels are taken as they are.

    Raises
    ------
    ScheduleError
        "sketch.channels" when there are only narrower or much wider ones: unrolled code of them would be slow or
        endless.
    """
    lanes = machine.lanes
    divisors = [d for d in range(1, most * lanes + 1) if channels % d == 0]
    found = [d for d in divisors if d % lanes == 0] or [d for d in divisors if d >= lanes]
    if not found and channels > PRODUCT_VECTORS * lanes:
        raise ScheduleError("sketch.channels", f"{channels} channels do not fall into vectors.", (str(channels),))
    return tuple(found) or (channels,)


@dataclass(slots=True)
class _Sketch:
    """One form; `outside` transforms the data in a nest of its own."""

    draft: Draft
    machine: Machine
    size: _Tile
    outside: bool
    main: str = ""

    @property
    def m(self) -> int:
        """Outputs of a tile along each dimension."""
        return self.size.outputs

    def make(self) -> Draft:
        """Schedule it, with holes for all sizes."""
        s = self.draft.schedule.copy()
        block = main_block(s.func)
        assert block is not None
        pads = [b for b in producers(s.func, block) if is_padding(b) and role(s.func, b) == "temp"]
        for pad in pads:
            s.compute_inline(pad.name)
        self.main = block.name
        t, v, p, y, out, *crop = s.winograd(block.name, self.m)
        follow = self._epilogue(s, crop[0] if crop else out)
        root = out if crop else follow
        vector, blocks, tiles = self._blocks(s, root)
        at = blocks[-1]
        s.compute_at(y, tiles[-1])
        s.compute_at(p, at)
        self._mark(s, y, vectorised="o", unrolled=("y", "b"))
        if crop:  # what lies behind the end of the image is left out
            s.reverse_compute_at(follow, tiles[-1])
            _, h, w, o = (it.name for it in s.func.block(follow)[0].iters)
            self._mark(s, follow, vectorised=o, unrolled=(h, w))
        if not self.outside:
            s.compute_at(v, at)
        self._forward(s, t, v)
        rows = self._product(s, p, vector)
        if self.machine.threads > 1:
            s.parallel(*blocks)
        return self._limited(s, rows, blocks, (t, v, p, y, out, *crop, follow))

    # ----- the parts

    def _epilogue(self, s: Schedule, last: str) -> str:
        """Inline the last stage into the pointwise one behind it; returns the block that writes the result."""
        block, _ = s.func.block(last)
        user = epilogue(s.func, block)
        if user is None or role(s.func, block) != "temp":
            return last
        s.compute_inline(last)
        return user.name

    def _blocks(self, s: Schedule, root: str) -> tuple[str, list[str], list[str]]:
        """Cut the image into blocks of tiles; returns the vectorised loop, the loops over blocks and over tiles."""
        from workbench.schedule import Hole

        n, h, w, o = loops_of(s.func, root).values()
        high = s.split(h, [Hole(), Hole(), self.m])
        wide = s.split(w, [Hole(), Hole(), self.m])
        channels = s.func.loop(o)[0].extent
        assert isinstance(channels, int)
        inner = Hole(choices=vectors(channels, TRANSFORM_VECTORS, self.machine))
        deep = s.split(o, [Hole(), Hole(), inner] if self.outside else [None, inner])
        blocks = [n, high[0], wide[0], *deep[:-2]]
        tiles = [high[1], wide[1], deep[-2]]
        s.reorder(*blocks, *tiles, high[2], wide[2], deep[-1])
        s.unroll(high[2])
        s.unroll(wide[2])
        s.vectorize(deep[-1])
        return deep[-1], blocks, tiles

    def _forward(self, s: Schedule, t: str, v: str) -> None:
        """Transform the data: the first pass inside the second, some channels at a time.

        Each unrolls the axis that it computes, and runs along the other one: what its outputs share is one row.
        """
        from workbench.schedule import Hole

        n, ty, tx, a, b, c = loops_of(s.func, v).values()
        channels = s.func.loop(c)[0].extent
        assert isinstance(channels, int)
        outer, inner = s.split(c, [None, Hole(choices=vectors(channels, TRANSFORM_VECTORS, self.machine))])
        s.reorder(n, ty, tx, outer, a, b, inner)
        s.compute_at(t, outer)
        first = loops_of(s.func, t)
        s.reorder(first["x"], first["a"])
        self._mark(s, t, vectorised="c", unrolled=("a",))
        s.unroll(b)
        s.vectorize(inner)
        if self.outside and self.machine.threads > 1:
            s.parallel(n, ty, tx)

    def _product(self, s: Schedule, p: str, vector: str) -> tuple[str, str, str]:
        """Tile the matrix products, rows by tiles, columns by output channels, with the weights packed to suit."""
        from workbench.schedule import Hole

        a, b, n, ty, tx, o, c = loops_of(s.func, p).values()
        down = s.split(ty, [Hole(), Hole()])
        across = s.split(tx, [Hole(), Hole()])
        lane = size_of(s.func, vector)
        if self.outside:
            deep = s.split(o, [None, lane])
        else:
            channels = s.func.loop(o)[0].extent
            assert isinstance(channels, int)
            deep = s.split(o, [None, Hole(choices=vectors(channels, PRODUCT_VECTORS, self.machine))])
            lane = size_of(s.func, deep[1])
        s.reorder(n, a, b, deep[0], down[0], across[0], c, down[1], across[1], deep[1])
        read = (ld.buffer for ld in loads(s.func.block(p)[0].value))
        weights = next(name for name in read if s.func.buffer(name).role == "const")
        size = s.func.buffer(weights).nbytes
        s.transform_layout(weights, 3, lane)
        if size > LEAST:  # 4 or 1.8 times as many weights as the kernel has, for as few rows as there are tiles
            s.annotate(c, "prefetch", DISTANCE)
            if size > self.machine.l2:
                s.annotate(deep[0], "prefetch", 1)
        s.unroll(down[1])
        s.unroll(across[1])
        s.vectorize(deep[1])
        return down[1], across[1], deep[1]

    def _mark(self, s: Schedule, block: str, vectorised: str, unrolled: tuple[str, ...]) -> None:
        own = loops_of(s.func, block)
        for axis in unrolled:
            s.unroll(own[axis])
        s.vectorize(own[vectorised])

    def _limited(self, s: Schedule, rows: tuple[str, str, str], blocks: list[str], done: tuple[str, ...]) -> Draft:
        tag = f"winograd {self.m}x{self.m}{', data first' if self.outside else ''}"
        place = "first, in a nest of its own" if self.outside else "inside the parallel blocks"
        reason = f"{done[2]}: a 3x3 convolution; {self.size.why}; data transformed {place}"
        d = self.draft.change("winograd", reason, s, *done, blocks=[self.main, done[-1]], tag=tag)
        lanes, registers = self.machine.lanes, self.machine.registers
        down, across, vector = (s.func.loop(name)[0].extent for name in rows)
        held = vector if fills_registers(s.func, rows[2], self.machine) else vector + lanes // 2
        room = (registers - 1) * lanes
        d = d.limit("the register tile and its operands fit the registers", room - (down * across + 1) * held)
        if self.machine.threads > 1:
            tasks = product(s.func.loop(name)[0].extent for name in blocks)
            d = d.limit("there is work for every thread", tasks - self.machine.threads, wish=True)
        return d
