"""What a run writes down: lines of the log, each written before anything is told about it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.errors import TuneError
from workbench.log import Command, Comparison, NetworkTime, Record, Round
from workbench.log.ledger import same_conditions
from workbench.log.lines import INSIDE
from workbench.log.record import COSTS_KEPT, digits, outcome
from workbench.log.similar_tasks import differences
from workbench.tune.state.events import Event, EventKind

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.log import LogWriter
    from workbench.log.similar_tasks import NamedTask
    from workbench.runtime.results.contest import Contest
    from workbench.runtime.results.measurement import Measurement
    from workbench.schedule import Schedule
    from workbench.tune.state.run_state import RunState


class LogRecorder:
    """The one way by which lines get into the log and the run_state, from any thread.

    Parameters
    ----------
    writer : LogWriter or None
        None for a run without a log.
    publish : callable
        Gets the events.
    elapsed : callable
        Tuning time of the log in seconds.
    """

    def __init__(
        self,
        run_state: RunState,
        writer: LogWriter | None,
        publish: Callable[[Event], None],
        elapsed: Callable[[], float],
    ) -> None:
        self._run_state, self._writer, self._publish, self.elapsed = run_state, writer, publish, elapsed
        self._lock = threading.RLock()
        self._closed = False

    def write(self, line: Record | Comparison | Round | NetworkTime | Command) -> bool:
        """Write a line down and take it in; whether the task has another champion now."""
        with self._lock:
            if self._closed:
                raise TuneError("steer.ended", "The session has ended")
            if self._writer is not None:
                self._writer.append(line)
            before = self._champion(line)
            self._run_state.take(line)
            return self._champion(line) != before

    def _champion(self, line: Any) -> tuple[int, ...]:
        scheduler = self._run_state.scheduler
        states = zip(scheduler.tasks, scheduler.states, strict=True)
        return tuple(s.champion for t, s in states if t.key == getattr(line, "task_key", None))

    def drop(self, task_key: str, added: Mapping[str, Any]) -> None:
        """Give up a candidate by hand that cannot be measured; commands that add others come from any thread."""
        with self._lock:
            requests = self._run_state.requests[task_key]
            requests.added = [a for a in requests.added if a is not added]

    def tell(self, kind: EventKind, message: str = "", task: str | None = None, **more: Any) -> None:
        """Publish an event."""
        self._publish(Event(kind, self.elapsed(), message, task, **more))

    def close(self) -> None:
        """Write no more lines."""
        with self._lock:
            self._closed = True
            if self._writer is not None:
                self._writer.close()


@dataclass(frozen=True, slots=True)
class Stamp:
    """What all lines of a run have in common."""

    target: str
    host: str
    seed: int
    caches: str

    def own(self, line: Record | NetworkTime) -> bool:
        """Whether a trial, or the network, was measured under the same conditions."""
        return same_conditions(line, self.target, self.caches)

    def unlike(self, record: Record) -> str:
        """Say how a trial was measured that is not one of these."""
        if record.target == self.target:
            return f"with other caches ({record.caches} instead of {self.caches})"
        return f"for another target ({differences(record.target, self.target)})"


def trial_line(
    task: Task,
    candidate: Any,
    schedule: Schedule | None,
    measurement: Measurement | None,
    stamp: Stamp,
    *,
    error: str = "",
    **place: Any,
) -> Record:
    """Return the record of a trial; without a measurement it failed with `error` before anything was built.

    Parameters
    ----------
    place
        ``trial``, ``round``, ``space``, ``model`` and ``elapsed_s``.
    """
    known: dict[str, Any] = {"status": "build_error", "error": error}
    if measurement is not None:
        known = outcome(measurement)
    host = measurement.host if measurement is not None else ""
    return Record(
        task_key=task.key,
        task=task.name,
        description=task.description,
        weight=task.weight,
        flops=int(task.flops),
        target=stamp.target,
        host=host or stamp.host,
        variant=candidate.variant,
        row={name: int(value) for name, value in candidate.row.items()},
        trace=tuple(schedule.to_json()) if schedule is not None else (),
        key=candidate.key,
        origin=candidate.origin,
        parent=candidate.parent,
        mutation=candidate.mutation,
        seed=stamp.seed,
        caches=stamp.caches,
        predicted=None if candidate.predicted is None else digits(candidate.predicted, 6),
        timestamp=round(time.time(), 4),
        **{**place, "model": place.get("model") if candidate.predicted is not None else None},
        **known,
    )


def comparison_line(
    task: NamedTask, trials: Sequence[int], contest: Contest, reason: str, stamp: Stamp, **place: Any
) -> Comparison | None:
    """Return what a contest showed, or None when it shows nothing: nobody was timed.

    Parameters
    ----------
    trials : sequence of int
        The participants, the best so far first.
    place
        ``round`` and ``elapsed_s``.
    """
    timed = [i for i in range(len(trials)) if contest.costs_ms[i]]
    if not timed or len(trials) < 2:
        return None
    winner = contest.winner()
    if winner not in timed:
        return None
    best = winner if winner else min((i for i in timed if i), key=contest.ratio, default=1)
    ratio = contest.ratio(best)
    latencies = tuple(digits(contest.latency_ms(i)) for i in range(len(trials)))
    return Comparison(
        task_key=task.key,
        task=task.name,
        trials=tuple(trials),
        costs_ms=tuple(tuple(digits(c, 6) for c in costs[:COSTS_KEPT]) for costs in contest.costs_ms),
        # Times inside a network say who is faster; they are no times of a kernel alone, as all others are.
        latency_ms=(math.nan,) * len(trials) if reason == INSIDE else latencies,
        ratio=digits(ratio) if math.isfinite(ratio) and ratio > 0 else None,
        confidence=digits(contest.confidence(best)),
        winner=trials[winner],
        reason=reason,
        clean=contest.clean,
        why_not=contest.why_not,
        host=contest.measurements[winner].host or stamp.host,
        timestamp=round(time.time(), 4),
        **place,
    )
