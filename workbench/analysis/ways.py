"""Steps to try against what takes the time, by the reason: none of them is judged here (`workbench.analysis.cures`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from workbench.errors import WorkbenchError
from workbench.ir.stmt import Block, For
from workbench.schedule.legality import spatial_loops
from workbench.schedule.primitive import Primitive, registry
from workbench.schedule.rewrite import fresh_names

if TYPE_CHECKING:
    from workbench.ir.func import Func
    from workbench.target import Target

SHORT = 16
"""Most iterations of a loop that is unrolled."""

VECTORS = (4, 2, 1)
"""Vectors of a part that is split off a loop to run as vectors, the longest part first."""

FULL = 4
"""More vectors of one loop than the registers divided by this are too many: they do not fit beside what they are of."""

TILES, BLOCKS = (8, 4), (64, 128)
"""Iterations of the parts that are split off a loop: for registers, and for a cache."""

Way: TypeAlias = tuple[Primitive, ...]


class Place:
    """Where a statement stands: the loops around it."""

    def __init__(self, func: Func, block: str, target: Target) -> None:
        self.func, self.target = func, target
        self.block, self.path = func.block(block)
        self.names = [lp.name for lp in self.path]
        self.spatial = set(spatial_loops(self.block))
        self.sums = [lp.name for lp in self.path if lp.name not in self.spatial and lp.extent != 1]
        self.lanes = target.lanes(func.buffer(self.block.buffer).dtype)
        self.serial = [lp for lp in self.path if lp.kind == "serial" and lp.extent != 1]

    @cached_property
    def free(self) -> list[For]:
        """Serial loops over results, innermost first."""
        return [lp for lp in reversed(self.serial) if lp.name in self.spatial]

    def after(self, name: str) -> list[str]:
        """Loops inside of one."""
        return self.names[self.names.index(name) + 1 :]


def _step(name: str, *args: object) -> Primitive:
    return registry[name].make(*args)


def halves(func: Func, loop: str) -> tuple[str, str]:
    """Return the names of the two loops that a split makes."""
    outer, inner = fresh_names(func, [f"{loop}.0", f"{loop}.1"])
    return outer, inner


def innermost(func: Func, target: Target, block: Block, path: tuple[For, ...], loop: For) -> Iterator[Way]:
    """Yield the ways to run a loop, or as much of it as a vector holds, at the innermost place as vectors."""
    names = [lp.name for lp in path]
    after = names[names.index(loop.name) + 1 :]

    def there(name: str) -> Way:
        return (*((_step("reorder", *after, name),) if after else ()), _step("vectorize", name))

    lanes = target.lanes(func.buffer(block.buffer).dtype)
    found = parts(loop, lanes)
    if not found or not too_long(loop, lanes, target):
        yield there(loop.name)
        found = found[-1:]  # all of it fits: less is a vector
    for n in found:
        yield (_step("split", loop.name, [None, n]), *there(halves(func, loop.name)[1]))


def too_long(loop: For, lanes: int, target: Target) -> bool:
    """Whether a loop makes far more vectors than registers hold beside what they are made of."""
    return isinstance(loop.extent, int) and loop.extent > lanes * (target.vector_registers // FULL)


def parts(loop: For, lanes: int) -> list[int]:
    """Return how long a part of a loop may be that runs as a few vectors, the longest first."""
    n = loop.extent
    return [k * lanes for k in VECTORS if lanes > 1 and isinstance(n, int) and n > k * lanes and n % (k * lanes) == 0]


def _vectors(at: Place, row: str) -> Iterator[Way]:
    """Vectors of the loop, or of another one over results."""
    for lp in sorted(at.free, key=lambda lp: lp.name != row):
        if not (too_long(lp, at.lanes, at.target) and parts(lp, at.lanes)):
            yield (_step("vectorize", lp.name),)
        yield from innermost(at.func, at.target, at.block, at.path, lp)


def _unrolled(at: Place, row: str) -> Iterator[Way]:
    """The short loops inside of the sum written out: their results stay in registers while it goes on."""
    inside = at.after(at.sums[0]) if at.sums else []
    short = [lp.name for lp in reversed(at.serial) if isinstance(lp.extent, int) and lp.extent <= SHORT]
    found = [name for name in short if name in inside or name == row]
    yield from ((_step("unroll", name),) for name in found)
    if len(found) > 1:
        yield tuple(_step("unroll", name) for name in found)


def _tiled(at: Place, row: str) -> Iterator[Way]:
    """A few results of a loop at once inside of the sum."""
    if not at.sums:
        return
    for lp in at.free:
        for n in TILES:
            if not isinstance(lp.extent, int) or lp.extent < n or lp.extent % n:
                continue
            parted = lp.extent > n
            name = halves(at.func, lp.name)[1] if parted else lp.name
            first = (_step("split", lp.name, [None, n]),) if parted else ()
            after = at.after(lp.name)
            upto = after[: after.index(at.sums[-1]) + 1] if at.sums[-1] in after else []
            yield (*first, *((_step("reorder", *upto, name),) if upto else ()), _step("unroll", name))


def _moved(at: Place, row: str) -> Iterator[Way]:
    """Another loop innermost, or a sum further in."""
    for lp in at.free:
        if after := at.after(lp.name):
            yield (_step("reorder", *after, lp.name),)
    for name in at.sums:
        after = at.after(name)
        for k in range(1, len(after) + 1):
            yield (_step("reorder", *after[:k], name),)


def _stored(at: Place, row: str) -> Iterator[Way]:
    """Sums kept apart from the result."""
    yield (_step("cache_write", at.block.name),)
    if at.sums:
        yield (_step("decompose_reduction", at.block.name, at.sums[0]),)


def _parallel(at: Place, row: str) -> Iterator[Way]:
    """Several cores: the outermost loops over results, or one that is brought there."""
    outer = list(itertools.takewhile(lambda lp: lp.name in at.spatial and lp.kind == "serial", at.path))
    for k in range(1, min(len(outer), 3) + 1):
        yield (_step("parallel", *(lp.name for lp in outer[:k])),)
    for lp in at.free if not outer else ():
        if before := at.names[: at.names.index(lp.name)]:
            yield (_step("reorder", lp.name, *before), _step("parallel", lp.name))


def _written_out(at: Place, row: str) -> Iterator[Way]:
    """More of a loop in one go."""
    yield (_step("unroll", row),)
    for n in TILES:
        yield (_step("split", row, [None, n]), _step("unroll", halves(at.func, row)[1]))


def _blocked(at: Place, row: str) -> Iterator[Way]:
    """A part of a loop at a time: what it touches stays in the cache while the loops around it run."""
    for lp in sorted(at.serial, key=lambda lp: lp.name != row):
        before = at.names[: at.names.index(lp.name)]
        for n in BLOCKS:
            if isinstance(lp.extent, int) and lp.extent > n and lp.extent % n == 0 and before:
                yield (_step("split", lp.name, [None, n]), _step("reorder", halves(at.func, lp.name)[0], *before))


def remarked(at: Place, row: str, mark: str) -> Iterator[Way]:
    """A few vectors of a loop that was marked whole, inside of the sum; some results of a loop around beside them."""
    outer, inner = halves(at.func, row)
    before = at.names[: at.names.index(row)]
    sums = [name for name in at.sums if name in before]
    for n in parts(at.func.loop(row)[0], at.lanes):
        first, last = _step("split", row, [None, n]), _step(mark, inner)
        yield (first, *((_step("reorder", outer, *before[before.index(sums[0]) :]),) if sums else ()), last)
        for lp in at.free if sums else ():
            between = before[before.index(lp.name) + 1 :] if lp.name in before else []
            tiles = [k for k in TILES if isinstance(lp.extent, int) and lp.extent > k and lp.extent % k == 0]
            for k in tiles if sums[0] in between else ():
                part = halves(at.func, lp.name)[1]
                order = (*(name for name in between if name not in sums), outer, *sums, part)
                yield (first, _step("split", lp.name, [None, k]), _step("reorder", *order), last, _step("unroll", part))


def _padded(at: Place, row: str) -> Iterator[Way]:
    """Storage with its edges written out, so that nothing is left to test."""
    yield from ((step,) for step in registry["pad"].candidates(at.func, at.target, at.block.name))


_Ways: TypeAlias = Callable[[Place, str], Iterator[Way]]

_FOR: Mapping[str, tuple[_Ways, ...]] = MappingProxyType(
    {
        "scalar": (_vectors,),
        "serial": (_parallel,),
        "latency": (_unrolled, _tiled),
        "reload": (_unrolled, _moved, _tiled, _stored),
        "gather": (_moved,),
        "loads": (_unrolled, _tiled),
        "spill": (_moved, _stored),
        "overhead": (_written_out, _unrolled),
        "guards": (_padded,),
        "stride": (_moved, _vectors),
        "cache": (_blocked, _moved),
    }
)
"""What to try, by the reason."""


def possible(code: str, at: Place, row: str) -> Iterator[Way]:
    """Yield ways against a reason, those of each maker until one cannot even be put together."""
    for make in _FOR.get(code, ()):
        try:
            yield from make(at, row)
        except WorkbenchError:
            continue
