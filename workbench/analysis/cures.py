"""Steps against what takes the time: each is taken on a copy and estimated, and only what gains by it is told."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from workbench.analysis.estimate import evaluated
from workbench.analysis.offered import Offered
from workbench.errors import WorkbenchError
from workbench.ir.stmt import Block, For
from workbench.schedule.legality import spatial_loops
from workbench.schedule.primitive import Primitive, registry
from workbench.schedule.rewrite import fresh_names
from workbench.tune.machine import Machine
from workbench.tune.roofline import program_cycles

if TYPE_CHECKING:
    from workbench.ir.func import Func
    from workbench.schedule import Schedule
    from workbench.target import Target

LEAST = 1.05
"""How many times as fast the schedule has to be after a cure, by the estimate."""

SIMPLER = 1.25
"""How many times faster a way has to be than one of fewer steps to be told instead of it."""

TRIED = 16
"""Ways that are tried for one reason."""

MARKS = ("vectorize", "unroll", "parallel")
"""Steps that say how loops run; a loop that has been told is in the way of steps that would change it."""

SHORT = 16
"""Most iterations of a loop that is unrolled."""

VECTORS = (4, 2, 1)
"""Vectors of a part that is split off a loop to run as vectors, the longest part first."""

FULL = 4
"""More vectors of one loop than the registers divided by this are too many: they do not fit beside what they are of."""

TILES, BLOCKS = (8, 4), (64, 128)
"""Iterations of the parts that are split off a loop: for registers, and for a cache."""

Way: TypeAlias = tuple[Primitive, ...]


@dataclass(frozen=True, slots=True)
class Cure(Offered):
    """Steps that make the schedule faster by the estimate.

    Attributes
    ----------
    gain : float
        How many times as fast the schedule is after all of them.
    back : str
        What has to be taken back, in words.
    """

    steps: tuple[Primitive, ...]
    gain: float
    without: tuple[int, ...] = ()
    back: str = ""

    def __str__(self) -> str:
        gain = f"{self.gain:.0f}" if self.gain >= 10 else f"{self.gain:.1f}" if self.gain >= 2 else f"{self.gain:.2f}"
        return f"{self.back}{' + '.join(map(_said, self.steps))} ≈ {gain}×"

    @property
    def row(self) -> str:
        """Loop (or statement, ``stmt:BLOCK``) that the first step is about."""
        args = self.steps[0].args
        if "block" in args:
            return f"stmt:{args['block']}"
        named = args.get("loop") or args.get("loops") or ""
        return str((named[-1] if self.steps[0].name == "reorder" else named[0]) if isinstance(named, tuple) else named)

    def told(self) -> dict[str, Any]:
        """Return the row."""
        return {"row": self.row}


def _said(step: Primitive) -> str:
    words = [_word(step.args[f.name]) for f in step.fields() if f.required or step.args[f.name] != f.default]
    return f"{step.name} {' '.join(words)}"


def _word(value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    if all(isinstance(one, str) for one in value):
        return ", ".join(map(str, value))
    return f"by {' × '.join(str(one) for one in value if one is not None)}"


def cycles_of(schedule: Schedule, machine: Machine) -> float:
    """Return the cycles of the estimate."""
    found = evaluated(schedule, machine)
    total, _ = program_cycles(
        [c.both for _, c in found], [f.tasks for f, _ in found], [f.plan.root for f, _ in found], machine
    )
    return float(np.ravel(total)[0])


def marking(schedule: Schedule, loops: Collection[str]) -> tuple[int, ...]:
    """Return the places in the trace of the steps that said how loops run: as vectors, unrolled, on several cores."""
    marked = {name for name in loops if any(lp.name == name and lp.kind != "serial" for lp in schedule.loops)}
    named = [_names(step) if step.name in MARKS else set() for step in schedule.trace]
    return tuple(k for k, names in enumerate(named) if names & marked)


def _names(step: Primitive) -> set[str]:
    found = step.args.get("loop") or step.args.get("loops") or ()
    return {found} if isinstance(found, str) else set(found)


def replayed(schedule: Schedule, without: Collection[int]) -> Schedule:
    """Return a schedule with all steps but some; raises what the first step does that is not legal without them."""
    after = schedule.prefix(min(without, default=len(schedule.trace)))
    for k, step in enumerate(schedule.trace):
        if k >= len(after.trace) and k not in without:
            after.apply(step)
    return after


def beside(schedule: Schedule, first: Cure | None, other: Cure | None, target: Target) -> bool:
    """Whether a cure is legal after another one, and still gains: the two do not pull apart."""
    if first is None or other is None or other.without:
        return False
    machine, after = Machine.of(target), replayed(schedule, first.without)
    try:
        for step in first.steps:
            after.apply(step)
        before = cycles_of(after, machine)
        for step in other.steps:
            after.apply(step)
    except WorkbenchError:
        return False
    return before >= LEAST * cycles_of(after, machine)


class Cures:
    """Looks for cures of one statement.

    Parameters
    ----------
    schedule : Schedule
        Without open numbers; stays as it is.
    block : str
        The statement that takes most of the time.
    target : Target
    """

    def __init__(self, schedule: Schedule, block: str, target: Target) -> None:
        self._schedule, self._target, self._machine = schedule, target, Machine.of(target)
        self._place = _Place(schedule.func, block, target)
        self._before = cycles_of(schedule, self._machine)
        self._known: dict[tuple[Way, tuple[int, ...]], float] = {}

    def of(self, code: str, row: str) -> Cure | None:
        """Return the best cure for a reason, a short one rather than one that is little faster; None without any."""
        ways = itertools.islice(_possible(_FOR.get(code, ()), self._place, row), TRIED)
        # Another thread is offered whenever it is legal and no loss: the number says why it may not be worth it yet.
        least = 1.0 if code == "serial" else LEAST
        found = [Cure(way, gain) for way in dict.fromkeys(ways) if (gain := self._gain(way)) >= least]
        if code == "spill":
            found += self._shorter(row)
        return max(found, key=lambda one: one.gain / SIMPLER ** len(one.steps), default=None)

    def _shorter(self, row: str) -> Iterator[Cure]:
        """Yield what takes a mark of a loop back that is too long for the registers, and marks a part of it."""
        places = marking(self._schedule, [row])
        if len(places) != 1:
            return
        mark = self._schedule.trace[places[0]].name
        for way in _remarked(self._place, row, mark):
            if (gain := self._gain(way, places)) >= LEAST:
                yield Cure(way, gain, places, f"{mark} {row} taken back: ")

    def _gain(self, way: Way, without: tuple[int, ...] = ()) -> float:
        """How many times as fast the schedule is after a way; 0 where it cannot be gone."""
        if (way, without) not in self._known:
            try:
                after = replayed(self._schedule, without) if without else self._schedule.copy()
                for step in way:
                    after.apply(step)
                self._known[way, without] = self._before / max(cycles_of(after, self._machine), 1.0)
            except WorkbenchError:
                self._known[way, without] = 0.0
        return self._known[way, without]


class _Place:
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


def _vectors(at: _Place, row: str) -> Iterator[Way]:
    """Vectors of the loop, or of another one over results."""
    for lp in sorted(at.free, key=lambda lp: lp.name != row):
        if not (too_long(lp, at.lanes, at.target) and parts(lp, at.lanes)):
            yield (_step("vectorize", lp.name),)
        yield from innermost(at.func, at.target, at.block, at.path, lp)


def _unrolled(at: _Place, row: str) -> Iterator[Way]:
    """The short loops inside of the sum written out: their results stay in registers while it goes on."""
    inside = at.after(at.sums[0]) if at.sums else []
    short = [lp.name for lp in reversed(at.serial) if isinstance(lp.extent, int) and lp.extent <= SHORT]
    found = [name for name in short if name in inside or name == row]
    yield from ((_step("unroll", name),) for name in found)
    if len(found) > 1:
        yield tuple(_step("unroll", name) for name in found)


def _tiled(at: _Place, row: str) -> Iterator[Way]:
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


def _moved(at: _Place, row: str) -> Iterator[Way]:
    """Another loop innermost, or a sum further in."""
    for lp in at.free:
        if after := at.after(lp.name):
            yield (_step("reorder", *after, lp.name),)
    for name in at.sums:
        after = at.after(name)
        for k in range(1, len(after) + 1):
            yield (_step("reorder", *after[:k], name),)


def _stored(at: _Place, row: str) -> Iterator[Way]:
    """Sums kept apart from the result."""
    yield (_step("cache_write", at.block.name),)
    if at.sums:
        yield (_step("decompose_reduction", at.block.name, at.sums[0]),)


def _parallel(at: _Place, row: str) -> Iterator[Way]:
    """Several cores: the outermost loops over results, or one that is brought there."""
    outer = list(itertools.takewhile(lambda lp: lp.name in at.spatial and lp.kind == "serial", at.path))
    for k in range(1, min(len(outer), 3) + 1):
        yield (_step("parallel", *(lp.name for lp in outer[:k])),)
    for lp in at.free if not outer else ():
        if before := at.names[: at.names.index(lp.name)]:
            yield (_step("reorder", lp.name, *before), _step("parallel", lp.name))


def _written_out(at: _Place, row: str) -> Iterator[Way]:
    """More of a loop in one go."""
    yield (_step("unroll", row),)
    for n in TILES:
        yield (_step("split", row, [None, n]), _step("unroll", halves(at.func, row)[1]))


def _blocked(at: _Place, row: str) -> Iterator[Way]:
    """A part of a loop at a time: what it touches stays in the cache while the loops around it run."""
    for lp in sorted(at.serial, key=lambda lp: lp.name != row):
        before = at.names[: at.names.index(lp.name)]
        for n in BLOCKS:
            if isinstance(lp.extent, int) and lp.extent > n and lp.extent % n == 0 and before:
                yield (_step("split", lp.name, [None, n]), _step("reorder", halves(at.func, lp.name)[0], *before))


def _remarked(at: _Place, row: str, mark: str) -> Iterator[Way]:
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


def _padded(at: _Place, row: str) -> Iterator[Way]:
    """Storage with its edges written out, so that nothing is left to test."""
    yield from ((step,) for step in registry["pad"].candidates(at.func, at.target, at.block.name))


_Ways: TypeAlias = Callable[[_Place, str], Iterator[Way]]

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


def _possible(makers: tuple[_Ways, ...], at: _Place, row: str) -> Iterator[Way]:
    """Yield ways of each maker until one cannot even be put together."""
    for make in makers:
        try:
            yield from make(at, row)
        except WorkbenchError:
            continue
