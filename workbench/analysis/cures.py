"""Steps against what takes the time: each is taken on a copy and estimated, and only what gains by it is told."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.estimate import evaluated
from workbench.analysis.offered import Offered
from workbench.analysis.rowwise import partial_sums, together
from workbench.analysis.stages import Recipe, recipes
from workbench.analysis.tiles import tile, tile_longer
from workbench.analysis.ways import Place, Way, possible, remarked
from workbench.errors import WorkbenchError
from workbench.machine_model.parameters import Machine
from workbench.machine_model.roofline import program_cycles
from workbench.space.sketch.tiling import MAX_BODY
from workbench.turns import pause

if TYPE_CHECKING:
    from workbench.schedule import Schedule
    from workbench.schedule.primitive import Primitive
    from workbench.target import Target

LEAST = 1.05
"""How many times as fast the schedule has to be after a cure, by the estimate."""

NEARLY = 0.7
"""How many times as fast the schedule has to stay after a step that may pay with the one behind it."""

SIMPLER = 1.25
"""How many times faster a way has to be than one of fewer steps to be told instead of it."""

TRIED = 16
"""Ways that are tried for one reason."""

STAGE = "stage"
"""Code of the reason that another statement than the main one takes time."""

TILED = ("latency", "reload", "loads", "stride", "gather")
"""Reasons against which a tile of results is tried."""

MARKS = ("vectorize", "unroll", "parallel")
"""Steps that say how loops run; a loop that has been told is in the way of steps that would change it."""


@dataclass(frozen=True, slots=True)
class Cure(Offered):
    """Steps that make the schedule faster by the estimate.

    Attributes
    ----------
    gain : float
        How many times as fast the schedule is after all of them.
    back : str
        What has to be taken back, in words.
    says : str
        The steps in fewer words than one by one; "" where they are short.
    """

    steps: tuple[Primitive, ...]
    gain: float
    without: tuple[int, ...] = ()
    back: str = ""
    says: str = ""

    def __str__(self) -> str:
        return f"{self.back}{self.words} ≈ {gain_text(self.gain)}×"

    @property
    def length(self) -> int:
        """How much there is to read: what is named together counts as two steps at most."""
        return min(len(self.steps), 2) if self.says else len(self.steps)

    @property
    def words(self) -> str:
        """The steps, without what is taken back."""
        return self.says or " + ".join(map(_said, self.steps))

    def taken(self, schedule: Schedule) -> Schedule:
        """Return a schedule after the steps."""
        after = replayed(schedule, self.without) if self.without else schedule.copy()
        for step in self.steps:
            after.apply(step)
        return after

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


def gain_text(gain: float) -> str:
    """How many times as fast: ``1.07``, ``2.4``, ``46``."""
    return f"{gain:.0f}" if gain >= 10 else f"{gain:.1f}" if gain >= 2 else f"{gain:.2f}"


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
    machine = Machine.of(target)
    try:
        after = first.taken(schedule)
        return cycles_of(after, machine) >= LEAST * cycles_of(other.taken(after), machine)
    except WorkbenchError:
        return False


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
        self._block, self._place = block, Place(schedule.func, block, target)
        self._before = cycles_of(schedule, self._machine)
        self._longest = max(MAX_BODY, self._body(schedule))
        self._known: dict[tuple[Way, tuple[int, ...]], float] = {}

    def of(self, code: str, row: str) -> Cure | None:
        """Return the best cure for a reason, a short one rather than one that is little faster; None without any."""
        ways = itertools.islice(possible(code, self._place, row), TRIED)
        # Another thread is offered whenever it is legal and no loss: the number says why it may not be worth it yet.
        least = 1.0 if code == "serial" else LEAST
        found = [Cure(way, gain) for way in dict.fromkeys(ways) if (gain := self._gain(way)) >= least]
        if code in TILED or (code == "scalar" and not found):
            found += self._tiles
        found += self._made(self._recipes(code, row))
        if code == "spill":
            found += self._shorter(row)
        return max(found, key=lambda one: one.gain / SIMPLER**one.length, default=None)

    def nearly(self) -> list[Cure]:
        """Return what was tried and neither gains nor loses much, the best first: another step may make it pay."""
        found = [
            Cure(way, gain) for (way, without), gain in self._known.items() if not without and NEARLY < gain < LEAST
        ]
        return sorted(found, key=lambda one: -one.gain)

    @cached_property
    def _tiles(self) -> list[Cure]:
        """What gains by several results at once, whatever the reason."""
        block, target = self._block, self._target
        makers: list[Recipe] = [partial(make, block=block, target=target) for make in (tile, tile_longer)]
        return list(self._made([*makers, partial(partial_sums, name=block, target=target)]))

    def _recipes(self, code: str, row: str) -> Iterator[Recipe]:
        """Yield what to do about a stage: that of the row, or where a cache is too small the main one."""
        if code == STAGE:
            block = row.removeprefix("stmt:")
            yield from recipes(self._schedule, block, self._target)
            yield partial(together, target=self._target)
            yield partial(partial_sums, name=block, target=self._target)
        elif code == "cache":
            yield from recipes(self._schedule, self._block, self._target)

    def _made(self, makers: Iterable[Recipe]) -> Iterator[Cure]:
        """Yield what gains."""
        for make in makers:
            pause()
            after = self._schedule.copy()
            try:
                says, gain = make(after), self._gained(after)
            except WorkbenchError:
                continue
            if gain >= LEAST:
                yield Cure(after.trace[len(self._schedule.trace) :], gain, says=says)

    def _shorter(self, row: str) -> Iterator[Cure]:
        """Yield what takes a mark of a loop back that is too long for the registers, and marks a part of it."""
        places = marking(self._schedule, [row])
        if len(places) != 1:
            return
        mark = self._schedule.trace[places[0]].name
        for way in remarked(self._place, row, mark):
            if (gain := self._gain(way, places)) >= LEAST:
                yield Cure(way, gain, places, f"{mark} {row} taken back: ")

    def _gain(self, way: Way, without: tuple[int, ...] = ()) -> float:
        """How many times as fast the schedule is after a way; 0 where it cannot be gone."""
        if (way, without) not in self._known:
            pause()
            try:
                after = replayed(self._schedule, without) if without else self._schedule.copy()
                for step in way:
                    after.apply(step)
                self._known[way, without] = self._gained(after)
            except WorkbenchError:
                self._known[way, without] = 0.0
        return self._known[way, without]

    def _gained(self, after: Schedule) -> float:
        """How many times as fast a schedule is; 0 where what is written out outgrows what compilers and caches like."""
        if self._body(after) > self._longest:
            return 0.0
        return self._before / max(cycles_of(after, self._machine), 1.0)

    def _body(self, schedule: Schedule) -> float:
        return max(float(facts.vectors[0]) for facts, _ in evaluated(schedule, self._machine))
