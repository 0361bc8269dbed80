"""Taking the steps of a schedule on another computation, one by one, and saying which of them do not fit there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workbench.errors import UsageError, WorkbenchError
from workbench.graph.tasks import Task
from workbench.ir import Func
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule
from workbench.schedule.primitive import Primitive
from workbench.session.core.notifications import NO_PROGRAM_HINT, note
from workbench.session.state.session_state import SessionState
from workbench.session.state.variant_tree import TreeNode, keys_of


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """A step that was taken again, or why it could not be; `ok` is None for one that was not tried."""

    text: str
    ok: bool | None
    code: str = ""
    reason: str = ""
    where: tuple[str, ...] = ()
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return what a front end shows."""
        return {
            "text": self.text, "ok": self.ok, "reason": self.reason, "hint": self.hint, "where": list(self.where),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of it.

    Attributes
    ----------
    schedule : Schedule
        With the steps that were legal: all of them, those before the first that was not, or, where such steps were
        left out, the others.
    steps : tuple of ReplayStep
        Every step of the original.
    onto : str
        What they were taken on.
    """

    schedule: Schedule
    steps: tuple[ReplayStep, ...]
    onto: str

    @property
    def failed_at(self) -> int | None:
        """Position of the first step that is not legal there; None when all are."""
        return next((k for k, step in enumerate(self.steps) if step.ok is False), None)

    @property
    def ok(self) -> bool:
        """Whether every step could be taken."""
        return self.failed_at is None

    def to_json(self) -> dict[str, Any]:
        """Return what a front end shows."""
        return {"onto": self.onto, "steps": [s.to_json() for s in self.steps], "failed_at": self.failed_at}

    @shown_legibly
    def __str__(self) -> str:
        marks = {True: " ", False: "x", None: "-"}
        lines = [f"onto {self.onto}"]
        for step in self.steps:
            why = f"    {step.reason} [{step.code}]" if step.reason else ""
            lines.append(f"{marks[step.ok]} {step.text}{why}")
        return "\n".join(lines)

    __repr__ = __str__


def replay(schedule: Schedule, onto: Task | Func, *, skip: bool = False) -> Replayed:
    """Take the steps of a schedule on another task or function.

    Parameters
    ----------
    schedule : Schedule
        Stays as it is.
    onto : Task or Func
        The same computation in another shape, or another one altogether.
    skip : bool
        Whether to go on after a step that is not legal there, without it.

    Examples
    --------
    >>> from workbench import Schedule, workloads
    >>> s = Schedule(workloads.matmul(64, 64, 64))
    >>> _ = s.split("j", [None, 16]), s.split("i", [None, 64])
    >>> there = replay(s, workloads.matmul(32, 48, 64))
    >>> there.failed_at, there.steps[1].code
    (1, 'split.divides')
    """
    there = Schedule(onto)
    return Replayed(there, take(there, schedule.trace, skip=skip), getattr(onto, "name", "") or there.base.name)


def take(there: Schedule, trace: Iterable[Primitive], *, skip: bool = False) -> tuple[ReplayStep, ...]:
    """Take steps on a schedule until one is not legal, or with `skip` all that are; returns what came of each."""
    steps: list[ReplayStep] = []
    stopped = False
    for step in trace:
        if stopped:
            steps.append(ReplayStep(str(step), None))
            continue
        try:
            there.apply(step)
        except WorkbenchError as e:
            steps.append(ReplayStep(str(step), False, e.code, e.message, tuple(e.where), e.hint))
            stopped = not skip
        else:
            steps.append(ReplayStep(str(step), True))
    return tuple(steps)


def carry(state: SessionState, node: TreeNode, index: int, *, skip: bool = False) -> Replayed:
    """Take a variant's steps on another task, and show that task with what came of it as a branch.

    Raises
    ------
    UsageError
        "session.no_program" where the task has none.
    """
    info = state.infos[index]
    if info.task is None:
        raise UsageError("session.no_program", "The log does not hold the program", (), NO_PROGRAM_HINT)
    origin = state.infos[state.find(None)].name
    found = replay(node.schedule, info.task, skip=skip)
    state.open_task(index)
    tree = state.tree
    keys = keys_of(index, found.schedule)
    before = next(n for key in reversed(keys[:-1] or keys) if (n := tree.find(key)) is not None)
    label = f"v{node.id} of {origin}"
    state.go(tree.add(before.id, found.schedule, edge="replay", by="hand", label=label))
    state.note = _note(node, info.name, found, skip) | {"replay": found.to_json()}
    return found


def _note(node: TreeNode, onto: str, found: Replayed, skip: bool) -> dict[str, Any]:
    """Say what came of it, with the first step that was not legal."""
    at, n = found.failed_at, len(found.steps)
    steps = f"{n} step{'s' if n != 1 else ''}"
    if at is None:
        return note("info", f"The {steps} of v{node.id} could all be taken on {onto}", "session.replayed")
    bad = found.steps[at]
    failed = sum(step.ok is False for step in found.steps)
    done = f"{failed} of the {steps} of v{node.id} left out on {onto}, first" if skip else f"On {onto}"
    text = f"{done} step {at + 1} of v{node.id}, {bad.text}, is not legal: {bad.reason}"
    return note("warn", text, bad.code, bad.hint, bad.where)
