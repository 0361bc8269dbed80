"""What is measured for a session, beside its own thread: states of the schedule on show, and the machine's peak."""

from __future__ import annotations

from functools import partial

from . import measuring
from .board import Board
from .desk import Desk
from .history import View
from .measuring import Key, Result
from .worker import Lane, Worker


class Bench:
    """Measures in a lane, and puts what comes out onto the desk in the session's thread."""

    def __init__(self, desk: Desk, worker: Worker, lane: Lane, board: Board) -> None:
        self._desk, self._worker, self._lane, self._board = desk, worker, lane, board
        self._peak_asked = False

    def request(self, view: View) -> None:
        """Measure a state; a request that still waits gives way. Call it in the session's thread."""
        doing = self._desk.doing
        if doing.get(view.key) == "measuring":
            return
        self.ask_peak()
        dropped = self._lane.submit("measure", partial(self._measure, view))
        if isinstance(dropped, partial):
            doing.pop(dropped.args[0].key, None)
        doing[view.key] = "queued" if doing else "measuring"

    def ask_peak(self) -> None:
        """Measure the peak of this machine once, beside everything else."""
        if self._desk.peak is not None or self._peak_asked or self._desk.target.missing_here():
            return
        self._peak_asked = True
        self._lane.submit("peak", self._measure_peak)

    def peak_pending(self) -> bool:
        """Whether the peak is still to come."""
        return self._lane.pending("peak")

    def _measure(self, view: View) -> None:
        """Measure, in the lane's thread; tuning waits meanwhile."""
        watch = self._desk.watch
        held = watch.hold() if watch is not None else False
        self._worker.put(lambda: self._measuring(view.key, held))
        try:
            result = measuring.measure(view.schedule, self._desk.target, self._desk.constants)
        finally:
            if watch is not None and held:
                watch.release()
        self._worker.put(lambda: self._measured(view.key, result))

    def _measuring(self, key: Key, held: bool) -> None:
        if held or self._desk.doing.get(key) != "measuring":
            self._board.changed()
        self._desk.doing[key] = "measuring"

    def _measured(self, key: Key, result: Result) -> None:
        self._desk.doing.pop(key, None)
        self._desk.history.results[key] = result
        self._board.changed()

    def _measure_peak(self) -> None:
        peak = self._desk.target.peak_gflops()
        self._worker.put(lambda: self._take_peak(peak))

    def _take_peak(self, peak: float) -> None:
        self._desk.peak = peak
        self._board.changed()
