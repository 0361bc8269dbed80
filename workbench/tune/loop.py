"""The tuning loop: choose a task, run a round of it, end it; no threads of its own and no user interface here."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from workbench.tune.events import Event
from workbench.tune.journal import Journal, Stamp
from workbench.tune.lines import AnyLine
from workbench.tune.options import COST_MODELS, TuneOptions
from workbench.tune.parts import Control, Measurer, Toolbox
from workbench.tune.rounds import Rounds
from workbench.tune.standing import Budget, Standing
from workbench.tune.task_scheduler import STRATEGIES, TaskScheduler
from workbench.tune.workshop import Workshops

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.tune.log_writer import LogWriter

__all__ = ["COST_MODELS", "Measurer", "Toolbox", "TuneOptions", "TuningLoop", "default_batch"]

_PLAY_OFF_S = 0.4
"""Time that a play-off takes, in seconds; so much of a time limit is kept for each task."""

_PLAY_OFF_SHARE = 0.05
"""The most of a time limit that is kept for play-offs."""


_FINALS_SHARE = 0.1
"""The most of a run's time so far that all play-offs at its end may take."""

_TRIALS_PER_S = 12
"""What is hoped for when only a time limit says how many trials there will be."""


def default_batch(trials: int | None, tasks: int, seconds: float | None = None) -> int:
    """Return the trials of a round: about three rounds per task, but at least 4 and at most 16 trials."""
    if trials is None and seconds is not None:
        trials = int(min(seconds, 1e6) * _TRIALS_PER_S)
    return 16 if trials is None else max(4, min(16, trials // max(1, 3 * tasks)))


class TuningLoop:
    """One tuning run.

    Parameters
    ----------
    tasks : sequence of Task
        All tasks of the model, in table order.
    active : sequence of int
        Indices of those to tune.
    ahead : bool
        Whether a core is free for the search while candidates are measured.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        active: Sequence[int],
        *,
        toolbox: Toolbox,
        measurer: Measurer,
        writer: LogWriter | None,
        options: TuneOptions,
        trials: int | None,
        seconds: float | None,
        seed: int,
        target: str,
        control: Control,
        publish: Callable[[Event], None],
        ahead: bool = False,
    ) -> None:
        self.tasks, self.options = tuple(tasks), options
        self.scheduler: TaskScheduler = STRATEGIES[options.scheduler](
            self.tasks,
            active,
            objective=options.objective,
            early_stop=options.early_stop,
            confirm=options.confirm,
        )
        self.batch = options.batch or default_batch(trials, len(active), seconds)
        self.standing = Standing(self.tasks, self.scheduler, Budget(trials, seconds), options.epsilon)
        lines: tuple[AnyLine, ...] = writer.lines if writer else ()
        for line in lines:
            self.standing.take(line)
        self.standing.begin(trials, options.epsilon)
        self.current: int | None = None
        self.started: float | None = None
        self._ended: float | None = None
        self._control = control
        self._restored = len(self.standing.records)
        self.elapsed_before = self.standing.elapsed_s
        self.journal = Journal(self.standing, writer, publish, lambda: self.elapsed)
        self.workshops = Workshops(self.tasks, toolbox, seed, self.standing, self.journal.tell)
        self.rounds = Rounds(
            self.tasks,
            self.scheduler,
            self.standing,
            self.journal,
            self.workshops,
            toolbox,
            measurer,
            Stamp(target, f"{platform.node()} {platform.machine()}", seed, options.caches),
            going_on=lambda: not control.cancelled and control.proceed() and self.budget_left() > 0,
            cancelled=lambda: control.cancelled,
            baseline=options.baseline and (trials is None or trials >= 2 * len(active)),
        )
        self._ahead = ahead
        self._told = ""  # about the objective

    # ---- where it stands ----

    @property
    def elapsed(self) -> float:
        """Tuning time of the log in seconds, earlier runs included."""
        if self.started is None:
            return self.elapsed_before
        now = time.monotonic() if self._ended is None else self._ended
        return self.elapsed_before + max(0.0, now - self.started - self._control.paused_s)

    @property
    def new_trials(self) -> int:
        """Trials of this run."""
        return len(self.standing.records) - self._restored

    def seconds_left(self) -> float:
        """Return the rest of the time limit, infinite without one."""
        seconds = self.standing.budget.seconds
        return float("inf") if seconds is None else seconds - (self.elapsed - self.elapsed_before)

    def budget_left(self) -> int:
        """Return how many trials may still be made, 0 when trials or time are used up."""
        budget = self.standing.budget
        kept = 0.0
        if self.options.confirm and budget.seconds is not None:
            kept = min(_PLAY_OFF_SHARE * budget.seconds, _PLAY_OFF_S * len(self.scheduler.active))
        if self.seconds_left() <= kept:
            return 0
        return budget.trials - len(self.standing.records) if budget.trials is not None else self.batch

    # ---- steps ----

    def run(self) -> None:
        """Tune until the budget is used, every space is exhausted, all tasks rest, or `control` says so."""
        self.started = time.monotonic()
        try:
            self._restore()
            while self._control.proceed() and (left := self.budget_left()) > 0:
                index = self._next()
                if index is None:
                    break
                self.current = index
                self._round(index, min(self.batch, left))
            self.current = None
            if self._control.proceed():
                self._finals()
        finally:
            self.current = None
            self.workshops.wait()
            self._ended = time.monotonic()

    def _next(self) -> int | None:
        """Return the task to go on with; None, and why, when there is none."""
        if self.options.early_end and self.scheduler.all_rest:
            self.journal.tell("warning", f"no task has gained anything in {self.options.early_stop} rounds")
            return None
        added = [i for i in self.scheduler.active if self.standing.wishes[self.tasks[i].key].added]
        index = added[0] if added else self.scheduler.next()
        self._tell_problem()
        if index is None:
            self.journal.tell("warning", "every candidate of every task has been measured")
        return index

    def _tell_problem(self) -> None:
        """Tell once what is wrong with the user's objective."""
        problem = self.scheduler.goal.problem
        if problem is not None and problem.message != self._told:
            self._told = problem.message
            instead = "the sum of weight times latency stands in for it"
            self.journal.tell("warning", f"{problem.message}; {instead} [{problem.code}]")

    def _restore(self) -> None:
        """Give every search back what the log knows about its task."""
        known = {record.task_key for record in self.standing.records}
        for index in self.scheduler.active:
            if self.tasks[index].key in known:
                self.workshops.of(index)

    def _round(self, index: int, count: int) -> None:
        slept = self.scheduler.resting(index)
        following = self.scheduler.next(leave_out=[index]) if self._ahead else None
        ahead = None if following is None else (lambda: self.workshops.ask_ahead(following, self.batch))
        if not self.rounds.run(index, count, ahead):
            return
        if self.scheduler.resting(index) and not slept and self._control.proceed():
            self._play_off(index)

    # ---- the end ----

    def _play_off(self, index: int) -> None:
        if self.options.confirm and self.seconds_left() > 0:
            self.rounds.play_off(index)

    def _finals(self) -> None:
        """Let the best trials of each task run against each other while time is left, those that matter most first."""
        slopes, states = self.scheduler.slopes(), self.scheduler.states
        if self.new_trials <= 0 and not any(state.pending for state in states):
            return
        known = [i for i in self.scheduler.active if states[i].champion >= 0]
        end = self.elapsed + max(_PLAY_OFF_S, _FINALS_SHARE * (self.elapsed - self.elapsed_before))
        for index in sorted(known, key=lambda i: -slopes[i] * states[i].best_ms):
            if self.elapsed < end and self._control.proceed():
                self._play_off(index)
