"""The loop's measurer on this machine: schedules of a task go to the runtime's worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.runtime.measure import LocalRunner, MeasureInput
from workbench.runtime.results import Measurement, MeasureOptions
from workbench.tune.loop import TuneOptions

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.schedule import Schedule
    from workbench.target import Target


class LocalMeasurer:
    """Measures with a `LocalRunner` of its own; a `Measurer` of `workbench.tune.loop`."""

    def __init__(self, target: Target, options: TuneOptions, seed: int = 0) -> None:
        measure_options = MeasureOptions(
            repeat=options.repeat,
            min_repeat_ms=options.min_repeat_ms,
            flush_cache=options.flush_cache,
            timeout_s=options.timeout_s,
            seed=seed,
        )
        self._runner = LocalRunner(target, measure_options, builders=options.builders)

    def measure(self, task: Task, schedules: Sequence[Schedule], best_ms: float) -> Iterator[tuple[int, Measurement]]:
        """Yield (position, measurement) as each becomes known."""
        inputs = [
            MeasureInput(task.key, task.func, schedule.func, "kernel", int(task.flops), best_ms)
            for schedule in schedules
        ]
        return self._runner.measure_many(inputs)

    def hold(self, on: bool) -> None:
        """Start no more work, or go on."""
        self._runner.hold(on)

    def kill(self) -> None:
        """Kill all workers."""
        self._runner.cancel()

    def close(self) -> None:
        """Let the workers go."""
        self._runner.close()
