"""What the panel of variants does, for Python."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from workbench.analysis.loop_nest.code_diff import Difference, difference
from workbench.analysis.loop_nest.code_listing import CodeKind
from workbench.arguments import is_a
from workbench.arguments import path as as_path
from workbench.errors import RunError, UsageError
from workbench.graph.tasks import Task
from workbench.ir import Func
from workbench.runtime.results.contest import Contest
from workbench.session import Session
from workbench.session.schedule_view import edit_step as changing
from workbench.session.schedule_view.current_schedule import measure_new
from workbench.session.state.results import Key
from workbench.session.state.verdicts import PairResult
from workbench.session.variants.saved_file import load, save
from workbench.session.variants.table import Variants, variants
from workbench.session.variants.transfer import Replayed, carry
from workbench.widgets.target_methods import OfSessions

T = TypeVar("T")
W = TypeVar("W", bound="VariantMethods")


class VariantMethods(OfSessions):
    """Methods of a `Workbench` that are about the variants of the task on show; a variant is given by its number."""

    @property
    def variants(self) -> Variants:
        """All variants: a table, and ``w.variants[5]`` is a copy of the schedule of v5."""
        return self._ask(lambda: variants(self._session.state))

    def save_variants(self: W, path: str | os.PathLike[str]) -> W:
        """Write the variants of all tasks, their names, stars and times to a JSON file.

        ``Workbench(model, variants=path)`` does so by itself whenever something changes.
        """
        to = as_path("path", path)
        self._session.run(lambda: save(self._session.state, to))
        return self

    def load_variants(self: W, path: str | os.PathLike[str]) -> W:
        """Take in what `save_variants` has written, and show what was on show then; what is here stays.

        Raises
        ------
        UsageError
            "variants.missing", "variants.file" for a file that is not there or holds something else.
        """
        at = as_path("path", path)
        self._session.run(lambda: load(self._session.state, at))
        return self

    def goto(self: W, node: int) -> W:
        """Show a variant."""
        self._session.run("goto", step=node)
        return self

    def open_trial(self: W, trial: int, task: Task | int | str | None = None) -> W:
        """Show a trial's schedule as a branch of what it was made of, to go on with it by hand.

        Parameters
        ----------
        trial : int
            Its number, as the log and the charts have it.
        task : Task, int or str, optional
            Which task it is of; needed only where several logs were opened that number their trials alike.
        """
        self._session.run("open_trial", trial=trial, task=task)
        return self

    def open_default(self: W, task: Task | int | str | None = None) -> W:
        """Show the schedule that a task has without tuning, as a branch; that on show when `task` is left out."""
        self._session.run("open_default", task=task)
        return self

    def name(self: W, node: int, text: str) -> W:
        """Give a variant a name; "" takes it away."""
        self._session.run("name", node=node, text=text)
        return self

    def star(self: W, node: int, on: bool = True) -> W:
        """Mark a variant as one to come back to, or take the mark away."""
        self._session.run("star", node=node, on=on)
        return self

    def add_task(self: W, task: Task | Func) -> W:
        """Make a task known that was not part of the subject: a row of the table, and something to replay onto."""
        state = self._session.state
        is_a("task", task, (Task, Func), "give a task, or a Func such as wb.workloads.matmul(64, 64, 64)")
        found = task if isinstance(task, Task) else Task.of_func(task, state.target)
        self._session.run(lambda: state.add_task(found))
        return self

    def replay(self, node: int, onto: Task | Func | int | str, *, skip: bool = False) -> Replayed:
        """Take a variant's steps on another task, and show that task with what came of it as a branch.

        Parameters
        ----------
        node : int
            The variant.
        onto : Task, Func, int or str
            A task of the workbench (itself, its number, key or name), or another one, which is made known.
        skip : bool
            Whether to go on after a step that is not legal there, without it.
        """
        state = self._session.state

        def work() -> Replayed:
            found = state.variant(node)
            task = Task.of_func(onto, state.target) if isinstance(onto, Func) else onto
            index = state.add_task(task) if isinstance(task, Task) else state.find(task)
            out = carry(state, found, index, skip=skip)
            measure_new(self._session)
            return out

        return self._ask(work)

    def change(self, step: int, /, **args: object) -> Replayed:
        """Change arguments of an earlier step of the schedule on show, and take the later ones again, as a branch.

        A later step that is not legal any more ends it: what was taken before stays, and the step is named.

        Parameters
        ----------
        step : int
            Which step of ``w.schedule.trace``, from 1.
        **args
            New values of that primitive's parameters, such as ``factors=[16, 2, 32]``; the others stay.

        Raises
        ------
        UsageError, ScheduleError
            "session.step" when there is no such step; "primitive.argument", or why the changed step itself is not
            legal. Nothing has changed then.
        """
        state = self._session.state

        def work() -> Replayed:
            out = changing.change(state, state.variant(), step, args)
            measure_new(self._session)
            return out

        return self._ask(work)

    def compare(self, a: int, b: int, kind: CodeKind = "nest") -> Difference:
        """Return what differs between the code of two variants; `kind` is nest, c, llvm or asm."""
        first, second = self._ask(lambda: [self._session.state.variant(n).schedule.copy() for n in (a, b)])
        return difference(first, second, kind, target=self._session.state.target)

    def contest(self, a: int, b: int) -> Contest:
        """Measure two variants against each other and wait for the outcome.

        Contests of the same two count together; where they contradict each other, `why_not` says so.

        Returns
        -------
        Contest
            All turns of both: ``ratio(1)`` is the time of `b` over that of `a`; ``confidence(1)`` how sure it is that
            `b` is faster.

        Raises
        ------
        RunError
            "session.contest" when one of them fails.
        UsageError
            "session.closed", and "session.thread" in an observer, which holds up the thread that the outcome would
            come through.
        """
        history, (first, second) = self._session.state.history, self._keys(a, b)
        pair = frozenset((first, second))
        wait_for(
            self._session,
            lambda: self._session.run("contest", a=a, b=b),
            lambda: history.contests[pair].state != "running",
        )
        match: PairResult = history.contests[pair]
        if not match.contests or match.state:
            text = match.error or "The contest was not finished"
            raise RunError("session.contest", text, (f"v{a}", f"v{b}"), "measure each of them by itself")
        return replace(match.seen_from(first), names=(f"v{a}", f"v{b}"))

    def _keys(self, *nodes: int) -> list[Key]:
        return self._ask(lambda: [self._session.state.variant(node).key for node in nodes])

    def _ask(self, work: Callable[[], T]) -> T:
        """Call a function in the session's thread and return what it returns."""
        out: list[T] = []
        self._session.run(lambda: out.append(work()))
        return out[0]


def wait_for(session: Session, ask: Callable[[], object], done: Callable[[], bool]) -> None:
    """Ask for something that is measured and wait until it is done, so that a cell is not disturbed by it.

    Raises
    ------
    UsageError
        "session.thread" in an observer, which holds up the thread that the number would come through;
        "session.closed" when the workbench was closed meanwhile.
    """
    if session.here():
        text = "Cannot wait for a measurement in an observer of the workbench"
        raise UsageError("session.thread", text, (), "w.session.submit(...) only asks for the number")
    news = threading.Event()
    unsubscribe = session.subscribe(lambda _message: news.set())
    try:
        ask()
        while not done():
            news.wait(0.5)
            news.clear()
            if session.closed:
                raise UsageError("session.closed", "The workbench was closed during the measurement")
    finally:
        unsubscribe()
