"""Which chart is on show, and whether the roofs that one of them needs are known."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.analysis.figures.roofline import stored_roofs, working_sets
from workbench.target import Target

CHARTS = ("tuning", "roofline")


@dataclass(frozen=True, slots=True)
class ChartChoice:
    """The chart on show; `wide` when its plots stand around the task table."""

    name: str = "tuning"
    wide: bool = False

    @property
    def roofline(self) -> bool:
        """Whether it is the one of the variants and trials under the machine's roofs."""
        return self.name == "roofline"


def known_roofs(target: Target) -> str:
    """Return "stored" where every roof of memory was measured on this machine, else "none"."""
    return "stored" if stored_roofs(target).keys() == working_sets(target).keys() else "none"
