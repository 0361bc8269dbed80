"""The states that a schedule went through, and moving among them; what a primitive does is not known here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from workbench.arguments import is_a, shown, whole
from workbench.errors import ScheduleError, UsageError
from workbench.ir import Func
from workbench.schedule.holes import fill
from workbench.schedule.primitive import Primitive
from workbench.schedule.recent_results import Lately
from workbench.schedule.trace import Trace

S = TypeVar("S", bound="States")


class State:
    """A step and the function after it; for a filled schedule the numbers are put in when somebody asks."""

    __slots__ = ("_filled", "_func", "_row", "step")

    def __init__(self, step: Primitive, func: Func, row: dict[str, int] | None = None) -> None:
        self.step, self._func, self._row = step, func, row
        self._filled = func if row is None else None

    @property
    def func(self) -> Func:
        """The function after the step."""
        if self._filled is None:  # two threads may both fill it, with the same result
            self._filled = fill(self._func, self._row or {})
        return self._filled


class States:
    """A cursor over states: those behind it were taken, those before it were taken back.

    States are values that never change, so moving, going back and copying cost nothing. One lock makes every move
    whole: a widget and a cell may move the same cursor.
    """

    def __init__(self, base: Func, target: Any = None, source: str | None = None) -> None:
        self.target: Any = target
        self.source = source
        self._base = base
        self._done: tuple[State, ...] = ()
        self._undone: tuple[State, ...] = ()
        self._lock = threading.RLock()
        self._watchers: tuple[Callable[[], object], ...] = ()
        self._lately = Lately()

    # ----- where it stands

    @property
    def base(self) -> Func:
        """The function before the first step."""
        return self._base

    @property
    def func(self) -> Func:
        """The function as scheduled so far."""
        return self._done[-1].func if self._done else self._base

    @property
    def trace(self) -> Trace:
        """The steps taken."""
        return tuple(s.step for s in self._done)

    @property
    def undone(self) -> Trace:
        """The steps that `redo` would take, next one first."""
        return tuple(s.step for s in reversed(self._undone))

    # ----- moving

    def undo(self: S, n: int = 1) -> S:
        """Take back the last `n` steps (fewer when there are not as many)."""
        with self._lock:
            if n := min(whole("n", n, 0), len(self._done)):
                self._move(self._done[:-n], (*self._undone, *reversed(self._done[-n:])))
        return self

    def redo(self: S, n: int = 1) -> S:
        """Take the last `n` undone steps again."""
        with self._lock:
            if n := min(whole("n", n, 0), len(self._undone)):
                self._move((*self._done, *reversed(self._undone[-n:])), self._undone[:-n])
        return self

    def go_to(self: S, other: States) -> S:
        """Go to the state in which another schedule of the same function is.

        Whoever watches this one sees a single move. What was undone here is forgotten, as after a step.

        Raises
        ------
        ScheduleError
            "schedule.other" when `other` began from another function.
        """
        is_a("other", other, States, "go to a Schedule: s.go_to(t)")
        with other._lock:
            done = other._done
        if other._base is not self._base and other._base != self._base:
            raise ScheduleError(
                "schedule.other",
                f"The schedule is one of {other._base.name}, which is another function than {self._base.name}.",
                (other._base.name, self._base.name),
                "apply its steps instead: Schedule.from_json(func, other.to_json())",
            )
        with self._lock:
            self._move(done, ())
        return self

    def watch(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` after every change, in the thread that made it; returns the function that ends this.

        A copy is not watched. The callback should only take note and return.
        """
        if not callable(callback):
            raise UsageError("usage.type", f"A watcher is called, and {shown(callback)} cannot be.", ("callback",))
        with self._lock:
            self._watchers = (*self._watchers, callback)

        def unwatch() -> None:
            with self._lock:
                self._watchers = tuple(w for w in self._watchers if w is not callback)

        return unwatch

    def _move(self, done: tuple[State, ...], undone: tuple[State, ...]) -> None:
        self._done, self._undone = done, undone
        for callback in self._watchers:
            callback()

    # ----- branching

    def copy(self: S) -> S:
        """Branch: a schedule in the same state that goes its own way from here."""
        new = self._fresh()
        with self._lock:
            new._done, new._undone = self._done, self._undone
        return new

    def prefix(self: S, n: int) -> S:
        """Branch from an earlier state: a schedule in which only the first `n` steps are taken."""
        new = self._fresh()
        with self._lock:
            new._done = self._done[: whole("n", n, 0)]
        return new

    def _fresh(self: S) -> S:
        new = type(self)(self._base, self.target, self.source)
        new._lately = self._lately
        return new
