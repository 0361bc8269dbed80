"""While somebody looks: how busy the machine is, and what was disturbed measured again once it is quiet."""

from __future__ import annotations

import time
from collections import Counter

from workbench.runtime.machine.system_load import Load, LoadWatch
from workbench.session.core.publisher import Publisher
from workbench.session.core.threads import Lane, Worker
from workbench.session.measurement.measurements import Measurements
from workbench.session.state.history import View
from workbench.session.state.results import Key
from workbench.session.state.session_state import SessionState

LASTS_S = 25.0
"""So long after its last sign somebody is taken to look; a front end gives one every ten seconds."""

LOOK_S, FIRST_LOOK_S = 2.5, 1.0
"""Between two looks at the machine, and between the first two: one alone tells nothing."""

AGAIN_S = 5.0
"""Between the beginnings of two measurements that nobody has asked for."""

ATTEMPTS = 4
"""So often a state is measured again."""


class LoadMonitor:
    """Used in the session's thread; only the looks are taken in a lane.

    Nothing is looked at while something is measured or tuned: that takes time from it, and would tell of nothing else.

    Parameters
    ----------
    worker : Worker
        The session's.
    lane : Lane
        Where looks are taken.
    """

    def __init__(
        self, state: SessionState, measurements: Measurements, publisher: Publisher, worker: Worker, lane: Lane
    ) -> None:
        self._state, self._measurements, self._publisher = state, measurements, publisher
        self._worker, self._lane = worker, lane
        self._watch = LoadWatch()
        self._until = self._next = self._tried_at = float("-inf")
        self._tried: Counter[Key] = Counter()

    def renew(self) -> None:
        """Somebody looks."""
        self._until = time.monotonic() + LASTS_S

    def due(self, now: float) -> float | None:
        """Look at the machine when it is time; return in how many seconds to ask again, None when nobody looks."""
        if now >= self._until:
            self._tell(None)
            return None
        if self._tuning():
            self._tell(None)
        if self._tuning() or self._measuring():
            self._next = float("-inf")
            self._watch.forget()
            return None  # when that has ended, it is asked again
        if now >= self._next:
            self._next = now + LOOK_S
            self._lane.submit("load", self._look)
        return self._next - now

    def _tuning(self) -> bool:
        watch = self._state.watch
        return watch is not None and watch.live and watch.tuning.state != "paused"

    def _measuring(self) -> bool:
        state = self._state
        return bool(state.doing) or any(match.state == "running" for match in state.history.contests.values())

    def _look(self) -> None:
        """Look at the machine, in the lane's thread."""
        load = self._watch.look()
        self._worker.put(lambda: self._looked(load))

    def _looked(self, load: Load | None) -> None:
        if self._tuning() or self._measuring():
            return
        if load is None:
            self._next = min(self._next, time.monotonic() + FIRST_LOOK_S)
            return
        self._tell(load)
        now = time.monotonic()
        if load.leaves(self._state.target.threads) and now - self._tried_at >= AGAIN_S and (view := self._doubtful()):
            self._tried_at = now
            self._tried[view.key] += 1
            self._measurements.request(view, again=True)

    def _tell(self, load: Load | None) -> None:
        if load is not self._state.load and (load is None or not load.like(self._state.load)):
            self._state.load = load
            self._publisher.changed(urgent=False)

    def _doubtful(self) -> View | None:
        """Return a state of the task on show to measure again, that on show first: its measurement was disturbed."""
        state, shown = self._state, self._state.view()
        if shown is None or not state.auto or (state.watch is not None and state.watch.live):
            return None
        tree = state.history.trees[shown.key[0]]
        for node in sorted(tree.nodes.values(), key=lambda node: node.id != shown.node):
            result = state.history.result(node.key)
            if result is not None and result.why_not and node.by != "tuner" and self._tried[node.key] < ATTEMPTS:
                return View.of(tree.task, node.schedule, node.id)
        return None
