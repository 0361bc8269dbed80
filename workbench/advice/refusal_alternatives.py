"""Legal steps that do what a refused one was meant to do, and are not much slower than what is there."""

from __future__ import annotations

import math
from collections.abc import Iterator

import workbench.advice.refusal_proposers  # noqa: F401  (declares the proposers)
from workbench.advice.offer import Offer, marking
from workbench.advice.proposal_evaluation import Trial
from workbench.advice.proposals import ELSE, Case, Proposal, proposals
from workbench.advice.step_text import named, say
from workbench.analysis import Estimate
from workbench.analysis.loop_nest.schedule_estimate import estimated
from workbench.ir import Func
from workbench.ir.compact_temporaries import compact
from workbench.ir.dtypes import itemsize
from workbench.schedule import Schedule
from workbench.schedule.legal_moves import Move
from workbench.schedule.nest_rewrites import fresh_names
from workbench.schedule.primitive import Primitive, registry
from workbench.target import Target

#: Ways that are offered. Chosen by eye.
MOST = 3

#: Times as long as the schedule as it is that a way may take by the estimate: nobody wants to be led into a worse one.
#: Chosen, not measured.
SLOWER = 1.2

#: Times the memory of the computation as written that the buffers after it may take. Chosen, not measured.
LARGER = 4


def instead(
    view: Schedule, move: Move, target: Target | None = None, peak: float | None = None, constants: str = "near"
) -> tuple[Offer, ...]:
    """Look for legal ways to what a refused step was meant to do, the fastest by the estimate first; at most three.

    Ways that make the schedule much slower, or need much more memory than the computation has, are left out.

    Parameters
    ----------
    view : Schedule
        Stays as it is.
    move : Move
        What was refused; nothing stands instead of a legal move.
    target : Target, optional
        That of the schedule, else this machine.
    peak : float, optional
        Multiply-add rate of one core; what was measured before when left out.
    constants : str
        Where a call finds its constants.
    """
    if move.legal:
        return ()
    machine = target or view.target or Target.host()
    trial = _AlternativeTrial(view, move.step, machine, peak, constants)
    case = Case(view, machine, step=move.step)
    found = trial.fastest(proposals(case, move.code, move.primitive))
    if len(found) < MOST:
        found += [one for one in trial.fastest(proposals(case, ELSE.format(move.primitive))) if one not in found]
    if not found:
        found = trial.offers(_marked_again(case)) or trial.offers(_unmarked(case))
    return tuple(found[:MOST])


class _AlternativeTrial(Trial):
    """Takes what may stand in the place of a refused step."""

    def __init__(self, view: Schedule, refused: Primitive, target: Target, peak: float | None, constants: str) -> None:
        super().__init__(view, target, constants)
        self._refused, self._peak, self._constants = refused, peak, constants
        before = self._estimate(view)
        self._longest = math.inf if before is None else SLOWER * before.cycles
        self._largest = max(LARGER * _bytes(view.base), _bytes(view.func))

    def fastest(self, found: Iterator[Proposal]) -> list[Offer]:
        """Return those that are legal and worth it, the fastest first."""
        return sorted(self.offers(found), key=lambda one: 0.0 if one.estimate is None else one.estimate.cycles)

    def judge(self, proposal: Proposal, steps: tuple[Primitive, ...], after: Schedule, says: str) -> Offer | None:
        """Leave out what is another word for the refused step, much slower, or much larger.

        After a mark was taken back it may be slower: who does that knows that this step is not the last.
        """
        longest = math.inf if proposal.without else self._longest
        if (steps[0] == self._refused and not proposal.without) or _bytes(after.func) > self._largest:
            return None
        found = self._estimate(after)
        if found is None and longest < math.inf:  # no numbers fit any more
            return None
        if found is not None and found.cycles > longest:
            return None
        return Offer(steps, estimate=found, without=proposal.without, back=proposal.back)

    def _estimate(self, schedule: Schedule) -> Estimate | None:
        """Estimate a schedule, but not one that stands for several nests: each would have to be made first."""
        if any(step.open_choices() for step in schedule.trace):
            return None
        return estimated(schedule, self.target, self._peak, self._constants)


def _marks(case: Case) -> tuple[int, ...]:
    """Return the places of the steps whose marks are in the way of the refused one; none where it is one of them."""
    places = marking(case.schedule, list(named(case.refused)))
    return () if case.refused in (case.schedule.trace[k] for k in places) else places


def _unmarked(case: Case) -> Iterator[Proposal]:
    """The refused step itself where a mark of an earlier one is all that is in its way."""
    if places := _marks(case):
        yield Proposal((case.refused,), without=places, back=_taken_back(case, places))


def _marked_again(case: Case) -> Iterator[Proposal]:
    """A refused split, with the mark that was in its way on the part of the loop that it makes."""
    places, step = _marks(case), case.refused
    if step.name == "split" and len(places) == 1:
        mark = case.schedule.trace[places[0]].name
        outer, *_, inner = fresh_names(
            case.func, [f"{step.args['loop']}.{k}" for k in range(len(step.args["factors"]))]
        )
        again = registry[mark].make(outer if mark == "parallel" else inner)
        yield Proposal((step, again), without=places, back=_taken_back(case, places))


def _taken_back(case: Case, places: tuple[int, ...]) -> str:
    return f"take {', '.join(say(case.schedule.trace[k]) for k in places)} back, then "


def _bytes(func: Func) -> int:
    """Bytes of all buffers, temporaries as small as they can be kept; those whose size is open are left out."""
    total = 0
    for buffer in compact(func).buffers:
        sizes = [n for n in buffer.shape if isinstance(n, int)]
        total += math.prod(sizes) * itemsize(buffer.dtype) if len(sizes) == len(buffer.shape) else 0
    return total
