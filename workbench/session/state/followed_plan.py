"""The whole plan that was told last: while somebody takes its rows, what is left of it is known."""

from __future__ import annotations

from workbench.advice.whole_plan import Plan, plan
from workbench.schedule import Schedule
from workbench.target import Target


class FollowedPlan:
    """Keeps one plan and the schedule that it is for. Only the lane of plans uses it."""

    def __init__(self) -> None:
        self._kept: tuple[Schedule, Target, str, Plan] | None = None

    def left(self, now: Schedule, target: Target, constants: str) -> Plan | None:
        """Return what is left of the plan for a schedule that its rows lead to; None where they do not."""
        if self._kept is None or self._kept[1:3] != (target, constants):
            return None
        start, *_, kept = self._kept
        return kept.left(start, now)

    def find(self, now: Schedule, target: Target, constants: str) -> Plan:
        """Look for a plan, and keep it."""
        found = plan(now, target, constants=constants)
        self._kept = (now, target, constants, found)
        return found
