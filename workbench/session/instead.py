"""Legal steps that do what a refused one was meant to do, and are not much slower than what is there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.analysis.cures import marking, replayed
from workbench.analysis.offered import Offered
from workbench.analysis.touched import itemsize
from workbench.errors import WorkbenchError
from workbench.ir.compact import compact
from workbench.schedule.primitive import registry
from workbench.schedule.rewrite import fresh_names
from workbench.session.estimates import estimated
from workbench.session.palette import say
from workbench.session.ways import Wanted, elsewhere, ways

if TYPE_CHECKING:
    from workbench.analysis import Estimate
    from workbench.analysis.ways import Way
    from workbench.ir.func import Func
    from workbench.schedule import Schedule
    from workbench.schedule.moves import Move
    from workbench.schedule.primitive import Primitive
    from workbench.target import Target

MOST = 3
"""Ways that are offered."""

TRIED = 16
"""Ways that are tried to find them."""

SLOWER = 1.2
"""How much longer than the schedule as it is one may take, by the estimate: nobody wants to be led into a worse one."""

LARGER = 4
"""How much more memory than the buffers of the computation as written the buffers after it may take."""


@dataclass(frozen=True, slots=True)
class Offer(Offered):
    """A way to what was meant.

    Attributes
    ----------
    estimate : Estimate or None
        Of the schedule after all of the steps; None where a choice of structure is open.
    back : tuple of Primitive
        The steps that are taken back.
    """

    steps: tuple[Primitive, ...]
    estimate: Estimate | None
    without: tuple[int, ...] = ()
    back: tuple[Primitive, ...] = ()

    def __str__(self) -> str:
        taken = [f"take {', '.join(map(say, self.back))} back"] if self.back else []
        return ", then ".join([*taken, *map(say, self.steps)])

    def told(self) -> dict[str, Any]:
        """Return the estimate."""
        return {"est": None if self.estimate is None else self.estimate.to_json()["ms"]}


def instead(view: Schedule, move: Move, target: Target | None = None, peak: float | None = None) -> tuple[Offer, ...]:
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
    """
    from workbench.target import Target as TargetType

    if move.legal:
        return ()
    machine = target or view.target or TargetType.host()
    trial = _Trial(view, move, machine, peak)
    wanted = Wanted(view, move, machine)
    found = trial.good(ways(wanted, move.code))
    if len(found) < MOST:
        found += [one for one in trial.good(elsewhere(wanted)) if one not in found]
    if not found:
        found = trial.unmarked()
    return tuple(found[:MOST])


class _Trial:
    """Takes ways on copies of a schedule."""

    def __init__(self, view: Schedule, move: Move, target: Target, peak: float | None) -> None:
        self._view, self._refused, self._target, self._peak = view, move.step, target, peak
        before = self._estimate(view)
        self._longest = math.inf if before is None else SLOWER * before.cycles
        self._largest = max(LARGER * _bytes(view.base), _bytes(view.func))

    def good(self, found: Iterator[Way]) -> list[Offer]:
        """Return those that are legal and worth it, the fastest first."""
        tried = dict.fromkeys(itertools.islice(found, TRIED))
        good = [offer for steps in tried if (offer := self._offer(steps)) is not None]
        return sorted(good, key=lambda one: 0.0 if one.estimate is None else one.estimate.cycles)

    def unmarked(self) -> list[Offer]:
        """Return the refused step itself where a mark of an earlier one is all that is in its way, with the mark on the
        part of the loop that it makes. It may be slower: who takes a mark back knows that this step is not the last.
        """
        self._longest = math.inf
        step, func = self._refused, self._view.func
        loops = [name for value in step.args.values() for name in (value if isinstance(value, tuple) else (value,))]
        places = marking(self._view, [name for name in loops if isinstance(name, str)])
        if not places or step in (self._view.trace[k] for k in places):
            return []
        back = tuple(self._view.trace[k] for k in places)
        found: list[Offer | None] = []
        if step.name == "split" and len(back) == 1:
            outer, *_, inner = fresh_names(func, [f"{step.args['loop']}.{k}" for k in range(len(step.args["factors"]))])
            again = registry[back[0].name].make(outer if back[0].name == "parallel" else inner)
            found.append(self._offer((step, again), places))
        if found in ([], [None]):
            found = [self._offer((step,), places)]
        return [replace(one, without=places, back=back) for one in found if one is not None]

    def _offer(self, steps: Way, without: tuple[int, ...] = ()) -> Offer | None:
        if steps[0] == self._refused and not without:
            return None
        try:
            after = replayed(self._view, without) if without else self._view.copy()
            for step in steps:
                after.apply(step)
        except WorkbenchError:
            return None
        if _bytes(after.func) > self._largest:
            return None
        after_all = self._estimate(after)
        if after_all is None and self._longest < math.inf:  # no numbers fit any more
            return None
        return None if after_all is not None and after_all.cycles > self._longest else Offer(steps, after_all)

    def _estimate(self, schedule: Schedule) -> Estimate | None:
        """Estimate a schedule, but not one that stands for several nests: each would have to be made first."""
        if any(step.open_choices() for step in schedule.trace):
            return None
        return estimated(schedule, self._target, self._peak)


def _bytes(func: Func) -> int:
    """Bytes of all buffers, temporaries as small as they can be kept; those whose size is open are left out."""
    total = 0
    for buffer in compact(func).buffers:
        sizes = [n for n in buffer.shape if isinstance(n, int)]
        total += math.prod(sizes) * itemsize(buffer.dtype) if len(sizes) == len(buffer.shape) else 0
    return total
