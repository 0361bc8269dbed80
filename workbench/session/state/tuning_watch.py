"""A tuning run as the session sees it: what has come in, what it says, where its log lies."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from workbench.errors import TuneError, WorkbenchError
from workbench.log import Comparison, NetworkTime, Record, Round
from workbench.session.state.statistics import rounded
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.state.events import FINAL, Event, Snapshot
from workbench.tune.state.run_end import end_text, waiting_text
from workbench.tune.state.trial_forecast import forecast, left

TERMS = ("gain", "backward", "optimism", "similarity")
"""What the task scheduler expects of a task."""

NONE: dict[str, Any] = {
    "state": "none", "trials": 0, "total": None, "elapsed_s": None, "eta_s": None, "fraction": None, "rate": None,
    "end": "",
    "failed": 0, "scope": "", "log": "", "message": "", "best_ready": False,
    "best_why": "the tuner has no result for this task yet",
}  # fmt: skip


_MOVES = {
    "pause": ("running", "paused"), "resume": ("paused",), "stop": ("idle", "running", "paused"),
    "cancel": ("idle", "running", "paused", "stopping"),
}  # fmt: skip
"""States in which a person's command means something."""


@contextmanager
def held(watch: TuningWatch | None) -> Iterator[bool]:
    """Hold a run while something else is measured; yields whether one was running."""
    holding = watch is not None and watch.hold()
    try:
        yield holding
    finally:
        if watch is not None and holding:
            watch.release()


