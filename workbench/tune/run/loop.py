"""The tuning loop: choose a task, run a round of it, end it; no threads of its own and no user interface here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from workbench.errors import WorkbenchError
from workbench.log import NetworkTime
from workbench.tune.constants import Comparisons, Faults, Finals, NetworkRuns
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.plan.task_searches import TaskSearches
from workbench.tune.plan.user_code import TaskFault
from workbench.tune.run.rounds import Rounds
from workbench.tune.state.events import Event
from workbench.tune.state.log_recorder import LogRecorder
from workbench.tune.state.run_end import End, end_text
from workbench.tune.state.run_state import Budget, RunState
from workbench.tune.state.task_scheduler import SCHEDULERS, TaskScheduler

if TYPE_CHECKING:
    from workbench.log import LogWriter
    from workbench.tune.state.session_control import SessionControl

T = TypeVar("T")

END_REASONS = ("at the end", "when it was stopped")
"""Why the network was measured last: the run has ended by itself, or somebody has stopped it."""


class TuningLoop:
    """One tuning run."""

    def __init__(
        self, plan: RunPlan, writer: LogWriter | None, control: SessionControl, publish: Callable[[Event], None]
    ) -> None:
        self.plan, self.tasks, self._network = plan, plan.tasks, plan.network
        if self._network is not None:
            self._network.going_on, self._network.elapsed_s = lambda: self._may_go_on(), lambda: self.elapsed
        self.current: int | None = None
        self.end: End = ""  # why it has ended by itself, or is about to
        self.started: float | None = None
        self._ended: float | None = None
        self._control = control
        self._told = ""  # about the objective
        self._stopped = False  # somebody has stopped it: what is left is the network's time
        self._faults: dict[int, int] = {}
        self._stamp, options = plan.stamp, plan.options
        self.scheduler: TaskScheduler = SCHEDULERS[options.scheduler](
            # Whether comparisons are made says the line with which each run of the log begins.
            self.tasks, plan.active, objective=options.objective, early_stop=options.early_stop, confirm=None,
        )  # fmt: skip
        budget = Budget(plan.trials, plan.seconds)
        self.run_state = RunState(self.tasks, self.scheduler, budget, options.epsilon, self._stamp.own)
        for line in writer.found.lines if writer else ():
            self.run_state.take(line)
        self._restored = len(self.run_state.records)
        self.elapsed_before = self.run_state.elapsed_s
        self.recorder = LogRecorder(self.run_state, writer, publish, lambda: self.elapsed)
        self.searches = TaskSearches(plan, self.run_state, self.recorder.tell)
        self.rounds = Rounds(
            plan, self.run_state, self.recorder, self.searches, control,
            going_on=lambda: not control.cancelled and control.proceed() and self.budget_left() > 0,
        )  # fmt: skip

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
        return len(self.run_state.records) - self._restored

    @property
    def untimed(self) -> str:
        """Why the whole network is not measured any more; "" where it is, or is none."""
        return self._network.given_up if self._network is not None else ""

    def seconds_left(self) -> float:
        """Return the rest of the time limit, infinite without one."""
        seconds = self.run_state.budget.seconds
        return float("inf") if seconds is None else seconds - (self.elapsed - self.elapsed_before)

    def budget_left(self) -> int:
        """Return how many trials may still be made, 0 when trials or time are used up."""
        budget = self.run_state.budget
        kept = 0.0
        if self.plan.options.confirm and budget.seconds is not None:
            kept = min(Finals.PLAY_OFFS * budget.seconds, Finals.PLAY_OFF_S * len(self.scheduler.active))
            if self._network is not None:
                kept += min(Finals.NETWORK * budget.seconds, self._network.cost_s)
        if self.seconds_left() <= kept:
            return 0
        return budget.trials - len(self.run_state.records) if budget.trials is not None else self.plan.batch

    # ---- steps ----

    def run(self) -> None:
        """Tune until the budget is used, every space is exhausted, all tasks rest, or `control` says so."""
        self.started = time.monotonic()
        try:
            self._tell_left_out()
            self._restore()
            while self._control.proceed():
                left = self.budget_left()
                self.end = "budget" if left <= 0 else ""
                self.current = self._next() if left > 0 else None
                if self.current is not None:
                    self._round(self.current, min(self.plan.batch, left))
                    self._time_network()
                    continue
                self._finals()
                self._network_finals()
                self._time_network(last=True)
                if self.budget_left() <= 0 or self.pick() is None:  # somebody may have given more meanwhile
                    break
            if self._control.state == "stopping" and self.new_trials > 0:
                self._stopped = True
                self._time_network(last=True)
        finally:
            self.current = None
            self.searches.wait()
            self._ended = time.monotonic()

    def pick(self) -> int | None:
        """Return the task to go on with: what was given by hand goes first, even when all tasks rest."""
        possible = [i for i in self.scheduler.active if i not in self.scheduler.faults]
        added = [i for i in possible if self.run_state.requests[self.tasks[i].key].added]
        if added:
            return added[0]
        return None if self.plan.options.early_end and self.scheduler.all_rest else self.scheduler.next()

    def nothing_next(self) -> End:
        """Why no task goes next, where none does."""
        return "resting" if self.scheduler.open_tasks else "exhausted"

    def _next(self) -> int | None:
        """Return the task to go on with; None, and why, when there is none."""
        index = self.pick()
        self._tell_problem()
        if index is None:
            self.end = self.nothing_next()
            self.recorder.tell("warning", end_text(self.end, given_up=bool(self.scheduler.faults)))
        return index

    def _tell_left_out(self) -> None:
        """Tell what of the log does not hold for this run."""
        foreign = self.run_state.foreign
        if foreign:
            ways = list(dict.fromkeys(self._stamp.unlike(record) for record in foreign))
            told = "; ".join(ways[:3])
            text = f"{len(foreign)} trials of the log were measured {told}; they stay in it, and do not count here"
            self.recorder.tell("warning", text)
        for task in self.tasks:
            if task.key in self.run_state.outdated:
                text = "what was pinned, forbidden or added as a row was said about another space: it holds no longer"
                self.recorder.tell("warning", text, task.name)

    def _tell_problem(self) -> None:
        """Tell once what is wrong with the user's objective."""
        problem = self.scheduler.goal.problem
        if problem is not None and problem.message != self._told:
            self._told = problem.message
            instead = "the sum of weight times latency stands in for it"
            self.recorder.tell("warning", f"{problem.message}; {instead} [{problem.code}]")

    def _restore(self) -> None:
        """Give every search back what the log knows about its task."""
        known = {record.task_key for record in self.run_state.records}
        for index in self.scheduler.active:
            if self.tasks[index].key in known:
                with self._tolerated(index):
                    self.searches.of(index)

    def _round(self, index: int, count: int) -> None:
        slept = self.scheduler.resting(index)
        with self._tolerated(index):
            measured = self.rounds.run(index, count, self._ask_ahead(index))
            self._faults.pop(index, None)
            if measured and self.scheduler.resting(index) and not slept and self._control.proceed():
                self._play_off(index)

    def _ask_ahead(self, index: int) -> Callable[[], None] | None:
        """Return what asks for proposals of the task that is likely next, where a core is free for it."""
        following = self.scheduler.next(leave_out=[index]) if self.plan.ahead else None
        if following is None:
            return None

        def ask() -> None:
            with suppress(TaskFault):  # it is told when it is that task's turn
                self.searches.ask_ahead(following, self.plan.batch)

        return ask

    @contextmanager
    def _tolerated(self, index: int) -> Iterator[None]:
        """Give a task up when something of it fails again and again; when no task is left, that ends the run."""
        try:
            yield
        except TaskFault as fault:
            self._faults[index] = self._faults.get(index, 0) + 1
            told = f"{fault.message} [{fault.code}]"
            if self._faults[index] < Faults.TASK:
                self.recorder.tell("warning", f"{told}; it is tried again", self.tasks[index].name)
                return
            self.scheduler.faults[index] = told
            if all(i in self.scheduler.faults for i in self.scheduler.active):
                raise
            self.recorder.tell("warning", f"this task is given up: {told}", self.tasks[index].name)

    def _time_network(self, last: bool = False) -> None:
        """Measure the network where it is time, or, at the end and on a stop, where anything has become faster."""
        network, states = self._network, self.scheduler.states
        active_ms = sum(self.tasks[i].weight * states[i].told_ms for i in self.scheduler.active)
        if network is None or active_ms == float("inf") or not self._proceed():
            return
        if not (network.stale(active_ms) if last else network.due(active_ms, self.elapsed - self.elapsed_before)):
            return
        self.current = None
        records, comparisons = self.run_state.records, self.run_state.comparisons
        found = self._in_network(
            lambda: network.measure(records, comparisons, active_ms), "end to end stays a sum of kernels"
        )
        if not found:
            return
        found["alone_ms"] = {t.key: found["alone_ms"][t.key] for t in self.tasks if t.key in found["alone_ms"]}
        before = self.scheduler.whole.last
        reason = END_REASONS[self._stopped] if last else "kernels became faster" if before else "every task has a time"
        line = NetworkTime(
            **found, sum_of_kernels_ms=self.scheduler.total_ms, reason=reason, trials=len(records),
            target=self._stamp.target, caches=self._stamp.caches, host=self._stamp.host, elapsed_s=self.elapsed,
            timestamp=time.time(),
        )  # fmt: skip
        self.recorder.write(line)
        self.recorder.tell("network", f"{line.measured_ms:.4g} ms end to end, {line.untuned_ms:.4g} ms untuned")

    def _may_go_on(self) -> bool:
        """Whether a measurement of the network goes on: one that was begun on a stop ends with a cancellation only."""
        return not self._control.cancelled if self._stopped else self._control.running

    def _proceed(self) -> bool:
        """Wait while paused; whether the network may be measured."""
        return self._may_go_on() if self._stopped else self._control.proceed()

    def _in_network(self, work: Callable[[], dict[str, T]], instead: str) -> dict[str, T]:
        """Do something with the whole network, once more after a pause that has stopped it; empty where the run is to
        end, or where it cannot be done, which is told, with what stands `instead`.
        """
        found: dict[str, T] = {}
        try:
            while not found and self._proceed():
                found = work()
        except WorkbenchError as error:
            self.recorder.tell("warning", f"{error.message}; {instead} [{error.code}]")
        return found

    # ---- the end ----

    def _play_off(self, index: int) -> None:
        if self.plan.options.confirm and self.seconds_left() > 0:
            with self._tolerated(index):
                self.rounds.play_off(index)

    def _finals(self) -> None:
        """Let the best trials of each task run against each other: where a comparison is open, then while time is left,
        those that matter most first.
        """
        slopes, states = self.scheduler.slopes(), self.scheduler.states
        open_ = [bool(state.pending) or state.unbeaten is not None for state in states]
        if self.new_trials <= 0 and not any(open_):
            return
        known = [i for i in self.scheduler.active if states[i].champion >= 0 and i not in self.scheduler.faults]
        end = self.elapsed + max(Finals.PLAY_OFF_S, Finals.ALL_PLAY_OFFS * (self.elapsed - self.elapsed_before))
        for index in sorted(known, key=lambda i: (not open_[i], -slopes[i] * states[i].best_ms)):
            if (open_[index] or self.elapsed < end) and self._control.proceed():
                self._play_off(index)

    def _network_finals(self) -> None:
        """Let the last candidates of the heavy tasks run against each other inside the network."""
        network, states = self._network, self.scheduler.states
        if network is None or network.given_up or not self.plan.options.confirm or self.seconds_left() <= 0:
            return
        weights = self.scheduler.slopes()
        times = [w * s.best_ms for w, s in zip(weights, states, strict=True) if s.champion >= 0]
        finalists: dict[int, list[int]] = {}
        for index in self.scheduler.active:
            state = states[index]
            if state.champion >= 0 and weights[index] * state.best_ms >= NetworkRuns.HEAVY * sum(times):
                finalists[index] = [state.champion, *state.rivals(Comparisons.FINALISTS - 1)]
        finalists = {index: trials for index, trials in finalists.items() if len(trials) > 1}
        if not finalists or self.new_trials <= 0 or not self._control.proceed():
            return
        champions = {t.key: s.champion for t, s in zip(self.tasks, states, strict=True) if s.champion >= 0}
        asked = {self.tasks[i].key: trials for i, trials in finalists.items()}
        contests = self._in_network(
            lambda: network.compare(asked, champions, self.run_state.records),
            "the last candidates are not timed inside the network",
        )
        for index, trials in finalists.items() if contests else ():
            self.rounds.inside(index, trials, contests[self.tasks[index].key])
