"""Steps against what takes the time: each is taken on a copy and estimated, and only what gains by it is told."""

from __future__ import annotations

import workbench.advice.device_proposers
import workbench.advice.reason_proposers  # noqa: F401  (these two declare the proposers)
from workbench.advice.offer import Offer
from workbench.advice.proposal_evaluation import Trial
from workbench.advice.proposals import ELSE, Case, Proposal, proposals
from workbench.analysis.loop_nest.schedule_estimate import cycles_of, evaluated
from workbench.errors import WorkbenchError
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.primitive import Primitive
from workbench.space.shared_steps.register_tiles import MAX_BODY
from workbench.target import Target

#: Times as fast by the estimate as which a schedule has to be after an offer. Chosen, not measured: the estimate knows
#: no less.
LEAST = 1.05

#: Times as fast as which it has to stay after a step that may pay with the one behind it. Chosen, not measured;
#: `bench_advice` tells what comes of it.
NEARLY = 0.7

#: Times faster that a way has to be than one of one step fewer to be told instead. Chosen, not measured; `bench_advice`
#: tells what comes of it.
SIMPLER = 1.25


def beside(
    schedule: Schedule, first: Offer | None, other: Offer | None, target: Target, constants: str = "near"
) -> bool:
    """Whether an offer is legal after another one, and still gains: the two do not pull apart."""
    if first is None or other is None or other.without:
        return False
    machine = Machine.of(target, constants)
    try:
        after = first.taken(schedule)
        return cycles_of(after, machine) >= LEAST * cycles_of(other.taken(after), machine)
    except WorkbenchError:
        return False


class SpeedupTrial(Trial):
    """Looks for steps that make one statement faster.

    Parameters
    ----------
    schedule : Schedule
        Without open numbers; stays as it is.
    block : str
        The statement that takes most of the time.
    target : Target
    constants : str
        Where a call finds its constants.
    """

    def __init__(self, schedule: Schedule, block: str, target: Target, constants: str = "near") -> None:
        super().__init__(schedule, target, constants)
        self._block = block
        self._before = cycles_of(schedule, self.machine)
        self._longest = max(MAX_BODY, self._body(schedule))

    def of(self, code: str, row: str) -> Offer | None:
        """Return the best offer against a reason, a short one before one that is little faster; None without any."""
        case = Case(self.schedule, self.target, row, self._block)
        # Another thread is offered whenever it is legal and no loss: the number says why it may not be worth it yet.
        least = 1.0 if code == "serial" else LEAST
        for answer in (code, ELSE.format(code)):
            found = [one for one in self.offers(proposals(case, answer)) if one.gain >= least]
            if found:
                return max(found, key=lambda one: one.gain / SIMPLER**one.length)
        return None

    def nearly(self) -> list[Offer]:
        """Return what was tried and neither gains nor loses much, the best first: another step may make it pay."""
        tried = [one for one in self._known.values() if one is not None and not one.without and not one.says]
        return sorted((one for one in tried if NEARLY < one.gain < LEAST), key=lambda one: -one.gain)

    def judge(self, proposal: Proposal, steps: tuple[Primitive, ...], after: Schedule, says: str) -> Offer | None:
        """Say how many times as fast it is; leave out what writes out more than compilers and caches like."""
        if self._body(after) > self._longest:
            return None
        gain = self._before / max(cycles_of(after, self.machine), 1.0)
        return Offer(steps, gain, without=proposal.without, back=proposal.back, says=says)

    def _body(self, schedule: Schedule) -> float:
        return max(float(facts.vectors[0]) for facts, _ in evaluated(schedule, self.machine))
