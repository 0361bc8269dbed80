"""Ways to what a refused step was meant to do: a step, or a few in a row, that nobody has judged yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from workbench.analysis.ways import Way, halves, innermost
from workbench.errors import WorkbenchError
from workbench.ir.stmt import Block, For, blocks
from workbench.schedule.holes import divisors
from workbench.schedule.legality import reduction_loops, spatial_loops
from workbench.schedule.primitive import Primitive, registry

if TYPE_CHECKING:
    from workbench.ir.func import Func
    from workbench.schedule import Schedule
    from workbench.schedule.moves import Move
    from workbench.target import Target

SAME = ("compute_at", "reverse_compute_at", "decompose_reduction", "pad", "winograd")
"""Primitives of which another step that names the same block does what was meant."""

PARTS = 16
"""Most iterations of the part that is split off a loop that has too many."""


class Wanted:
    """What a refused step was about.

    Parameters
    ----------
    view : Schedule
        That refused it.
    move : Move
    target : Target
        Says how long a vector is.
    """

    def __init__(self, view: Schedule, move: Move, target: Target) -> None:
        self.func: Func = view.func
        self.name, self.args, self.target = move.primitive, move.step.args, target
        self._device = view.target

    @property
    def loop(self) -> str:
        """The loop that the step is about: the last one that it names."""
        for value in (self.args.get("loop"), self.args.get("loops"), self.args.get("first")):
            if value:
                return str(value[-1] if isinstance(value, tuple) else value)
        return ""

    @property
    def path(self) -> list[For]:
        """Loops around the loop and the loop itself, outermost first."""
        loop, outer = self.func.loop(self.loop)
        return [*outer, loop]

    @property
    def inside(self) -> list[Block]:
        """Blocks that the loop holds."""
        return [block for block, _ in blocks((self.func.loop(self.loop)[0],))]

    @property
    def reduces(self) -> bool:
        """Whether the loop carries a reduction."""
        return any(self.loop in reduction_loops(block) for block in self.inside)

    def candidates(self, name: str, block: str) -> Iterator[Way]:
        """Steps of a primitive that are about a block."""
        steps = registry[name].candidates(self.func, self._device, block)
        return ((step,) for step in steps if step.args.get("block") == block)


def ways(wanted: Wanted, code: str) -> Iterator[Way]:
    """Yield what does what was meant, by the code of the refusal or else by the primitive; none of it is judged."""
    return _possible(_BY_CODE.get(code) or _BY_CODE.get(wanted.name), wanted)


def elsewhere(wanted: Wanted) -> Iterator[Way]:
    """Yield other steps of the same primitive that name the same block, where it names one."""
    return _possible(_elsewhere, wanted)


_Ways: TypeAlias = Callable[[Wanted], Iterator[Way]]


def _possible(make: _Ways | None, wanted: Wanted) -> Iterator[Way]:
    """Yield ways until one cannot even be put together: a name that is gone."""
    try:
        yield from make(wanted) if make is not None else ()
    except WorkbenchError:
        return


def _step(name: str, *args: object) -> Primitive:
    return registry[name].make(*args)


def _longer(loop: For) -> bool:
    return loop.extent != 1


# --------------------------------------------------------------------------------------------------- how a loop runs


def _parallel(wanted: Wanted) -> Iterator[Way]:
    """Several cores all the same: partial results for each iteration, the loops around, or another loop outermost."""
    loop = wanted.loop
    open_ = [lp.name for lp in wanted.path if lp.kind == "serial"]
    outer = [lp.name for lp in wanted.path[:-1]]
    if wanted.reduces:
        yield (_step("rfactor", loop), _step("parallel", *open_))
        open_ = open_[:-1]
    for k in range(len(open_), 0, -1):
        yield (_step("parallel", *open_[:k]),)
    if outer and not wanted.reduces:
        yield (_step("reorder", loop, *outer), _step("parallel", loop))
    for block in wanted.inside:
        names = [lp.name for lp in wanted.func.block(block.name)[1]]
        for name in names[1:]:
            if name in spatial_loops(block) and name not in (*outer, loop):
                yield (_step("reorder", name, *names[: names.index(name)]), _step("parallel", name))


def _vectorize(wanted: Wanted) -> Iterator[Way]:
    """Vectors all the same: the loop, or another one that moves the result, innermost, whole or a vector of it."""
    loop = wanted.loop
    for block in wanted.inside:
        path = wanted.func.block(block.name)[1]
        moving = [lp for lp in reversed(path) if lp.name in spatial_loops(block) and _longer(lp)]
        for lp in sorted(moving, key=lambda lp: lp.name != loop):
            yield from innermost(wanted.func, wanted.target, block, path, lp)
    if wanted.reduces:
        yield (_step("rfactor", loop, -1), _step("vectorize", loop))


def _bind(wanted: Wanted) -> Iterator[Way]:
    """Another loop around it for the same part of the device."""
    loop, kind = wanted.loop, wanted.args["to"]
    for lp in wanted.path:
        if _longer(lp):
            yield (_step("bind", lp.name, kind),)
    yield (_step("rfactor", loop), _step("bind", loop, kind))


def _shorter(wanted: Wanted) -> Iterator[Way]:
    """The same with a part of a loop that has too many iterations."""
    loop = wanted.loop
    extent, rest = wanted.func.loop(loop)[0].extent, [v for k, v in wanted.args.items() if k != "loop"]
    if isinstance(extent, int):
        inner = halves(wanted.func, loop)[1]
        for n in reversed([d for d in divisors(extent) if 1 < d <= PARTS]):
            yield (_step("split", loop, [None, n]), _step(wanted.name, inner, *rest))


# ------------------------------------------------------------------------------------------------------------- numbers


def _near(extent: int, wanted: int) -> list[int]:
    """The divisors of an extent around a number, those left out that leave nothing to do."""
    found = [d for d in divisors(extent) if 1 < d < extent]
    return [*[d for d in found if d < wanted][-1:], *[d for d in found if d > wanted][:1]]


def _divisors(wanted: Wanted) -> Iterator[Way]:
    """Numbers that divide the extent, or a condition or a nest of its own for what is left."""
    loop, factors = wanted.loop, wanted.args["factors"]
    extent = wanted.func.loop(loop)[0].extent
    numbers = [f for f in factors if isinstance(f, int)]
    if not isinstance(extent, int) or len(numbers) != 1 or len(factors) != 2:
        return
    at = factors.index(numbers[0])
    for near in _near(extent, numbers[0]):
        yield (_step("split", loop, [near, None] if at == 0 else [None, near]),)
    for tail in ("guard", "peel"):
        yield (_step("split", loop, factors, tail),)


# -------------------------------------------------------------------------------------------------------------- places


def _placed(wanted: Wanted) -> Iterator[Way]:
    """The same block at another loop, the nearest one further out first; or moved the other way."""
    block = str(wanted.args["block"])
    for kind in ("compute_at", "reverse_compute_at"):
        for lp in reversed(wanted.path):
            yield (_step(kind, block, lp.name),)


def _inlined(wanted: Wanted) -> Iterator[Way]:
    """The block put into its neighbour on the other side, or brought near it."""
    block = str(wanted.args["block"])
    yield (_step("reverse_compute_inline", block),)
    yield (_step("compute_inline", block),)
    for name in ("compute_at", "reverse_compute_at"):
        yield from list(wanted.candidates(name, block))[:-4:-1]


def _cached(wanted: Wanted) -> Iterator[Way]:
    """The block that makes the result keeps it close, rather than its reader."""
    for block, _ in blocks(wanted.func.body):
        if block.buffer == wanted.args["buffer"]:
            yield (_step("cache_write", block.name),)


def _elsewhere(wanted: Wanted) -> Iterator[Way]:
    block = wanted.args.get("block")
    if wanted.name in SAME and block:
        yield from wanted.candidates(wanted.name, str(block))


_BY_CODE: Mapping[str, _Ways] = MappingProxyType(
    {
        "parallel": _parallel,
        "vectorize.limit": _shorter,
        "vectorize": _vectorize,
        "unroll.limit": _shorter,
        "bind.limit": _shorter,
        "bind": _bind,
        "split.divides": _divisors,
        "compute_at": _placed,
        "reverse_compute_at": _placed,
        "compute_inline": _inlined,
        "reverse_compute_inline": _inlined,
        "cache_read.producer": _cached,
    }
)
"""What to try, by the code of a refusal or else by the primitive."""
