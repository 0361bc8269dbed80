"""A tuning session: the loop in a thread, and the handle by which a person or a widget steers it."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from workbench.errors import UsageError
from workbench.log import Command, Comparison, LogWriter, NetworkTime, Record, Round
from workbench.log.reader import to_frame
from workbench.runtime.machine.blas_threads import quiet
from workbench.tune.display.html import session_html
from workbench.tune.display.live_table import show_in_notebook, terminal_table
from workbench.tune.display.session_file import announce
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.plan.task_selection import as_named, position
from workbench.tune.run import session_report
from workbench.tune.run.awaitable_session import AwaitableSession
from workbench.tune.run.loop import TuningLoop
from workbench.tune.state.events import Event, EventBus, Progress, Snapshot, State
from workbench.tune.state.run_end import end_word
from workbench.tune.state.session_control import SessionControl
from workbench.tune.state.trial_forecast import forecast
from workbench.tune.steer.command_dispatcher import CommandQueue

if TYPE_CHECKING:
    import pandas

    from workbench.graph.tasks import Task
    from workbench.schedule import Schedule
    from workbench.space.space import Space
    from workbench.tune.state.run_state import TaskRequests
    from workbench.tune.state.task_scheduler import Terms

__all__ = ["SessionControl", "TuningSession", "end_runs"]


class TuningSession(AwaitableSession):
    """Tunes in the background; made by `workbench.tune`.

    All methods may be called from any thread, in any state, any number of times. Used as a context manager, it stops
    on exit (and cancels when the block raised); ``await session`` waits for its end.

    Attributes
    ----------
    state : str
        ``idle``, ``running``, ``paused``, ``stopping``, ``done``, ``cancelled`` or ``failed``.
    events : EventBus
        Iterate it for events until the session ends, or ``events.subscribe(callback)``.
    repaired : str or None
        The torn last line that was removed from the log on resume.
    """

    def __init__(self, plan: RunPlan) -> None:
        self.events = EventBus()
        self._control = SessionControl(self._state_changed)
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._prepared = False
        self._ended = threading.Event()
        self._holding, self._asking = threading.Lock(), threading.RLock()
        self._asked_to_pause = False
        self._table = terminal_table(self, plan.progress)
        writer = LogWriter(plan.log, plan.header(), plan.resume) if plan.log is not None else None
        self.repaired = writer.repaired if writer else None
        try:
            plan = replace(plan, tasks=as_named(plan.tasks, writer), only_tasks=plan.active)
            self._plan, self.tasks = plan, tuple(plan.tasks)
            self.log = None if plan.log is None else os.fspath(plan.log)
            self._loop = TuningLoop(plan, writer, self._control, self._publish)
            loop = self._loop
            self._queue = CommandQueue(
                plan, loop.run_state, loop.searches, loop.recorder, self._move, lambda: self.state
            )
            self._queue.begin()
        except BaseException:
            if writer is not None:
                writer.close()
            raise
        if writer is not None:  # a session that is forgotten before it is started does not keep the log to itself
            weakref.finalize(self, writer.close).atexit = False
        _LIVE.add(self)

    # ---- steering ----

    def start(self) -> TuningSession:
        """Begin, or go on after `pause`."""
        if not self._control.move("running", only_from=("idle",)):
            return self.resume()
        try:
            self._plan.measurer.start()
            if self.records:  # the search is going to learn from them before its first trial
                self._prepare_soon()
            self._queue.start()  # before the run, which may end at once and then ends this
            main = partial(copy_context().run, self._main)  # who starts it is told where it stands in the line
            self._thread = threading.Thread(target=main, name="workbench-tuning", daemon=True)
            self._thread.start()
            show_in_notebook(self, self._ended, self._plan.progress)
            announce(self, self._ended)
        except BaseException as error:  # nobody would ever end it
            self._thread = None
            self._fail(error)
            self._finish()
            raise
        return self

    def _publish(self, event: Event) -> None:
        self.events.publish(event)
        if event.kind == "trial" and self._plan.ahead:
            self._prepare_soon()

    def _prepare_soon(self) -> None:
        """Load what the cost model needs, in the background: it is for the second round, and until the first trial is
        measured the cores start workers and make spaces. Beside kernels that use all cores it would disturb: then it is
        loaded when the first round is over.
        """
        if not self._prepared:
            self._prepared = True
            threading.Thread(target=self._prepare, name="workbench-prepare", daemon=True).start()

    def _prepare(self) -> None:
        with contextlib.suppress(Exception):  # what cannot be loaded is told where it is needed
            self._plan.context.prepare()

    # ---- the thread ----

    def _main(self) -> None:
        try:
            with quiet():
                self._loop.run()
        except BaseException as error:
            self._fail(error)
        finally:
            self._control.move("done", only_from=("running", "paused", "stopping"), end=self._loop.end)
            self._finish()

    def _fail(self, error: BaseException) -> None:
        self._error = error  # first: whoever hears of the state asks for it
        if not self._control.move("failed", only_from=("running", "paused", "stopping")):
            self._error = None  # it was cancelled: killing the workers may surface as any error

    def _finish(self) -> None:
        with contextlib.ExitStack() as steps:  # whatever one of them raises, all are taken
            for step in (self.events.close, self._ended.set, lambda: _LIVE.discard(self)):
                steps.callback(step)
            for step in (self._loop.recorder.close, self._queue.close, self._plan.measurer.close):
                steps.callback(step)
            if self.state == "cancelled":
                self._plan.measurer.kill()

    def _state_changed(self, state: State) -> None:
        loop = getattr(self, "_loop", None)
        self.events.publish(Event("state", loop.elapsed if loop else 0.0, state))

    # ---- what it found ----

    def network(self) -> NetworkTime | None:
        """Return what the whole network takes, as it was measured last; None where it was not, or is none.

        Returns
        -------
        NetworkTime
            ``measured_ms`` (with the best schedules), ``untuned_ms``, ``sum_of_kernels_ms``, ``clean``, ``why_not``.
        """
        return self._loop.scheduler.whole.last

    @property
    def lines(self) -> tuple[Record | Comparison | NetworkTime, ...]:
        """The trials of `records`, the comparisons and the measurements of the network, in the order of the log."""
        return tuple(self._loop.run_state.lines)

    @property
    def records(self) -> tuple[Record, ...]:
        """All trials of the log so far, those of earlier runs included; not those for another target or with other
        caches.
        """
        return tuple(self._loop.run_state.records)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons of the log so far."""
        return tuple(self._loop.run_state.comparisons)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """All rounds of the log so far."""
        return tuple(self._loop.run_state.rounds)

    @property
    def steered(self) -> tuple[Command, ...]:
        """All commands of the log so far, refused ones included."""
        return tuple(self._loop.run_state.commands)

    def held(self, task: Task | int | str | None = None) -> TaskRequests:
        """Return what is pinned and forbidden for a task, and what waits to be measured because somebody added it."""
        return self._loop.run_state.requests[self.tasks[self._position(task, "held")].key].copy()

    def terms(self, task: Task | int | str | None = None) -> Terms:
        """Return what the task scheduler expects of a task, and why."""
        return self._loop.scheduler.terms(self._position(task, "terms"))

    def space(self, task: Task | int | str | None = None) -> Space:
        """Return the space that the candidates of a task come from."""
        return self._loop.searches.space(self._position(task, "space"))

    @property
    def random_share(self) -> float:
        """Share of candidates that are drawn at random, as the start of the run or the latest command has set it."""
        return self._loop.run_state.epsilon

    @property
    def failure(self) -> BaseException | None:
        """What ended the session when its state is ``failed``; `wait` raises it."""
        return self._error

    @property
    def new_trials(self) -> int:
        """Trials of this run."""
        return self._loop.new_trials

    @property
    def progress(self) -> Progress:
        """Trials done and allowed, time used and expected."""
        return session_report.progress(self._loop, *self._control.state_and_end)

    def snapshot(self) -> Snapshot:
        """Return everything that a display shows, as one value."""
        return session_report.snapshot(self._loop, *self._control.state_and_end)

    def table(self) -> pandas.DataFrame:
        """Return the task table: one row per task, with what decides about its next trials."""
        return session_report.table(self.snapshot().rows)

    def why(self) -> str:
        """Return which task goes next and why: the scheduler's terms of all tasks."""
        return session_report.why(self._loop)

    def explain(self, task: Task | int | str | None = None) -> str:
        """Return what is known about a task, or about all: the best trial, comparisons, the model's quality, what is
        held.
        """
        all_of_them = range(len(self.tasks)) if task is None else (self._position(task, "explain"),)
        return "\n".join(session_report.explain(self._loop, index) for index in all_of_them)

    def forecast(self) -> tuple[int, ...] | None:
        """Return for every task how many of the trials that are left it is expected to get, if they go on to pay as
        they do now; None where the budget sets no end.
        """
        return forecast(self.snapshot(), [self.terms(i) for i in range(len(self.tasks))])

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the cost model as it is now; ``TuneOptions(model=path)`` lets another run start from it."""
        self._plan.context.save_model(path)

    def frame(self) -> pandas.DataFrame:
        """Return all trials in the form of `read_log`."""
        return to_frame(self._loop.run_state.lines)

    def _position(self, task: Task | int | str | None, asked: str) -> int:
        if task is None and len(self.tasks) > 1:
            hint = f"{asked}(0) or {asked}(task)"
            raise UsageError("usage.task", "The session has several tasks; say which one", (), hint)
        return 0 if task is None else position(self.tasks, getattr(task, "key", task))

    def best(self, task: Task | int | str | None = None) -> Schedule:
        """Return the fastest schedule found for a task.

        Parameters
        ----------
        task : Task, int, str, optional
            The task, its position, its key or its name; may be left out when there is only one.

        Raises
        ------
        UsageError
            ``usage.task`` for an unknown task; ``usage.nothing_measured`` when no trial of it was valid.
        """
        index = self._position(task, "best")
        found = self.tasks[index]
        best = self._loop.scheduler.states[index].ledger.best
        if best is None:
            hint = "let the session measure some trials first, or read the errors in frame()"
            raise UsageError("usage.nothing_measured", "No trial of this task was valid so far", [found.name], hint)
        return self._plan.context.schedule(found, best.record)

    def __repr__(self) -> str:
        tasks = f"{len(self.tasks)} task{'s' if len(self.tasks) != 1 else ''}"
        done, total = len(self._loop.run_state.records), self._loop.run_state.budget.trials
        many = f"{done}{f' of {total}' if total is not None else ''} trials"
        return f"<TuningSession {end_word(*self._control.state_and_end)}: {tasks}, {many}>"

    def _repr_html_(self) -> str:
        return session_html(self.snapshot(), self.log, self.failure, self.records)


_LIVE: weakref.WeakSet[TuningSession] = weakref.WeakSet()


def end_runs() -> int:
    """Stop every tuning run of this process, whoever started it, and wait for their ends.

    What is timed afterwards has the cores for itself, and the logs of the runs can be written to again. Trials in
    flight finish; whatever was measured is kept.

    Returns
    -------
    int
        How many runs were on.
    """
    live = list(_LIVE)
    for session in live:
        session.stop()
    for session in live:
        session.join()
    return len(live)


def _cancel_all() -> None:
    """At interpreter exit: no worker may outlive its session."""
    for session in list(_LIVE):
        session.cancel()
        session.join(5.0)


atexit.register(_cancel_all)
