"""What measures candidates, wherever it does so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import ContestRules, MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.batch import MeasureInput


class Runner(Protocol):
    """Who builds, checks and times candidates: `LocalRunner`, or anything else with these methods.

    All of them may be called from any thread. One batch or contest is worked on at a time; a second one waits.
    """

    def measure_many(
        self, inputs: Iterable[MeasureInput], options: MeasureOptions | None = None
    ) -> Iterator[tuple[int, Measurement]]:
        """Begin at once, and yield (index, measurement) for every candidate, each once, in any order.

        What goes wrong with a candidate is the status of its measurement, with the full text; an exception means that
        nothing can be measured at all. After `cancel` the iterator ends. Closing it early gives up the rest.
        """

    def contest(
        self, inputs: Sequence[MeasureInput], options: MeasureOptions | None = None, rules: ContestRules | None = None
    ) -> Contest:
        """Time candidates of one task in alternating blocks, on one machine; the first one is the incumbent.

        `rules` say for how long; ``ContestRules()`` when they are left out.
        """

    def hold(self, on: bool) -> None:
        """Start no more work, or go on; what has begun is finished."""

    def cancel(self) -> None:
        """Throw away what is running, at once. The runner can be used again."""

    def close(self) -> None:
        """Let go of processes and connections; harmless when repeated."""
