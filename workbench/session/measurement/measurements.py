"""What is measured for a session, beside its own thread: states of the schedule on show, and the machine's peak."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from workbench.errors import LogError, TargetError
from workbench.graph.tasks import Task
from workbench.log import Comparison, Record
from workbench.runtime.machine.measured_roofline import measure_all_threads, product_peaks
from workbench.runtime.machine.queue_line import Waiting
from workbench.schedule import Schedule
from workbench.session.core.notifications import error_note
from workbench.session.core.publisher import Publisher
from workbench.session.core.threads import Lane, Worker
from workbench.session.state import results as measuring
from workbench.session.state.history import View
from workbench.session.state.results import Key, Result
from workbench.session.state.session_state import SessionState
from workbench.session.state.tuning_watch import held

AGAIN = "measured again when the machine was quiet"
"""Why another number stands where a disturbed one stood."""


class Measurements:
    """Measures in a lane, and puts what comes out onto the state in the session's thread."""

    def __init__(self, state: SessionState, worker: Worker, lane: Lane, publisher: Publisher) -> None:
        self._state, self._worker, self._lane, self._publisher = state, worker, lane, publisher
        self._peak_asked = False

    def request(self, view: View, again: bool = False) -> None:
        """Measure a state; a request that still waits gives way. Call it in the session's thread.

        Parameters
        ----------
        again : bool
            Whether that is because what was measured before was disturbed: what is disturbed once more says nothing.
        """
        doing = self._state.doing
        if doing.get(view.key) == "measuring":
            return
        self.ask_peak()
        dropped = self._lane.submit("measure", partial(self._measure, view, again))
        if isinstance(dropped, partial):
            doing.pop(dropped.args[0].key, None)
        doing[view.key] = "queued" if doing else "measuring"

    def in_line(self, waiting: Waiting) -> None:
        """Say where a measurement of this session stands in the line; from any thread."""
        self._worker.put(lambda: self._in_line(str(waiting) if waiting.ahead else ""))

    def _in_line(self, said: str) -> None:
        if said != self._state.in_line:
            self._state.in_line = said
            self._publisher.changed(urgent=False)

    def ask_peak(self) -> None:
        """Measure the peak of this machine once, of one core and of all threads, beside everything else."""
        known = self._state.peak_measured and all(self._state.peaks.values())
        if known or self._peak_asked:
            return
        try:
            self._state.target.require_roofs()
        except TargetError:  # of another machine, or of a device
            return
        self._peak_asked = True
        self._lane.submit("peak", self._measure_peak)

    def peak_pending(self) -> bool:
        """Whether the peak is still to come."""
        return self._lane.pending("peak")

    def _measure(self, view: View, again: bool) -> None:
        """Measure, in the lane's thread; tuning waits meanwhile."""
        with held(self._state.watch) as holding:
            self._worker.put(lambda: self._measuring(view.key, holding))
            result = measuring.measure(view.schedule, self._state.target, self._state.constants)
        said = None if again and result.why_not else replace(result, measurement=None, remark=AGAIN if again else "")
        if said is not None:
            self._keep(view.key, self._state.infos[view.key[0]].task, view.schedule, result)
        self._worker.put(lambda: self._measured(view.key, said))

    def _keep(self, key: Key | None, task: Task | None, schedule: Schedule, result: Result) -> None:
        if task is not None and result.measurement is not None:
            self._state.manual_trials.keep(key, task, schedule, result.measurement)

    def _measuring(self, key: Key, held: bool) -> None:
        if held or self._state.doing.get(key) != "measuring":
            self._publisher.changed()
        self._state.doing[key] = "measuring"

    def _measured(self, key: Key, result: Result | None) -> None:
        self._state.doing.pop(key, None)
        if result is not None:
            self._state.history.results[key] = result
        self._publisher.changed()
        self.write()

    def write(self) -> None:
        """Bring what was measured into the log, beside the session's thread; a run that is under way keeps the log to
        itself until it ends. Call it in the session's thread.
        """
        state = self._state
        if state.manual_trials.waiting and state.log_now is not None and (state.watch is None or not state.watch.live):
            known = {info.key for info in state.infos if state.stats.of(info.key).untuned_ms is not None}
            self._lane.submit("log", partial(self._write, state.log_now, known))

    def _write(self, path: str, known: set[str]) -> None:
        state = self._state
        for task, usual in state.manual_trials.yardsticks(known):
            self._keep(None, task, usual, measuring.measure(usual, state.target, state.constants))
        try:
            written = state.manual_trials.write(path)
        except LogError as error:
            about = error_note(error)
            self._worker.put(lambda: self._written([], about))
            return
        self._worker.put(lambda: self._written(written, None))

    def close(self) -> None:
        """Write what was not written yet; where a run goes on, when it ends."""
        state, watch = self._state, self._state.watch
        path = state.log_now
        if not state.manual_trials.waiting or path is None:
            return

        def rest() -> None:
            if watch is not None:
                watch.tuning.join()
            with suppress(LogError):
                state.manual_trials.write(path)

        if watch is not None and watch.live:
            threading.Thread(target=rest, name="workbench-log", daemon=True).start()
        else:
            rest()

    def _written(self, records: list[Record | Comparison], about: dict[str, Any] | None) -> None:
        self._state.stats.add(records)
        self._state.note = about or self._state.note
        self._publisher.changed()

    def _measure_peak(self) -> None:
        target = self._state.target
        peak, whole = target.peak_gflops(), measure_all_threads(target)
        peaks = product_peaks(target, target.threads, self._state.peaks)
        self._worker.put(lambda: self._take_peak(peak, whole, peaks))

    def _take_peak(self, peak: float, whole: float, peaks: dict[str, float]) -> None:
        state = self._state
        state.peaks = {**state.peaks, **peaks}
        state.peak, state.peak_of_all, state.peak_measured = peak, whole, True
        self._publisher.changed()
