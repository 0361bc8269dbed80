"""From a record back to a schedule, and from a log back to its measurements."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.errors import LogError, WorkbenchError
from workbench.log.reader import Log, load_log
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.schedule import Schedule

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.ir import Func
    from workbench.log.lines import Comparison
    from workbench.log.record import Record
    from workbench.runtime.results.measure_options import ContestRules


def schedule_of(task: Task | Func, record: Record) -> Schedule:
    """Return the schedule that a record describes, as an editable value.

    Raises
    ------
    LogError
        ``log.replay`` when the trace does not apply to the task: the log was changed by hand, or comes from a version
        whose primitives worked differently.
    """
    try:
        return Schedule.from_json(task, list(record.trace))
    except WorkbenchError as error:
        place = [f"trial {record.trial}", record.task]
        hint = "the log was changed, or was written by another version; tune this task again"
        raise LogError("log.replay", f"The schedule in the log does not apply: {error.message}", place, hint) from error


class ReplayMeasurer:
    """Answers with what a log says instead of measuring; a `Measurer` of `workbench.tune.plan.measurer`.

    A search with the seed of the log proposes the same candidates again, since all that it learns from is the same. A
    candidate or comparison that is not in the log is answered with the status ``cancelled``, which ends a round.

    Parameters
    ----------
    log : path or Log

    Attributes
    ----------
    missing : list of (str, str)
        Task key and trace (as JSON) of each candidate that was asked for and is not in the log.
    answered : list of int
        Trial numbers in the order in which they were asked for.
    """

    def __init__(self, log: str | os.PathLike[str] | Log) -> None:
        read = log if isinstance(log, Log) else load_log(log)
        self.missing: list[tuple[str, str]] = []
        self.answered: list[int] = []
        self._records: dict[tuple[str, str], list[Record]] = {}
        names: dict[int, tuple[str, str]] = {}
        for record in read.records:
            name = (record.task_key, _text(record.trace))
            names.setdefault(record.trial, name)  # comparisons mean the first of its number
            if record.status != "cancelled":
                self._records.setdefault(name, []).append(record)
        self._comparisons: dict[tuple[tuple[str, str], ...], list[Comparison]] = {}
        for item in read.comparisons:
            if all(trial in names for trial in item.trials):
                self._comparisons.setdefault(tuple(names[trial] for trial in item.trials), []).append(item)

    def start(self) -> None:
        """Nothing to start."""

    def measure(self, task: Task, schedules: Sequence[Schedule], best_ms: float) -> Iterator[tuple[int, Measurement]]:
        """Yield (position, measurement) for each schedule, in their order."""
        for position, schedule in enumerate(schedules):
            name = (task.key, _text(schedule.to_json()))
            if name in self._records:
                record = _next(self._records[name])
                self.answered.append(record.trial)
                yield position, measurement_of(record)
            else:
                self.missing.append(name)
                yield position, Measurement(status="cancelled")

    def compare(self, task: Task, schedules: Sequence[Schedule], rules: ContestRules | None = None) -> Contest:
        """Return the contest of these schedules, in this order, that the log holds, however long it was."""
        found = self._comparisons.get(tuple((task.key, _text(s.to_json())) for s in schedules))
        if not found:
            return Contest(measurements=tuple(Measurement(status="cancelled") for _ in schedules))
        item = _next(found)
        results = []
        timed = [*item.costs_ms, *[()] * len(item.trials)]
        for trial, costs in zip(item.trials, timed, strict=False):
            found_ms = item.latency_of(trial)
            if costs and found_ms is not None:
                known = Measurement(status="ok", costs_ms=costs, flops=int(task.flops), why_not=item.why_not)
                near = abs(known.ms - found_ms) <= _ROUNDED * found_ms
                results.append(replace(known, costs_ms=_exact(costs, found_ms)) if near else known)
            else:
                results.append(Measurement(status="run_error", error="it failed in the comparison of the log"))
        return Contest(measurements=tuple(results))

    def hold(self, on: bool) -> None:
        """Nothing runs that could be held."""

    def kill(self) -> None:
        """Nothing runs that could be killed."""

    def close(self) -> None:
        """Nothing is open."""


def measurement_of(record: Record) -> Measurement:
    """Return the measurement that a record was made of, as far as the record holds it."""
    costs, ms = record.costs_ms, record.latency_ms
    if ms is not None and record.clean:  # in logs from before the median was the latency: in proportion
        costs = _exact([c * ms / statistics.median(costs) for c in costs] or [ms], ms)
    return Measurement(
        status="run_error" if record.status == "ok" and not costs else record.status,  # type: ignore[arg-type]
        costs_ms=costs,
        error=record.error,
        flops=record.flops,
        compile_s=record.compile_s,
        run_s=record.run_s,
        max_rel_error=record.max_rel_error,
        why_not=record.why_not,
        at_least_ms=record.at_least_ms,
    )


#: By so much of themselves the repeats of a log differ from what they were. Computed: six digits are written.
_ROUNDED = 1e-5


def _exact(costs: Sequence[float], ms: float) -> tuple[float, ...]:
    """Move the middle of repeats, which were rounded for the log, so that their median is exact; others that are alike
    stay on their side of it.
    """
    order, half = sorted(range(len(costs)), key=costs.__getitem__), (len(costs) - 1) // 2
    upper = ms if len(costs) % 2 else 2.0 * ms - min(costs[order[half]], ms)
    lower = 2.0 * ms - upper  # exact, as is their sum
    out = {i: min(costs[i], lower) for i in order[:half]} | {i: max(costs[i], upper) for i in order[half:]}
    out |= {order[len(costs) // 2]: upper, order[half]: lower}
    return tuple(out[i] for i in range(len(costs)))


def _text(trace: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps([dict(step) for step in trace], sort_keys=True)


def _next(found: list[Any]) -> Any:
    """Take what was measured several times in its order; the last one stays."""
    return found.pop(0) if len(found) > 1 else found[0]
