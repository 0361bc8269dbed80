"""What an analyser says of a loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One instruction: cycles that each port is busy, cycles until its result is there (None: not known), whether it
    is on the longest chain from one iteration to the next, and whether the model knows it.
    """

    ports: Mapping[str, float]
    latency: float | None
    chain: bool
    known: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """A loop: a finding for each instruction, cycles of one iteration by port, the chain's latency; `simulated` are the
    cycles of an iteration where the analyser runs the loop on its model, else None.
    """

    analyser: str
    model: str
    instructions: tuple[Finding, ...]
    pressure: Mapping[str, float]
    latency: float
    simulated: float | None