class TuningWatch:
    """Follows one tuning run.

    Parameters
    ----------
    changed : callable
        Called in the tuning thread with whether it is urgent (the state changed); it only takes note.
    """

    def __init__(self, tuning: TuningSession, scope: str, changed: Callable[[bool], object]) -> None:
        self.tuning, self.scope = tuning, scope
        self.message = ""
        self.told = False  # whether the failure was told
        self._seen = 0
        self._changed = changed
        self._hold = threading.Lock()
        self.held = False
        self._outlook: tuple[object, Mapping[str, Mapping[str, Any]]] = (None, {})
        self._unsubscribe = tuning.events.subscribe(self._event)

    def _event(self, event: Event) -> None:
        if event.kind == "warning":
            self.message = event.message
        self._changed(event.kind in ("state", "command"))

    def fresh(self) -> tuple[Record | Comparison | NetworkTime, ...]:
        """Return the lines of times that came in since the last call, in the order of the log."""
        new = self.tuning.lines[self._seen :]
        self._seen += len(new)
        return new

    @property
    def live(self) -> bool:
        """Whether it may still change."""
        return self.tuning.state not in FINAL

    @property
    def ended(self) -> bool:
        """Whether everything is tidied up, so that `failure` is known."""
        return self.tuning.join(0.0)

    def failure(self) -> WorkbenchError | None:
        """Return why it failed, once it has ended."""
        try:
            self.tuning.wait(0.0)
        except WorkbenchError as error:
            return error
        return None

    def hold(self) -> bool:
        """Pause for a measurement by hand; False when it was not running."""
        with self._hold:
            if self.tuning.state != "running":
                return False
            self.held = True
            self.tuning.hold(True)
            return True

    def release(self) -> None:
        """Go on after `hold`, unless somebody has paused meanwhile."""
        with self._hold:
            if self.held:
                self.held = False
                self.tuning.hold(False)

    def steer(self, name: str, args: Mapping[str, Any], source: str) -> None:
        """Carry out a declared command of the run."""
        with self._hold:
            if name in ("pause", "resume"):  # a person decides now, whatever held the run
                self.held = False
            self.tuning.steer(name, source=source, **args)

    def move(self, name: str, source: str) -> None:
        """Pause, resume, stop or cancel; nothing where that means nothing."""
        state = self.tuning.state
        if name == "resume" and state == "idle":
            self.tuning.start()
        elif state in _MOVES[name]:
            with suppress(TuneError):  # it ended just now
                self.steer(name, {}, source)

    def slice(self, snapshot: Snapshot) -> dict[str, Any]:
        """Return the slice `tuning`, but for what it says of the best."""
        p = snapshot.progress
        state = "running" if self.held and snapshot.state == "paused" else snapshot.state
        return {
            "state": state, "trials": p.trials, "total": p.total, "elapsed_s": round(p.elapsed_s, 1),
            "eta_s": None if p.eta_s is None else round(p.eta_s, 1), "fraction": round(p.fraction, 4),
            "end": snapshot.end, "rate": rounded(p.rate, 3), "failed": sum(r.failed for r in snapshot.rows),
            "scope": self.scope, "log": self.tuning.log or "", "message": self._told(snapshot), "best_ready": False,
            "best_why": NONE["best_why"],
        }  # fmt: skip

    def _told(self, snapshot: Snapshot) -> str:
        """Say why it ended and what was left; before that, and where there is nothing to say, what it said last."""
        given_up = any(row.state == "given up" for row in snapshot.rows)
        if self.scope == "all":
            why = end_text(snapshot.end, given_up=given_up)
        elif why := end_text(snapshot.end, f"this {self.scope}", given_up):
            why += f", {self.tuning.new_trials} of them in this run" if snapshot.end == "exhausted" else ""
        left_out = waiting_text(snapshot.waiting, self.tuning.log) if snapshot.end else ""
        untimed = f"end to end was not measured: {snapshot.untimed}" if why and snapshot.untimed else ""
        return "; ".join(filter(None, (why or self.message, untimed, left_out)))

    def outlook(self, snapshot: Snapshot) -> Mapping[str, Mapping[str, Any]]:
        """Return by the keys of the tasks what the scheduler expects of each.

        Times are in milliseconds of the task per round, `gain` in those of the whole model; `more` is how many of the
        trials that are left the task is expected to get, None once the run comes to its end. Made anew when a round has
        ended or the run has changed; in between, a task's trials are taken off what was to come.
        """
        over = snapshot.state in (*FINAL, "stopping")
        made_of = (len(self.tuning.rounds), snapshot.state, snapshot.progress.total)
        if made_of != self._outlook[0]:
            terms = [self.tuning.terms(row.id) for row in snapshot.rows]
            more = (None if over else forecast(snapshot, terms)) or (None,) * len(terms)
            found = {
                row.key: {**_terms(one, row.rounds), "more": n, "had": row.trials}
                for row, one, n in zip(snapshot.rows, terms, more, strict=True)
            }
            self._outlook = made_of, found
        rest = left(snapshot.progress)
        return {row.key: _taken_off(self._outlook[1][row.key], row.trials, rest) for row in snapshot.rows}

    def close(self) -> None:
        """Stop listening; the run goes on, and is not left on hold."""
        self._unsubscribe()
        self.release()


def _taken_off(expected: Mapping[str, Any], trials: int, rest: int | None) -> dict[str, Any]:
    """Return what is expected of a task that has had so many trials by now, when so many are left for all."""
    out = {name: value for name, value in expected.items() if name != "had"}
    if out["more"] is not None and rest is not None:
        out["more"] = max(0, min(rest, out["more"] - (trials - expected["had"])))
    return out


def remembered(rounds: Iterable[Round]) -> dict[str, dict[str, Any]]:
    """Return by the keys of the tasks what a log's scheduler expected of each before its last round."""
    rounds = tuple(rounds)
    lines = {line.task_key: line for line in rounds}
    had = Counter(line.task_key for line in rounds)
    return {
        key: {**_terms(line, had[key]), "more": None, "reason": f"before its last round: {line.reason}"}
        for key, line in lines.items()
    }


def _terms(expected: object, rounds: int) -> dict[str, Any]:
    """What the scheduler expects of a task, beside how many rounds it had."""
    return {"rounds": rounds, **{name: rounded(getattr(expected, name), 3) for name in TERMS}}
