"""Where no step gains: an earlier state from which a better path goes on, and the default schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.advice.bottlenecks import why
from workbench.advice.estimated_speedup import LEAST, SpeedupTrial
from workbench.advice.offer import Offer, replayed
from workbench.advice.step_text import gain_text, named
from workbench.analysis.loop_nest.schedule_estimate import cycles_of
from workbench.cooperative_yield import pause
from workbench.errors import WorkbenchError
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.default_schedule import default_schedule
from workbench.target import Target

#: Steps that do not pay for themselves of which it is tried what they make possible. Chosen, not measured;
#: `bench_advice` tells what comes of it.
AHEAD = 3

#: Offers that are followed from an earlier state. Chosen, not measured; `bench_advice` tells what comes of it.
DEEP = 6


@dataclass(frozen=True, slots=True)
class Default:
    """The default schedule, where it is faster.

    Attributes
    ----------
    gain : float
        How many times as fast it is.
    measured : bool
        Whether that was measured; else estimated.
    """

    gain: float
    measured: bool = False

    def __str__(self) -> str:
        return f"default schedule {'' if self.measured else '≈ '}{gain_text(self.gain)}×"


def default_of(schedule: Schedule, target: Target, constants: str = "near") -> tuple[Schedule, Default]:
    """Return the default schedule of the same computation, and how much faster than a schedule it is estimated."""
    found, machine = default_schedule(schedule.base, target), Machine.of(target, constants)
    return found, Default(cycles_of(schedule, machine) / max(cycles_of(found, machine), 1.0))


def step_back(schedule: Schedule, target: Target, enough: float = LEAST, constants: str = "near") -> Offer | None:
    """Take what was done to the main statement back, or everything, and follow the offers from there.

    Parameters
    ----------
    schedule : Schedule
    target : Target
    enough : float
        How many times as fast the end of the first path has to be for the second one not to be looked at.
    constants : str
        Where a call finds its constants.

    Returns
    -------
    Offer or None
        All of their steps; None where the end of no path is faster by the estimate.
    """
    found = why(schedule, target, cures=False, constants=constants)
    best: Offer | None = None
    for places in dict.fromkeys((_about(schedule, found.block), tuple(range(len(schedule.trace))))) if found else ():
        if places and (best is None or best.gain < enough):
            cure = _anew(schedule, places, target, constants)
            best = cure if best is None or cure.gain > best.gain else best
    return best if best is not None and best.steps and best.gain >= LEAST else None


def _anew(schedule: Schedule, places: tuple[int, ...], target: Target, constants: str) -> Offer:
    """Follow the offers without the steps at these places."""
    base = after = replayed(schedule, places)
    taken = []
    for cure in path(base, target, constants=constants):
        after = cure.taken(after)
        taken.append(cure.words)
    machine = Machine.of(target, constants)
    gain = cycles_of(schedule, machine) / max(cycles_of(after, machine), 1.0)
    back = f"{len(places)} step{'s' if len(places) > 1 else ''} taken back: "
    return Offer(after.trace[len(base.trace) :], gain, None, places, back, " + ".join(taken))


def two_steps(schedule: Schedule, target: Target, constants: str = "near") -> Offer | None:
    """Look for a step that pays only together with an offer that it makes possible."""
    machine = Machine.of(target, constants)
    found, before = why(schedule, target, cures=False, constants=constants), cycles_of(schedule, machine)
    if found is None:
        return None
    trials = SpeedupTrial(schedule, found.block, target, constants)
    for one in found.reasons:
        trials.of(one.code, one.row)
    both = []
    for first in trials.nearly()[:AHEAD]:
        after = first.taken(schedule)
        for second in path(after, target, 1, constants):
            gain = before / max(cycles_of(second.taken(after), machine), 1.0)
            both.append(Offer((*first.steps, *second.steps), gain, says=f"{first.words} + {second.words}"))
    return max((one for one in both if one.gain >= LEAST), key=lambda one: one.gain, default=None)


def path(schedule: Schedule, target: Target, most: int = DEEP, constants: str = "near") -> Iterator[Offer]:
    """Follow the offer that gains most, again and again; yield what is taken."""
    for _ in range(most):
        pause()
        found = why(schedule, target, constants=constants)
        cures = [one.cure for one in found.reasons if one.cure is not None] if found is not None else []
        best = max(cures, key=lambda cure: cure.gain, default=None)
        if best is None or best.without or best.gain < LEAST:
            return
        yield best
        schedule = best.taken(schedule)


def _about(schedule: Schedule, block: str) -> tuple[int, ...]:
    """Return the places of the steps that changed a statement's nest, and of those that cannot be taken without."""
    after, gone = schedule.prefix(0), []
    mine = {block, *(lp.name for b in after.blocks if b.name == block for lp in after.func.block(block)[1])}
    for k, step in enumerate(schedule.trace):
        if mine & set(named(step)):
            before, now = ({lp.name for lp in schedule.prefix(n).loops} for n in (k, k + 1))
            mine |= now - before
            gone.append(k)
            continue
        try:
            after.apply(step)
        except WorkbenchError:
            gone.append(k)
    return tuple(gone)
