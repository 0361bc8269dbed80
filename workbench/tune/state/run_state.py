"""Where a tuning run stands: everything that follows from the lines of its log.

A line is taken in by one function, whether it was just written or is read again after a kill. So a resumed run stands
where the killed one stood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from workbench.arguments import share
from workbench.errors import UsageError
from workbench.late_binding import Provided
from workbench.log import Command, Comparison, NetworkTime, Record, Round
from workbench.log.lines import AnyLine

if TYPE_CHECKING:
    from workbench.tune.state.task_scheduler import TaskLike, TaskScheduler


START = "start"
"""Name of the command that stands in the log where a run begins."""


@dataclass(slots=True)
class TaskRequests:
    """What a person has ruled out for one task, and added to it.

    Attributes
    ----------
    pins, forbids, variants
        Values that holes must have, values that they must not have, and variants that must not be tried.
    added : list of mapping
        Candidates by hand that are still to be measured: ``key``, and ``variant`` and ``row``, or ``trace``.
    version : int
        Grows with every change of what is ruled out.
    """

    pins: dict[str, int] = field(default_factory=dict)
    forbids: dict[str, set[int]] = field(default_factory=dict)
    variants: set[int] = field(default_factory=set)
    added: list[Mapping[str, Any]] = field(default_factory=list)
    version: int = 0

    def copy(self) -> TaskRequests:
        """Return a copy that nobody else changes."""
        forbids = {hole: set(values) for hole, values in self.forbids.items()}
        held = replace(self, pins=dict(self.pins), forbids=forbids, variants=set(self.variants))
        held.added = list(self.added)
        return held

    def without_rows(self) -> TaskRequests:
        """Return what is left of them in another space: the schedules by hand."""
        return TaskRequests(added=[a for a in self.added if a.get("variant") is None], version=self.version + 1)

    def held(self) -> list[tuple[str, dict[str, Any]]]:
        """Return what is ruled out, each in words and with the arguments of the command that releases it."""
        out: list[tuple[str, dict[str, Any]]] = [(f"{h} = {value}", {"hole": h}) for h, value in self.pins.items()]
        out += [(f"{h} ≠ {', '.join(map(str, sorted(vs)))}", {"hole": h}) for h, vs in self.forbids.items() if vs]
        return out + [(f"not sketch {v}", {"variant": v}) for v in sorted(self.variants)]

    def allow(self, variant: int, row: Mapping[str, int]) -> bool:
        """Whether a row may be tried."""
        if variant in self.variants:
            return False
        if any(hole in row and row[hole] != value for hole, value in self.pins.items()):
            return False
        return not any(row.get(hole) in values for hole, values in self.forbids.items())


@dataclass(slots=True)
class Budget:
    """How much may be tried: trials in all, and seconds of this run; None is without limit."""

    trials: int | None = None
    seconds: float | None = None


class RunState:
    """The run's state.

    Parameters
    ----------
    tasks : sequence of tasks
    scheduler : TaskScheduler
        Gets trials, comparisons and measurements of the network as they come.
    budget : Budget
        As the run was started; commands change it.
    epsilon : float
        The same.
    own : callable, optional
        Whether a trial, or the whole network, was measured as in this run: for the same target, with the same caches.
        Others are passed over, because latencies of different conditions cannot be compared.

    Attributes
    ----------
    lines, records, comparisons, rounds, commands : list
        All of them that are of times, in their order, and the lines by kind.
    foreign : list of Record
        Trials that were passed over.
    outdated : tuple of str
        Keys of the tasks of which the latest start has dropped what was pinned, forbidden or added as a row: it was
        said about another space.
    measured : dict of str to set of str
        Task key -> keys of the candidates that were tried.
    quality : dict of str to Round
        Task key -> its last round that knew how good the model is.
    requests : dict of str to TaskRequests
    next_trial, next_round : int
    elapsed_s : float
        Tuning time of the log.
    """

    def __init__(
        self,
        tasks: Sequence[TaskLike],
        scheduler: TaskScheduler,
        budget: Budget,
        epsilon: float,
        own: Callable[[Record | NetworkTime], bool] | None = None,
    ) -> None:
        self.scheduler, self.budget, self.epsilon, self._own = scheduler, budget, epsilon, own
        self.foreign: list[Record] = []
        self.outdated: tuple[str, ...] = ()
        self.lines: list[Record | Comparison | NetworkTime] = []
        self.records: list[Record] = []
        self.comparisons: list[Comparison] = []
        self.rounds: list[Round] = []
        self.commands: list[Command] = []
        self.measured: dict[str, set[str]] = {task.key: set() for task in tasks}
        self.quality: dict[str, Round] = {}
        self.requests: dict[str, TaskRequests] = {task.key: TaskRequests() for task in tasks}
        self.next_trial = 0
        self.next_round = 0
        self.elapsed_s = 0.0
        self._begun: Mapping[str, Any] | None = None
        self._strange: set[int] = set()
        self._trials: dict[int, Record] = {}
        self._ids: set[str] = set()

    def take(self, line: AnyLine) -> None:
        """Take a line of the log in."""
        self.elapsed_s = max(self.elapsed_s, getattr(line, "elapsed_s", 0.0))
        if isinstance(line, Record):
            self._trial(line)
        elif isinstance(line, Comparison):
            if self._strange.isdisjoint(line.trials):
                self.lines.append(line)
                self.comparisons.append(line)
                self.scheduler.compare(line)
        elif isinstance(line, Round):
            self.rounds.append(line)
            self.scheduler.finish(line)
            self.next_round = max(self.next_round, line.round + 1)
            if line.spearman is not None or line.tau is not None:
                self.quality[line.task_key] = line
        elif isinstance(line, NetworkTime):
            if self._own is None or self._own(line):
                self.lines.append(line)
                self.scheduler.place(line)
        elif isinstance(line, Command):
            self._command(line)

    def _trial(self, record: Record) -> None:
        self.next_trial = max(self.next_trial, record.trial + 1)
        self.next_round = max(self.next_round, record.round + 1)
        if self._own is not None and not self._own(record):
            self.foreign.append(record)
            self._strange.add(record.trial)
            return
        self.lines.append(record)
        self.records.append(record)
        self._trials.setdefault(record.trial, record)  # comparisons mean the first of its number
        self.scheduler.observe(record)
        key = record.task_key
        if key in self.measured and record.key:
            self.measured[key].add(record.key)
            requests = self.requests[key]
            if requests.added:
                requests.added = [a for a in requests.added if a.get("key") != record.key]

    def _command(self, line: Command) -> None:
        self.commands.append(line)
        if line.id:
            self._ids.add(line.id)
        if line.name == START:
            if line.accepted:  # nobody can give it as a command, but somebody may try
                self._begin(line.args)
            return
        if line.accepted:
            apply_command(self, line)

    def _begin(self, args: Mapping[str, Any]) -> None:
        """Take in with what a run was started: what differs from the start before it is newer than all commands."""
        before, self._begun = self._begun, args
        trials, epsilon, confirm = args.get("trials"), args.get("epsilon"), args.get("confirm")
        if before is None or before.get("trials") != trials:
            self.budget.trials = trials if isinstance(trials, int) else None
        if before is None or before.get("epsilon") != epsilon:
            with suppress(UsageError):
                self.epsilon = share("epsilon", epsilon)
        if isinstance(confirm, bool):
            self.scheduler.settle(confirm)
        spaces = (before or {}).get("space"), args.get("space")
        self.outdated = self._drop_rows() if all(isinstance(s, str) for s in spaces) and spaces[0] != spaces[1] else ()

    def _drop_rows(self) -> tuple[str, ...]:
        """Forget what was said about holes and variants of another space; return the tasks that it was said of."""
        left = {key: requests.without_rows() for key, requests in self.requests.items()}
        dropped = tuple(
            key for key, requests in self.requests.items() if replace(left[key], version=requests.version) != requests
        )
        for key in dropped:
            self.requests[key] = left[key]
            self.scheduler.reopen(key)
        return dropped

    # ---- looking up ----

    def trial(self, number: int) -> Record | None:
        """Return a trial by its number."""
        return self._trials.get(number)

    def knows(self, command: str) -> bool:
        """Whether a command with this identifier was carried out or refused before."""
        return command in self._ids


apply_command: Provided[[RunState, Command], None] = Provided("steering commands")
"""Changes what follows from an accepted command of a log; one that this version does not know changes nothing."""
