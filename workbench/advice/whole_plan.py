"""A whole plan: several offers, one after the other, from the schedule on show to the fastest that the estimate finds.

Two ways are compared. *Onward* follows the offers from where the schedule is. *Anew* goes to the best schedule that the
sketch rules reach: their sketches, with the numbers that the estimate likes best of a sample. What the schedule has in
common with it is kept, the rest is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from workbench.advice.estimated_speedup import LEAST
from workbench.advice.lookahead import default_of, path
from workbench.advice.offer import Offer
from workbench.advice.step_text import gain_text, summary
from workbench.analysis.loop_nest.schedule_estimate import cycles_of
from workbench.cooperative_yield import pause
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.primitive import Primitive
from workbench.space.default_schedule import favourite
from workbench.space.sketch import RULES, sketches
from workbench.space.variant import Variant
from workbench.target import Target

#: Times as fast as the default schedule that another one has to be by the estimate: the default has been measured on
#: many machines, the estimate is wrong by as much. Chosen, not measured; `bench_advice` tells what comes of it.
BETTER = 1.15

#: Share of the speed of the way anew that the way onward needs to be told instead: it keeps what the user did. Chosen.
#: Where nothing was done, it needs what the sketches need to be told in the place of the default schedule.
KEPT = 0.95

#: Offers of the way onward.
ONWARD = 12


@dataclass(frozen=True, slots=True)
class Plan:
    """Offers that lead, in their order, to a faster schedule.

    Attributes
    ----------
    offers : tuple of Offer
        The gain of each is over the schedule before it. Only the first one may take steps back.
    gain : float
        How many times as fast the end is as the schedule that the plan is for, by the estimate.
    of_default : float
        Speed of the end as a share of that of the default schedule, by the estimate.
    end : Schedule
        After all of them.
    """

    offers: tuple[Offer, ...]
    gain: float
    of_default: float
    end: Schedule

    def __str__(self) -> str:
        rows = [f"{k}. {offer}" for k, offer in enumerate(self.offers, 1)]
        return "\n".join([self.headline, *rows])

    @property
    def headline(self) -> str:
        """What the whole is worth, in a sentence."""
        if not self.offers:
            return f"By the estimate nothing makes it {100 * LEAST - 100:.0f} % faster{self._beside}."
        steps = sum(len(offer.steps) for offer in self.offers)
        rows = f" in {len(self.offers)} rows" if 1 < len(self.offers) < steps else ""
        return f"Plan: {steps} step{'s' if steps > 1 else ''}{rows}, ≈ {gain_text(self.gain)}× in all{self._beside}."

    @property
    def _beside(self) -> str:
        if self.of_default < 1.0 / LEAST:
            return f"; the default schedule is ≈ {gain_text(1.0 / self.of_default)}× faster"
        return f"; ≈ {gain_text(self.of_default)}× the default schedule's speed" if self.of_default >= LEAST else ""

    def upto(self, count: int) -> Offer:
        """The first offers as one."""
        taken = self.offers[:count]
        gain = 1.0
        for one in taken:
            gain *= one.gain
        return Offer(tuple(s for one in taken for s in one.steps), gain, without=taken[0].without, back=taken[0].back)

    def left(self, start: Schedule, now: Schedule) -> Plan | None:
        """Return what is left of the plan where its rows lead from `start` to `now`; None where none ends there.

        It costs no search.
        """
        at, gain = start, self.gain
        for k in range(len(self.offers) + 1):
            if at.trace == now.trace and at.base == now.base:
                left = self.offers[k:]
                return Plan(left, gain if left else 1.0, self.of_default, self.end)
            if k < len(self.offers):
                at, gain = self.offers[k].taken(at), gain / self.offers[k].gain
        return None

    def to_json(self) -> dict[str, Any]:
        """Return what a front end shows and sends back: each row takes the plan up to itself."""
        rows = [{**self.upto(k).to_json(), "id": str(k), "label": str(offer)} for k, offer in enumerate(self.offers, 1)]
        return {"text": self.headline, "rows": rows}


def plan(schedule: Schedule, target: Target | None = None, *, constants: str = "near") -> Plan:
    """Find a plan for a schedule without open numbers.

    Parameters
    ----------
    schedule : Schedule
    target : Target, optional
        The schedule's own when left out.
    constants : {"near", "shared", "memory"}
        Where a call finds its constants, as for `MeasureOptions`.

    Returns
    -------
    Plan
        Without offers where nothing gains. It ends at least as fast as the default schedule, by the estimate.
    """
    target = target or schedule.target or Target.host()
    machine = Machine.of(target, constants)
    usual, _ = default_of(schedule, target)
    now, goal = cycles_of(schedule, machine), cycles_of(usual, machine)
    anew = best_of_sketches(schedule, target, machine)
    if anew is None or goal < BETTER * cycles_of(anew, machine):
        anew = usual
    onward = tuple(path(schedule, target, ONWARD, constants))
    end = schedule
    for offer in onward:
        end = offer.taken(end)
    needed = KEPT if schedule.trace or anew is not usual else BETTER
    if needed * cycles_of(end, machine) > min(cycles_of(anew, machine), now):
        onward, end = tuple(parts(schedule, anew, machine)), anew
    last = cycles_of(end, machine)
    if now < LEAST * last:
        return Plan((), 1.0, goal / max(now, 1.0), schedule)
    return Plan(onward, now / max(last, 1.0), goal / max(last, 1.0), end)


def best_of_sketches(schedule: Schedule, target: Target, machine: Machine) -> Schedule | None:
    """The fastest by the estimate of all sketches of the same computation, each with its favourite numbers."""
    found: list[tuple[float, int, Schedule]] = []
    for draft in sketches(Schedule(schedule.base, target), machine, rules=tuple(r for r in RULES if not r.custom)):
        pause()
        variant = Variant(0, draft.schedule, machine, draft.notes, draft.skips, draft.limits, draft.wishes)
        if (best := favourite(variant)) is not None:
            found.append((cycles_of(best, machine), len(found), best))
    return min(found)[2] if found else None


def parts(schedule: Schedule, goal: Schedule, machine: Machine) -> Iterator[Offer]:
    """Cut the way to a schedule into offers that each gain; what gains nothing alone goes with what follows it."""
    same = len(list(takewhile(lambda two: two[0] == two[1], zip(schedule.trace, goal.trace, strict=False))))
    without = tuple(range(same, len(schedule.trace)))
    before, group = cycles_of(schedule, machine), list[Primitive]()
    ready: list[Offer] = []
    for k in range(same, len(goal.trace)):
        group.append(goal.trace[k])
        after = cycles_of(goal.prefix(k + 1), machine)
        if before >= LEAST * after or k + 1 == len(goal.trace):
            ready.append(_offer(group, before / max(after, 1.0), () if ready else without))
            before, group = after, []
    if len(ready) > 1 and ready[-1].gain < LEAST:  # what is left over at the end
        last, left = ready[-2:]
        both = [*last.steps, *left.steps]
        ready[-2:] = [_offer(both, last.gain * left.gain, last.without)]
    yield from ready


def _offer(steps: Sequence[Primitive], gain: float, without: tuple[int, ...]) -> Offer:
    back = f"{len(without)} step{'s' if len(without) > 1 else ''} taken back: " if without else ""
    made = Offer(tuple(steps), gain, without=without, back=back)
    return replace(made, says=summary(steps)) if len(steps) > 1 else made
