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


#: What of a shared cache one network may hope for: others use it too, and large ones are told whole to every guest.
SHARED_BYTES = 64 << 20


def constants_of(tasks: Sequence[Task], target: Target) -> str:
    """Where the kernels of a network find their weights when it runs again and again; "near" for a single kernel."""
    if len(tasks) < 2:
        return "near"
    return "memory" if sum(t.weight * _weights(t) for t in tasks) > min(SHARED_BYTES, target.l3_bytes) else "shared"


def _weights(task: Task) -> int:
    """Bytes of constants that a kernel reads: of a table that it looks numbers up in, no more than it writes."""
    whole = sum(b.nbytes for b in task.func.params if b.role == "const")
    return min(whole, 4 * int(task.flops) + sum(b.nbytes for b in task.func.outputs))


class LocalMeasurer:
    """Measures with a `LocalRunner` of its own; a `Measurer` of `workbench.tune.loop`."""

    def __init__(self, target: Target, options: TuneOptions, seed: int = 0) -> None:
        measure_options = MeasureOptions(
            repeat=options.repeat,
            min_repeat_ms=options.min_repeat_ms,
            flush_cache=options.flush_cache,
            constants=options.constants or "near",
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
