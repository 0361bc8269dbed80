"""`Session`: commands in, patches out; one thread works, one measures, and both end when there is nothing to do."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from workbench.arguments import is_a, path
from workbench.codegen.backend import backend_for
from workbench.errors import UsageError
from workbench.graph.tasks import Task
from workbench.runtime.machine import turns
from workbench.schedule import Schedule
from workbench.session import registry
from workbench.session.compute_slices import Slices
from workbench.session.core.notifications import error_note
from workbench.session.core.protocol import Snapshot, error_json, state_message
from workbench.session.core.publisher import TUNING_GAP_S, Deliver, Publisher, hand_over
from workbench.session.core.questions import Questions
from workbench.session.core.threads import Call, Lanes, Worker
from workbench.session.measurement.machine_load import LoadMonitor
from workbench.session.measurement.measurements import Measurements
from workbench.session.state.history import View
from workbench.session.state.opening_notes import first_note
from workbench.session.state.session_input import open_subject
from workbench.session.state.session_state import SessionState
from workbench.session.state.task_costs import settle
from workbench.target import Target
from workbench.tune.run.tuning_session import TuningSession

CLOCK_S = 1.0
"""How often elapsed time and the like are renewed while tuning runs and nothing else happens."""

_log = logging.getLogger(__name__)


class Session:
    """What a user interface works with, free of any user interface.

    Every method may be called from any thread. Commands are queued and run one after the other; whoever subscribed gets
    the difference after them. See `workbench.session.registry`.

    Parameters
    ----------
    subject : Graph, path, Task, list of Task, Func, Schedule, TuningSession or DataFrame
        A path is that of an ONNX model (or the name of one that the onnx package carries) or of a tuning log. A
        schedule and a tuning session are shared, not copied.
    log : path, optional
        Where tuning writes; by default a name made from the subject's in the working directory. What it holds already
        is shown.
    target : Target, optional
        What to compile for; that of the subject, else this machine.
    auto_measure : bool
        Whether every step that is taken through the session is measured.
    **loading
        For a model: `precision`, as for `compile`. For a model's file: `shapes` and `dynamic`, as for
        `load_onnx`, and `fill_weights`, the seed of weights that are made up.

    Raises
    ------
    UsageError
        "workbench.subject" for something that cannot be shown.
    ModelError, LogError
        What is wrong with a file.
    """

    def __init__(
        self,
        subject: Any,
        *,
        log: str | os.PathLike[str] | None = None,
        target: Target | None = None,
        auto_measure: bool = True,
        **loading: Any,
    ) -> None:
        if target is not None:
            is_a("target", target, Target)
        log_path = None if log is None else path("log", log)
        opened = open_subject(subject, target, log_path, loading)
        if opened.tuning is not None:
            log_path = log_path or opened.tuning.log
        runs_here = backend_for(opened.target).run_problem(opened.target) is None
        self._lock = threading.Lock()
        self._noticed = False
        hear = partial(turns.hear_while_alive, self, lambda session, waiting: session._measurements.in_line(waiting))
        self._worker = Worker("workbench-session", self._between, hear)
        self._barriers: list[threading.Event] = []
        self._flushes: list[threading.Event] = []
        self._calls: list[Call] = []
        self._tuning_news = self._tuning_urgent = False
        self._closed = False
        self.source = "python"
        self.state = SessionState(opened, log_path, bool(auto_measure) and runs_here, self._notice, self._tuning_event)
        self.state.note = first_note(self.state)
        slices = Slices(self.state)
        self._publisher = Publisher(slices.first(), slices.next)
        self._lanes = Lanes(self._worker.idle, hear)
        self._measurements = Measurements(self.state, self._worker, self._lanes.lane("measure"), self._publisher)
        self._questions = Questions(partial(registry.answer, self), self._worker, self._lanes, self._publisher)
        self._load_watch = LoadMonitor(
            self.state, self._measurements, self._publisher, self._worker, self._lanes.lane("load")
        )

    # ----- what there is

    def snapshot(self) -> Snapshot:
        """Return everything that is shown, as of the last command that was finished."""
        return self._publisher.snapshot

    @property
    def schedule(self) -> Schedule | None:
        """The schedule on show, with which who asks goes on; None for a tuning log."""
        self.state.begun = True
        return self.state.schedule

    @property
    def task(self) -> Task | None:
        """The task on show."""
        self.state.begun = True
        return self.state.task

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks; empty for a tuning log."""
        return tuple(t.task for t in self.state.infos if t.task is not None)

    @property
    def tuning(self) -> TuningSession | None:
        """The tuning run that is followed, or was last."""
        return None if self.state.watch is None else self.state.watch.tuning

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def here(self) -> bool:
        """Whether the caller runs in the session's thread, as subscribers do: no place to wait for it."""
        return self._worker.here()

    # ----- commands and questions

    def submit(self, cmd: str | Callable[..., object], args: Mapping[str, Any] | None = None, id: str = "") -> None:
        """Queue a command; returns at once and never raises. A patch with `id` in ``done`` or ``failed`` settles it.

        A function instead of a name is called in the session's thread.
        """
        self._worker.put(lambda: self._do(cmd, {} if args is None else args, id), awaited=True)

    def run(self, cmd: str | Callable[..., object], **args: Any) -> None:
        """Run a command and wait until it is done and `snapshot` shows it.

        Raises
        ------
        WorkbenchError
            What the command raises; "session.closed" after `close`.
        """
        if self._worker.here():
            registry.run(self, cmd, args)
            self._publisher.changed()
            self._publisher.renew()
            self._worker.put(_wake)
            return
        call = Call()
        with self._lock:
            self._calls.append(call)
        if not self._worker.put(lambda: self._call(call, cmd, args), awaited=True) or self._closed:
            call.end(_closed())
        call.event.wait()
        if call.error is not None:
            raise call.error

    def ask(self, q: str, args: Any, reply: Deliver) -> None:
        """Ask a question; `reply` gets ``{ok, value}`` or ``{ok, error}`` in the session's thread.

        A newer question of the same kind takes the place of one that waits, which is answered with the error
        "session.superseded". See `workbench.session.registry`.
        """
        self._questions.ask(q, args, reply)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all that was submitted is done and sent; False when `timeout` seconds passed first.

        A measurement that runs is not waited for.
        """
        if self._worker.here():
            return True
        barrier = threading.Event()
        with self._lock:
            self._flushes.append(barrier)
        try:
            if not self._worker.put(lambda: self._barriers.append(barrier)) or self._closed:
                return True
            return barrier.wait(timeout)
        finally:
            with self._lock:
                self._flushes.remove(barrier)

    # ----- who listens

    def subscribe(self, callback: Deliver) -> Callable[[], None]:
        """Call `callback` with every patch, in the session's thread; returns the function that ends this."""
        return self._publisher.subscribe(callback)

    def greet(self, deliver: Deliver) -> None:
        """Send the whole state to `deliver`; patches sent from then on go on from there."""

        def answer() -> None:
            self._publisher.renew()
            self._publisher.send()
            hand_over(deliver, state_message(self._publisher.snapshot))
            self._measurements.ask_peak()

        self._worker.put(answer)

    def attend(self) -> None:
        """Take note that somebody looks: for a while the machine's load is watched, see `LoadMonitor`."""
        self._worker.put(self._load_watch.renew)

    def close(self) -> None:
        """End the session: its threads end, nobody is told anything more. Tuning goes on."""
        self._closed = True
        self._publisher.forget()
        self._lanes.close()
        self._worker.close(5.0)
        self._measurements.close()
        self.state.close()
        with self._lock:  # those that come later see `_closed`
            calls, flushes = tuple(self._calls), tuple(self._flushes)
        for call in calls:
            call.end(_closed())
        for barrier in flushes:
            barrier.set()

    # ----- in the session's thread: jobs

    def _do(self, cmd: str | Callable[..., object], args: Any, id: str) -> None:
        self.source = "widget" if id else "python"
        error = self._attempt(cmd, args)
        if error is not None:
            _report(error)
        if id:
            self._publisher.settle(id, error)

    def _call(self, call: Call, cmd: str | Callable[..., object], args: Any) -> None:
        self.source = "python"
        error = self._attempt(cmd, args)
        self._publisher.renew()
        with self._lock:
            self._calls.remove(call)
        call.end(error)

    def _attempt(self, cmd: str | Callable[..., object], args: Any) -> Exception | None:
        """Run a command; return what went wrong."""
        try:
            registry.run(self, cmd, args)
        except Exception as error:
            return error
        finally:
            self._publisher.changed()
        return None

    def request(self, view: View) -> None:
        """Measure a state; for the commands."""
        self._measurements.request(view)

    def later(self, kind: str, work: Callable[[], Callable[[], None] | None], lane: str = "work") -> None:
        """Do what takes long beside the session's thread; for the commands."""

        def job() -> None:
            try:
                then = work()
            except Exception as error:
                failure = error
                self._worker.put(lambda: self._fail(failure))
                return
            if then is not None:
                self._worker.put(lambda: self._finish(then))

        self._lanes.lane(lane).submit(kind, job)

    def _finish(self, then: Callable[[], None]) -> None:
        try:
            then()
            self._measurements.write()
        except Exception as error:
            self._fail(error)
        self._publisher.changed()

    def _fail(self, error: Exception) -> None:
        """Tell of what went wrong beside the session's thread: nobody waits for it."""
        _report(error)
        self.state.note = error_note(error)
        self._publisher.changed()

    # ----- news from other threads

    def _notice(self) -> None:
        """Take note that the schedule moved; may run in any thread, under the schedule's own lock."""
        if self._worker.here():  # by a command, or by a subscriber while a patch goes out
            self._publisher.changed()
            self._worker.put(_wake)
            return
        with self._lock:
            if self._noticed:
                return
            self._noticed = True
        self._worker.put(self._take_notice)

    def _take_notice(self) -> None:
        with self._lock:
            self._noticed = False
        self._publisher.changed()

    def _tuning_event(self, urgent: bool) -> None:
        with self._lock:
            self._tuning_news, self._tuning_urgent = True, self._tuning_urgent or urgent
        self._worker.put(_wake)

    def _follow(self, now: float) -> None:
        """Take in what tuning has brought, not more often than it may be shown."""
        watch = self.state.watch
        if watch is None:
            return
        with self._lock:
            news, urgent = self._tuning_news, self._tuning_urgent
            clock = watch.tuning.state == "running" and now - self._publisher.computed_at >= CLOCK_S
            if not clock and not urgent and not (news and now - self._publisher.computed_at >= TUNING_GAP_S):
                return
            self._tuning_news = self._tuning_urgent = False
        self.state.stats.add(watch.fresh())
        self._publisher.changed(urgent=False)

    def _tell_failure(self) -> bool:
        """Make a note of a failed run once its reason is known; returns whether that is still to come."""
        watch = self.state.watch
        if watch is None or watch.told or watch.live:
            return False
        if not watch.ended:
            return True
        watch.told = True
        self.state.stats.add(watch.fresh())
        self._measurements.write()
        if (error := watch.failure()) is not None:
            self.state.note = error_note(error)
        elif (self.state.note or {}).get("code") == "session.resumed":
            self.state.note = None  # it was about the run that has ended
        self._publisher.changed()
        return False

    # ----- in the session's thread: showing

    def shown(self) -> Mapping[str, Any]:
        """Return the slices as they are now."""
        self._publisher.renew()
        return self._publisher.snapshot.slices

    def _between(self) -> float | None:
        """Compute, send when it is time, and return when to look again."""
        now, publisher, watch = time.monotonic(), self._publisher, self.state.watch
        self._follow(now)
        waits = [TUNING_GAP_S] if self._tell_failure() else []
        settle(self.state)
        publisher.renew()
        for kind, work in self.state.to_estimate():
            self.later(kind, work, "estimate")
        since = now - publisher.computed_at
        if watch is not None and watch.tuning.state == "running" and publisher.watched:
            waits.append(max(0.01, CLOCK_S - since))
        waits += [max(0.01, TUNING_GAP_S - since)] if self._tuning_news else []
        waits += [look] if (look := self._load_watch.due(now)) is not None else []
        rest = publisher.post(now)
        self._questions.tell()
        if rest is not None:
            waits.append(rest)
        elif not self._measurements.peak_pending():
            while self._barriers:
                self._barriers.pop(0).set()
        elif self._barriers:
            waits.append(0.05)
        return min(waits, default=None)


def _closed() -> UsageError:
    return UsageError("session.closed", "The session was closed", (), "open a new one")


def _report(error: BaseException) -> None:
    """Log what no user caused."""
    if error_json(error)["code"] == "internal":
        _log.error("a command of a session failed", exc_info=error)


def _wake() -> None:
    """Make the session's thread look."""
