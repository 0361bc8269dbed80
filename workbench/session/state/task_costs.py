"""What each task takes of the whole model: as it was measured, or, while a task has no time, as it is estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.log.weighted_latency import Calls

if TYPE_CHECKING:
    from workbench.session.state.session_state import SessionState


def measured(state: SessionState) -> Calls:
    """Weight and best time of each task, timed alone; None where there is none."""
    bests = (state.best(i) for i in range(len(state.infos)))
    return [(info.weight, best.ms if best else None) for info, best in zip(state.infos, bests, strict=True)]


def inside(state: SessionState) -> Calls:
    """The same, each as long as it took inside the network where that was measured."""
    network = state.stats.ledger.network
    longer = network.stretched() if network is not None else {}
    of = zip(state.infos, measured(state), strict=True)
    return [(weight, None if ms is None else ms * longer.get(info.key, 1.0)) for info, (weight, ms) in of]


def estimated(state: SessionState) -> tuple[Calls, bool]:
    """Weight and time of each task, estimated without tuning where there is none, and whether that is in milliseconds.

    Where the clock is not known it is in cycles, estimated of all: these can be compared with each other only.
    """
    found = [state.estimates.untuned(info.key) for info in state.infos]
    of = list(zip(measured(state), found, strict=True))
    mixed = [(weight, one.ms if ms is None and one else ms) for (weight, ms), one in of]
    if all(ms is not None for _, ms in mixed):
        return mixed, True
    return [(weight, one.cycles if one else None) for (weight, _), one in of], False


def costliest(state: SessionState) -> int | None:
    """Return the task that takes most of the model; None while that is not known of all."""
    calls = inside(state)
    if any(ms is None for _, ms in calls):
        calls, _ = estimated(state)
    costs = [weight * ms for weight, ms in calls if ms is not None]
    return costs.index(max(costs)) if costs and len(costs) == len(calls) else None


def at_first(state: SessionState) -> int:
    """Return the task to show until it is known which one takes most: that with the most arithmetic in the model."""
    return max(range(len(state.infos)), key=lambda i: state.infos[i].weight * state.infos[i].flops)


def settle(state: SessionState) -> None:
    """Show the task that takes most of the model, as soon as that is known, unless somebody has gone on already."""
    if not state.begun and (first := costliest(state)) is not None:
        state.begun = True
        state.open_task(first)
