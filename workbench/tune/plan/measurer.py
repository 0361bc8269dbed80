"""The loop's measurer on this machine: schedules of a task go to the runtime's worker processes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import ContestRules, MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.runtime.workers.runner import Runner
from workbench.tune.options import TuneOptions

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


class Measurer(Protocol):
    """Builds, checks and times schedules of one task, in worker processes."""

    def start(self) -> None:
        """Begin to start the workers, without waiting for them."""

    def measure(self, task: Task, schedules: Iterable[Schedule], best_ms: float) -> Iterator[tuple[int, Measurement]]:
        """Yield (position, measurement) for each schedule, each as soon as it is known; `best_ms` is to be beaten.

        `schedules` may be made while they are asked for, in whichever thread does so.
        """

    def compare(self, task: Task, schedules: Sequence[Schedule], rules: ContestRules) -> Contest:
        """Time schedules against each other in turns, for as long as `rules` say; the first one is the incumbent."""

    def hold(self, on: bool) -> None:
        """Start no more work, or go on, from any thread; what has begun is finished."""

    def kill(self) -> None:
        """End all workers at once, from any thread; a running `measure` ends soon after."""

    def close(self) -> None:
        """Let the workers go."""


class LocalMeasurer:
    """Measures with a runner of the runtime.

    Parameters
    ----------
    target : Target
        What to compile for.
    options : TuneOptions
        How candidates are measured.
    seed : int
        Seed of the input data.
    runner : Runner, optional
        Who measures; a `LocalRunner` of its own when left out. `close` closes the own one, and gives back the lease of
        one that lends itself to several (a `DaskRunner`); any other is left to whoever has made it.
    """

    def __init__(self, target: Target, options: TuneOptions, seed: int = 0, runner: Runner | None = None) -> None:
        self._options = MeasureOptions(
            repeat=options.repeat,
            min_repeat_ms=options.min_repeat_ms,
            flush_cache=options.flush_cache,
            constants=options.constants or "near",
            timeout_s=options.timeout_s,
            seed=seed,
        )
        self._closes = runner is None or hasattr(type(runner), "lease")
        if runner is None:
            runner = LocalRunner(target, self._options, builders=options.builders)
        lease = getattr(type(runner), "lease", None)
        self._runner: Runner = runner if lease is None else lease(runner)

    def start(self) -> None:
        """Start the worker processes, without waiting for them: they come up while spaces are made."""
        start = getattr(self._runner, "start", None)
        if start is not None:
            start()

    def measure(self, task: Task, schedules: Iterable[Schedule], best_ms: float) -> Iterator[tuple[int, Measurement]]:
        """Yield (position, measurement) as each becomes known."""
        return self._runner.measure_many(_inputs(task, schedules, best_ms), self._options)

    def compare(self, task: Task, schedules: Sequence[Schedule], rules: ContestRules) -> Contest:
        """Let schedules of one task run against each other in turns; the first one is the incumbent.

        Returns
        -------
        Contest
            Its status is ``cancelled`` when the measurer was killed meanwhile.
        """
        return self._runner.contest(list(_inputs(task, schedules)), self._options, rules=rules)

    def hold(self, on: bool) -> None:
        """Start no more work, or go on."""
        self._runner.hold(on)

    def kill(self) -> None:
        """Kill all workers."""
        self._runner.cancel()

    def close(self) -> None:
        """Let the workers go, unless they belong to somebody else."""
        if self._closes:
            self._runner.close()


def _inputs(task: Task, schedules: Iterable[Schedule], best_ms: float = math.inf) -> Iterator[MeasureInput]:
    flops = int(task.flops)
    for schedule in schedules:
        yield MeasureInput(task.key, task.func, schedule.func, "kernel", flops, best_ms)
