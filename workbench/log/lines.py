"""The lines of a tuning log beside header and trials: comparisons, rounds and commands.

Like `Record`, each dataclass below is the format of its kind of line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from workbench.forms import plain
from workbench.log.columns import Line, column, unknown_fields
from workbench.log.record import Record

INSIDE = "inside the network"
"""Reason of comparisons in runs of the whole network, of a task's last candidates: their times are of another place."""

PLAUSIBLE = (0.25, 4.0)
"""Times as long as alone that a call may take inside the network, at least and at most. Chosen: what lies in the caches
makes two or three of it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Line):
    """Candidates of one task that were timed in alternation, so that what changes with time meets all of them."""

    kind: ClassVar[str] = "comparison"

    task_key: str = column("structural key of the task")
    task: str = column("readable name of the task")
    round: int = column("round of the task after which it took place", default=0)
    trials: tuple[int, ...] = column("trial numbers of the participants, the best so far first")
    costs_ms: tuple[tuple[float, ...], ...] = column(
        "timed repeats of each participant in milliseconds; repeats of the same position were neighbours in time",
        default=(),
    )
    latency_ms: tuple[float, ...] = column(
        "least repeat of each participant in milliseconds; null for one that failed", gaps=True
    )
    ratio: float | None = column(
        "median, over pairs of neighbouring repeats, of the time of the winner over the time of the best so far; when"
        " the best so far won, that of the best challenger",
        default=None,
    )
    confidence: float | None = column("how sure it is that the best challenger is faster, 0 to 1", default=None)
    winner: int = column("trial number of the participant that is the best from now on")
    reason: str = column("why they were compared: new best, play-off, or by hand", default="")
    clean: bool = column(
        "whether the repeats were timed undisturbed; a comparison that was not decides nothing", default=True
    )
    why_not: str = column("what disturbed the repeats, in words; empty where nothing did", default="")
    host: str = column("machine that measured", default="")
    elapsed_s: float = column("tuning time of this log when the comparison ended, in seconds", default=0.0)
    timestamp: float = column("seconds since the epoch when the comparison ended", default=0.0)
    extra: Mapping[str, Any] = unknown_fields()

    @property
    def losers(self) -> tuple[int, ...]:
        """Trial numbers of the participants that the winner was preferred to."""
        return tuple(trial for trial in self.trials if trial != self.winner)

    @property
    def new_best(self) -> bool:
        """Whether a challenger won."""
        return bool(self.trials) and self.winner != self.trials[0]

    def latency_of(self, trial: int) -> float | None:
        """Return the least repeat of a participant in milliseconds; None for others."""
        found = [ms for number, ms in zip(self.trials, self.latency_ms, strict=False) if number == trial]
        return found[0] if found and 0 < found[0] < math.inf else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Round(Line):
    """One round: why the task was chosen, what its trials brought, how good the model was and where the time went."""

    kind: ClassVar[str] = "round"

    round: int = column("running number of the round in this log, from 0")
    task_key: str = column("structural key of the task")
    task: str = column("readable name of the task")
    trials: int = column("trials that the round measured", default=0)
    best_ms: float | None = column("latency of the task's best after the round, in milliseconds", default=None)
    total_ms: float | None = column(
        "sum over all tasks of weight times latency after the round, in milliseconds; null while a task has none",
        default=None,
    )
    reason: str = column("why the scheduler chose the task", default="")
    gain: float | None = column(
        "gain that the scheduler expected of the round, in the objective's unit; without one, in ms of the sum"
        " of weight times latency",
        default=None,
    )
    backward: float | None = column("its part from the gains of the last rounds", default=None)
    optimism: float | None = column("its part from what is left if trials go on to pay", default=None)
    similarity: float | None = column("its part from the speed of similar tasks", default=None)
    epsilon: float | None = column("share of candidates drawn at random, 0 to 1", default=None)
    tau: float | None = column(
        "Kendall's rank correlation of predictions and measurements on candidates not trained on, -1 to 1",
        default=None,
    )
    spearman: float | None = column("Spearman's rank correlation on the same candidates, -1 to 1", default=None)
    model: str | None = column("version of the cost model that predicted", default=None)
    ask_s: float = column("time to propose the candidates, in seconds", default=0.0)
    tell_s: float = column("time to learn from the results, in seconds", default=0.0)
    measure_s: float = column("time to build and measure, in seconds", default=0.0)
    elapsed_s: float = column("tuning time of this log when the round ended, in seconds", default=0.0)
    timestamp: float = column("seconds since the epoch when the round ended", default=0.0)
    extra: Mapping[str, Any] = unknown_fields()


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTime(Line):
    """What the whole network takes, measured: with its default schedules and with the best ones so far, in turns."""

    kind: ClassVar[str] = "network"

    measured_ms: float = column("median time of a run with the best schedules so far, in milliseconds", positive=True)
    untuned_ms: float = column("the same with default schedules", positive=True)
    sum_of_kernels_ms: float | None = column(
        "sum over all tasks of weight times latency when it was measured: kernels timed alone", default=None
    )
    spread: float | None = column("relative spread of the runs", default=None)
    untuned_spread: float | None = column("the same of those with default schedules", default=None)
    clean: bool = column(
        "whether every run that counts had all its threads on cores of their own; where not, the least time was taken",
        default=True,
    )
    why_not: str = column("what disturbed the runs, in words; empty where nothing did", default="")
    at_least_ms: float = column("how long a run takes at least where runs were disturbed", default=0.0)
    inside_ms: Mapping[str, float] = column(
        "key of each task -> milliseconds of one of its calls inside the network", default_factory=dict
    )
    alone_ms: Mapping[str, float] = column(
        "key of each task -> the same of the schedule that ran inside, timed alone", default_factory=dict
    )
    caches: str = column("what the kernels found in the caches that were timed alone, see `trial`", default="")
    threads: int = column("threads that the network had", default=0)
    trials: int = column("trials of the log when it was measured", default=0)
    reason: str = column("why it was measured", default="")
    target: str = column("the target, in its text form", default="")
    host: str = column("machine that measured", default="")
    elapsed_s: float = column("tuning time of this log when it was measured, in seconds", default=0.0)
    timestamp: float = column("seconds since the epoch when it was measured", default=0.0)
    extra: Mapping[str, Any] = unknown_fields()

    def stretched(self) -> dict[str, float]:
        """Return how many times as long as alone a call of each task takes inside the network, where both are known.

        What lies outside of `PLAUSIBLE` is left out: one of the two was disturbed, or is of another schedule.
        """
        inside, alone = self.inside_ms, self.alone_ms
        found = {key: inside[key] / alone[key] for key in inside if inside[key] > 0.0 < alone.get(key, 0.0)}
        return {key: ratio for key, ratio in found.items() if PLAUSIBLE[0] <= ratio <= PLAUSIBLE[1]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Line):
    """A command that steered the run, and what became of it."""

    kind: ClassVar[str] = "command"

    id: str = column("identifier that whoever sent it waits for", default="")
    name: str = column("name of the command, as in `session.steer`; `start` where a run begins, with what it was given")
    args: Mapping[str, Any] = column("its arguments by name", default_factory=dict)
    source: str = column("python, widget, control file, command line or sidebar", default="python")
    accepted: bool = column("whether it took effect", default=True)
    error: str = column("why it was refused, in full; empty when it was not", default="")
    elapsed_s: float = column("tuning time of this log when it took effect, in seconds", default=0.0)
    timestamp: float = column("seconds since the epoch when it took effect", default=0.0)
    extra: Mapping[str, Any] = unknown_fields()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line of a kind that a newer version has added, kept as it is."""

    data: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The name of the kind."""
        return str(self.data.get("kind"))

    def to_json(self) -> dict[str, Any]:
        """Return the line's JSON object."""
        return {name: plain(value) for name, value in self.data.items()}


AnyLine: TypeAlias = Record | Comparison | Round | NetworkTime | Command | Unknown
"""Every line of a log but its header."""

KINDS: dict[str, type[Record | Comparison | Round | NetworkTime | Command]] = {
    line.kind: line for line in (Record, Comparison, Round, NetworkTime, Command)
}
"""The kinds of lines by the name that their key `kind` holds."""


def parse_line(data: Mapping[str, Any], where: str = "") -> AnyLine:
    """Return the line that a JSON object is; a line without `kind` is a trial.

    Raises
    ------
    LogError
        ``log.corrupt`` when a field is missing or unusable.
    """
    kind = data.get("kind", Record.kind)
    cls = KINDS.get(kind) if isinstance(kind, str) else None
    return Unknown(dict(data)) if cls is None else cls.from_json(data, where)
