"""A tuning session: the loop in a thread, and the handle by which a person or a widget steers it."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from workbench.arguments import path, real, whole
from workbench.errors import TuneError, UsageError, WorkbenchError
from workbench.tune.events import FINAL, Event, EventBus, Progress, Snapshot, State, TaskRow
from workbench.tune.log import Header, to_frame
from workbench.tune.log_writer import LogWriter
from workbench.tune.loop import Measurer, Toolbox, TuneOptions, TuningLoop
from workbench.tune.record import Record, speed
from workbench.tune.selection import position, select_tasks
from workbench.tune.weights import total

if TYPE_CHECKING:
    import pandas

    from workbench.graph.tasks import Task
    from workbench.schedule import Schedule


class SessionControl:
    """The session's state machine; the loop asks `proceed` between trials."""

    def __init__(self, changed: Callable[[State], None]) -> None:
        self.state: State = "idle"
        self._condition = threading.Condition()
        self._changed = changed
        self._paused_s = 0.0
        self._paused_at: float | None = None

    def move(self, state: State, *, only_from: tuple[State, ...]) -> bool:
        """Change the state if it is one of `only_from`; return whether it was changed."""
        with self._condition:
            if self.state not in only_from:
                return False
            if self._paused_at is not None:
                self._paused_s += time.monotonic() - self._paused_at
                self._paused_at = None
            if state == "paused":
                self._paused_at = time.monotonic()
            self.state = state
            self._condition.notify_all()
        self._changed(state)
        return True

    def proceed(self) -> bool:
        """Wait while paused; False once the session is to end."""
        with self._condition:
            while self.state == "paused":
                self._condition.wait()
            return self.state == "running"

    @property
    def cancelled(self) -> bool:
        """Whether the trial in flight is to be thrown away."""
        return self.state == "cancelled"

    @property
    def paused_s(self) -> float:
        """Seconds spent paused so far."""
        with self._condition:
            now = time.monotonic() - self._paused_at if self._paused_at is not None else 0.0
            return self._paused_s + now


