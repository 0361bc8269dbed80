"""The loop that judges proposals: each is taken on a copy of the schedule and estimated; what gains is offered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workbench.advice.offer import Offer, replayed
from workbench.cooperative_yield import pause
from workbench.errors import WorkbenchError
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.primitive import Primitive
from workbench.target import Target

if TYPE_CHECKING:
    from workbench.advice.proposals import Proposal

#: Ways that are tried for one reason or refusal; recipes, which are few, do not count. Chosen, not measured;
#: `bench_advice` tells what comes of it.
TRIED = 16


class Trial(ABC):
    """Takes proposals on copies of a schedule.

    Parameters
    ----------
    schedule : Schedule
        Stays as it is.
    target : Target
    constants : str
        Where a call finds its constants.
    """

    def __init__(self, schedule: Schedule, target: Target, constants: str = "near") -> None:
        self.schedule, self.target, self.machine = schedule, target, Machine.of(target, constants)
        self._known: dict[tuple[Any, ...], Offer | None] = {}

    @abstractmethod
    def judge(self, proposal: Proposal, steps: tuple[Primitive, ...], after: Schedule, says: str) -> Offer | None:
        """Return the offer that a proposal makes; None where the schedule after it is not worth it."""

    def offers(self, proposals: Iterable[Proposal]) -> list[Offer]:
        """Return the offers of proposals, each once."""
        found: dict[tuple[Any, ...], Offer] = {}
        ways = 0
        for one in proposals:
            ways += bool(one.recipe is None and not one.without)
            if (one.recipe is None and not one.without and ways > TRIED) or one.key in found:
                continue
            if (offer := self.offer(one)) is not None:
                found[one.key] = offer
        return list(found.values())

    def offer(self, proposal: Proposal) -> Offer | None:
        """Take a proposal, once; return its offer, None where it is not legal or not worth it."""
        if proposal.key not in self._known:
            pause()
            try:
                after = replayed(self.schedule, proposal.without) if proposal.without else self.schedule.copy()
                before = len(after.trace)
                says = proposal.take(after)
                self._known[proposal.key] = self.judge(proposal, proposal.steps or after.trace[before:], after, says)
            except WorkbenchError:
                self._known[proposal.key] = None
        return self._known[proposal.key]