class TuningSession:
    """Tunes in the background; made by `workbench.tune`.

    All methods may be called from any thread, in any state, any number of times. Used as a context manager, it stops
    on exit (and cancels when the block raised).

    Attributes
    ----------
    state : str
        ``idle``, ``running``, ``paused``, ``stopping``, ``done``, ``cancelled`` or ``failed``.
    events : EventBus
        Iterate it for events until the session ends, or ``events.subscribe(callback)``.
    repaired : str or None
        The torn last line that was removed from the log on resume.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        toolbox: Toolbox,
        measurer: Measurer,
        log: str | os.PathLike[str] | None = None,
        header: Header | None = None,
        resume: bool = False,
        trials: int | None = None,
        seconds: float | None = None,
        seed: int = 0,
        target: str = "",
        only_tasks: Sequence[int | str] | None = None,
        options: TuneOptions | None = None,
    ) -> None:
        if not tasks:
            raise UsageError("usage.no_tasks", "There is nothing to tune: the list of tasks is empty")
        _check_budget(trials, seconds)
        self.tasks = tuple(tasks)
        active = select_tasks(self.tasks, only_tasks)
        self.events = EventBus()
        self.log = path("log", log) if log is not None else None
        self._control = SessionControl(self._state_changed)
        self._measurer = measurer
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._writer: LogWriter | None = None
        if self.log is not None:
            header = header or Header(tasks=tuple((t.key, t.name) for t in tasks), target=target, seed=seed)
            self._writer = LogWriter(self.log, header, resume)
        self.repaired = self._writer.repaired if self._writer else None
        self._loop = TuningLoop(
            self.tasks,
            active,
            toolbox=toolbox,
            measurer=measurer,
            writer=self._writer,
            options=options or TuneOptions(),
            trials=trials,
            seconds=seconds,
            seed=seed,
            target=target,
            control=self._control,
            publish=self.events.publish,
        )
        _LIVE.add(self)

    # ---- steering ----

    @property
    def state(self) -> State:
        """Where the session is in its life."""
        return self._control.state

    def start(self) -> TuningSession:
        """Begin, or go on after `pause`."""
        if self._control.move("running", only_from=("idle",)):
            self._thread = threading.Thread(target=self._main, name="workbench-tuning", daemon=True)
            self._thread.start()
        else:
            self.resume()
        return self

    def pause(self) -> TuningSession:
        """Hold after the trial in flight."""
        self._control.move("paused", only_from=("running",))
        self._measurer.hold(self.state == "paused")
        return self

    def resume(self) -> TuningSession:
        """Go on after `pause`."""
        self._control.move("running", only_from=("paused",))
        self._measurer.hold(self.state == "paused")
        return self

    def stop(self) -> TuningSession:
        """End after the trial in flight and keep everything; returns at once, `wait` waits for the end."""
        if self._control.move("done", only_from=("idle",)):
            self._finish()
        else:
            self._control.move("stopping", only_from=("running", "paused"))
        return self

    def cancel(self) -> TuningSession:
        """End now: workers are killed and the trial in flight is thrown away; the log keeps what it has."""
        if self._control.move("cancelled", only_from=("idle", "running", "paused", "stopping")):
            self._measurer.kill()
            if self._thread is None:
                self._finish()
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the session has ended.

        Returns
        -------
        bool
            False when `timeout` seconds passed first. An idle session has not ended.

        Raises
        ------
        TuneError
            When the session failed; its cause is what happened, and the log holds all trials up to then.
        """
        if not self._ended.wait(timeout):
            return False
        if self._error is not None:
            if isinstance(self._error, WorkbenchError) and not isinstance(self._error, TuneError):
                raise self._error
            if isinstance(self._error, TuneError):
                raise self._error
            text = f"Tuning failed: {type(self._error).__name__}: {self._error}"
            hint = "the trials up to here are in the log" if self.log else ""
            raise TuneError("tune.failed", text, [self.log] if self.log else [], hint) from self._error
        return True

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the session has ended, however it ended; False when `timeout` seconds passed first."""
        return self._ended.wait(timeout)

    def __enter__(self) -> TuningSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            self.stop().wait()
        else:
            self.cancel().join(30.0)

    # ---- the thread ----

    def _main(self) -> None:
        final: State = "done"
        try:
            self._loop.run()
        except BaseException as error:
            if self.state != "cancelled":  # killing the workers may surface as any error
                self._error = error
                final = "failed"
        finally:
            self._control.move(final, only_from=("running", "paused", "stopping"))
            self._finish()

    def _finish(self) -> None:
        try:
            if self.state == "cancelled":
                self._measurer.kill()
            self._measurer.close()
        finally:
            if self._writer is not None:
                self._writer.close()
            _LIVE.discard(self)
            self._ended.set()
            self.events.close()

    def _state_changed(self, state: State) -> None:
        loop = getattr(self, "_loop", None)
        self.events.publish(Event("state", loop.elapsed if loop else 0.0, state))

    # ---- what it found ----

    @property
    def records(self) -> tuple[Record, ...]:
        """All trials of the log so far, those of earlier runs included."""
        return tuple(self._loop.records)

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
        loop = self._loop
        done, elapsed = len(loop.records), loop.elapsed
        here = max(1e-9, elapsed - loop.elapsed_before)
        rate = loop.new_trials / here
        shares: list[float] = []
        rests: list[float] = []
        if loop.trials is not None:
            shares.append(min(1.0, done / max(1, loop.trials)))
            if rate > 0:
                rests.append(max(0, loop.trials - done) / rate)
        if loop.seconds is not None:
            shares.append(min(1.0, here / max(1e-9, loop.seconds)))
            rests.append(max(0.0, loop.seconds - here))
        fraction = 1.0 if self.state == "done" and not self._error else max(shares, default=0.0)
        eta = 0.0 if self.state in FINAL else (min(rests) if rests else None)
        return Progress(done, loop.trials, elapsed, eta, fraction, rate)

    def snapshot(self) -> Snapshot:
        """Return everything that a display shows, as one value."""
        loop = self._loop
        scheduler = loop.scheduler
        rows = tuple(self._row(i) for i in range(len(self.tasks)))
        shown = [rows[i] for i in scheduler.active]
        next_id = None if self.state in FINAL else loop.current
        untuned = total([(r.weight, r.untuned_ms) for r in shown])
        tuned = total([(r.weight, r.latency_ms) for r in shown])
        return Snapshot(self.state, rows, self.progress, tuned, untuned, next_id)

    def _row(self, index: int) -> TaskRow:
        loop, task = self._loop, self.tasks[index]
        state = loop.scheduler.states[index]
        latency = state.best_ms if state.best_ms < float("inf") else None
        if index not in loop.scheduler.active:
            word = "skipped"
        elif index == loop.current and self.state not in FINAL:
            word = "tuning"
        elif state.exhausted:
            word = "exhausted"
        elif state.rounds == 0:
            word = "waiting"
        else:
            word = "no result" if latency is None else "measured"
        untuned = loop.untuned.get(task.key)
        flops = int(task.flops)
        return TaskRow(
            index,
            task.key,
            task.name,
            task.weight,
            latency,
            speed(flops, latency),
            state.trials,
            state.failed,
            untuned,
            word,
            loop.scheduler.terms(index).reason,
        )

    def table(self) -> pandas.DataFrame:
        """Return the task table: one row per task."""
        import pandas

        rows = self.snapshot().rows
        columns = {
            "id": [r.id for r in rows],
            "task": [r.name for r in rows],
            "weight": [r.weight for r in rows],
            "latency_ms": [r.latency_ms for r in rows],
            "gflops": [r.gflops for r in rows],
            "trials": [r.trials for r in rows],
            "failed": [r.failed for r in rows],
            "untuned_ms": [r.untuned_ms for r in rows],
            "state": [r.state for r in rows],
        }
        frame = pandas.DataFrame(columns)
        return frame.astype({"latency_ms": "float64", "gflops": "float64", "untuned_ms": "float64"})

    def frame(self) -> pandas.DataFrame:
        """Return all trials in the form of `read_log`."""
        return to_frame(self._loop.records)

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
        from workbench.tune.database import Database
        from workbench.tune.replay import schedule_of

        if task is None and len(self.tasks) > 1:
            raise UsageError("usage.task", "The session has several tasks; say which one", (), "best(0) or best(task)")
        found = self.tasks[0] if task is None else self.tasks[position(self.tasks, getattr(task, "key", task))]
        record = Database(self._loop.records).best(found.key)
        if record is None:
            hint = "let the session measure some trials first, or read the errors in frame()"
            raise UsageError("usage.nothing_measured", "No trial of this task was valid so far", [found.name], hint)
        return schedule_of(found, record)

    def __repr__(self) -> str:
        tasks = f"{len(self.tasks)} task{'s' if len(self.tasks) != 1 else ''}"
        done, total = len(self._loop.records), self._loop.trials
        return f"<TuningSession {self.state}: {tasks}, {done}{f' of {total}' if total is not None else ''} trials>"

    def _repr_html_(self) -> str:
        from workbench.tune.html import session_html

        return session_html(self)


_LIVE: weakref.WeakSet[TuningSession] = weakref.WeakSet()


def _cancel_all() -> None:
    """At interpreter exit: no worker may outlive its session."""
    for session in list(_LIVE):
        session.cancel()
        session.join(5.0)


atexit.register(_cancel_all)


def _check_budget(trials: int | None, seconds: float | None) -> None:
    if trials is not None:
        whole("trials", trials, code="usage.trials")
    if seconds is not None:
        real("seconds", seconds, above=0.0, code="usage.seconds")
