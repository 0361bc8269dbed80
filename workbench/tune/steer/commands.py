"""What a running session can be told: pause, resume, stop, cancel, pin, forbid, release, add, budget, epsilon.

Each command is one declaration, see `orders`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from workbench.errors import UsageError
from workbench.forms import Many, Real, Table, Text, Whole
from workbench.tune.options import check_epsilon, is_epsilon
from workbench.tune.plan.task_selection import position
from workbench.tune.steer.command_forms import (
    ORDERS,
    Order,
    TaskRef,
    documentation,
    order,
    parse_order,
    read_order,
)

if TYPE_CHECKING:
    from workbench.tune.state.run_state import Standing, Wishes
    from workbench.tune.steer.command_queue import CommandQueue

__all__ = ["ORDERS", "Order", "documentation", "parse_order", "read_order"]


class _Move(Order):
    __slots__ = ()

    def settle(self, queue: CommandQueue) -> Order:
        """Refuse what would mean nothing now."""
        queue.check_move(self.name)
        return self

    def act(self, queue: CommandQueue) -> None:
        """Change the session's state."""
        queue.move(self.name)


@order("pause")
@dataclass(frozen=True, slots=True)
class Pause(_Move):
    """Hold after the trial in flight."""


@order("resume")
@dataclass(frozen=True, slots=True)
class Resume(_Move):
    """Go on after `pause`."""


@order("stop")
@dataclass(frozen=True, slots=True)
class Stop(_Move):
    """End after the trial in flight and keep everything."""


@order("cancel")
@dataclass(frozen=True, slots=True)
class Cancel(_Move):
    """End now; the trial in flight is thrown away."""


def _require_active(queue: CommandQueue, index: int) -> None:
    if index not in queue.standing.scheduler.active:
        message = "This task is not tuned in this run"
        raise UsageError("steer.task", message, [queue.tasks[index].name], "start a run that tunes it")
    fault = queue.standing.scheduler.faults.get(index)
    if fault is not None:
        raise UsageError(
            "steer.task", f"This task was given up: {fault}", [queue.tasks[index].name], "the next run tries it again"
        )


@dataclass(frozen=True, slots=True)
class _OfTask(Order):
    task: Annotated[str, TaskRef("the task: its number, key or name")]

    def _index(self, queue: CommandQueue) -> int:
        return position(queue.tasks, self.task)

    def _settled(self, queue: CommandQueue, **changes: Any) -> Any:
        return replace(self, task=queue.tasks[self._index(queue)].key, **changes)

    def _checked(self, queue: CommandQueue) -> Any:
        """Try it on a copy of what is ruled out so far."""
        settled = self._settled(queue)
        wishes = queue.standing.wishes[settled.task].copy()
        settled.change(wishes)
        queue.check_wishes(self._index(queue), wishes)
        return settled

    def apply(self, standing: Standing) -> None:
        """Change what is ruled out for the task."""
        wishes = standing.wishes.get(self.task)
        if wishes is not None:
            changed = wishes.copy()  # the loop may be reading what there is
            self.change(changed)
            changed.version += 1
            standing.wishes[self.task] = changed
            standing.scheduler.reopen(self.task)

    def change(self, wishes: Wishes) -> None:
        """Change what is ruled out."""


@order("pin")
@dataclass(frozen=True, slots=True)
class Pin(_OfTask):
    """Hold a hole, a number that the tuner chooses, at one value in all candidates that are proposed from now on."""

    hole: Annotated[str, Text("the hole, by its name in the schedule", names="hole")]
    value: Annotated[int, Whole("the value", of="hole")]

    def settle(self, queue: CommandQueue) -> Order:
        """Refuse what no candidate can meet."""
        checked: Order = self._checked(queue)
        return checked

    def change(self, wishes: Wishes) -> None:
        """Pin it."""
        wishes.pins[self.hole] = self.value


@order("forbid")
@dataclass(frozen=True, slots=True)
class Forbid(_OfTask):
    """Propose no more candidates with certain values of a hole, or of one sketch of the task."""

    hole: Annotated[str, Text("the hole, by its name in the schedule", names="hole")] = ""
    values: Annotated[tuple[int, ...], Many("the values", Whole(), single=True, of="hole")] = ()
    variant: Annotated[
        int | None, Whole("the sketch, by its number: a loop nest whose sizes are holes", names="variant")
    ] = None

    def settle(self, queue: CommandQueue) -> Order:
        """Refuse what would leave no candidate."""
        if bool(self.hole) != bool(self.values) or not (self.hole or self.variant is not None):
            raise UsageError("steer.argument", "'forbid' needs a hole and its values, or a variant", [self.name])
        checked: Order = self._checked(queue)
        return checked

    def change(self, wishes: Wishes) -> None:
        """Forbid it."""
        if self.hole:
            wishes.forbids.setdefault(self.hole, set()).update(self.values)
        if self.variant is not None:
            wishes.variants.add(self.variant)


@order("release")
@dataclass(frozen=True, slots=True)
class Release(_OfTask):
    """Take back what was pinned or forbidden: of a hole, of a sketch, or of the whole task."""

    hole: Annotated[str, Text("only this hole", names="hole")] = ""
    variant: Annotated[int | None, Whole("only this sketch", names="variant")] = None

    def settle(self, queue: CommandQueue) -> Order:
        """Refuse when there is nothing to take back."""
        settled: Release = self._settled(queue)
        wishes = queue.standing.wishes[settled.task]
        changed = wishes.copy()
        settled.change(changed)
        if changed == wishes:
            held = [*wishes.pins, *wishes.forbids, *(f"sketch {v}" for v in sorted(wishes.variants))]
            hint = f"held are: {', '.join(held)}" if held else "nothing is pinned or forbidden for this task"
            raise UsageError("steer.nothing", "There is nothing to release", [self.task], hint)
        return settled

    def change(self, wishes: Wishes) -> None:
        """Take it back."""
        everything = not self.hole and self.variant is None
        for table in (wishes.pins, wishes.forbids):
            for hole in list(table):
                if everything or hole == self.hole:
                    del table[hole]
        if everything:
            wishes.variants.clear()
        elif self.variant is not None:
            wishes.variants.discard(self.variant)


@order("add")
@dataclass(frozen=True, slots=True)
class Add(_OfTask):
    """Measure a candidate next: a whole schedule as its trace, or a sketch with a value for every hole."""

    variant: Annotated[int | None, Whole("the sketch that the row belongs to, by its number", names="variant")] = None
    row: Annotated[Mapping[str, int], Table("the value of every hole", Whole())] = field(default_factory=dict)
    trace: Annotated[tuple[Mapping[str, Any], ...], Many("the schedule: what `Schedule.to_json` returns", Table())] = ()
    key: Annotated[str, Text("structural key of the candidate", hidden=True)] = ""

    def settle(self, queue: CommandQueue) -> Order:
        """Refuse what is no candidate of the task, or was measured already."""
        if bool(self.trace) == (self.variant is not None):
            raise UsageError("steer.argument", "'add' needs either a variant and a row, or a trace", [self.name])
        index = self._index(queue)
        _require_active(queue, index)
        given = queue.given(index, -1 if self.variant is None else self.variant, self.row, self.trace)
        # As the schedule itself writes it: what else stood in the trace has no meaning, and may be anything.
        trace = tuple(given.schedule.to_json()) if self.trace and given.schedule is not None else self.trace
        settled: Add = self._settled(queue, key=given.key, trace=trace)
        standing = queue.standing
        if given.key in standing.measured[settled.task]:
            found = next(r for r in standing.records if r.task_key == settled.task and r.key == given.key)
            message = f"This candidate has been measured: it was trial {found.trial}"
            raise UsageError("steer.measured", message, [queue.tasks[index].name])
        if any(a["key"] == given.key for a in standing.wishes[settled.task].added):
            raise UsageError("steer.measured", "This candidate waits to be measured", [queue.tasks[index].name])
        return settled

    def apply(self, standing: Standing) -> None:
        """Put it among those that are measured next."""
        wishes = standing.wishes.get(self.task)
        if wishes is not None and self.key and self.key not in standing.measured[self.task]:
            wishes.added.append(self.to_json())


@order("budget")
@dataclass(frozen=True, slots=True)
class SetBudget(Order):
    """Change how much may be tried in all, or give one task more trials, which it gets before all others."""

    trials: Annotated[int | None, Whole("trials in all, those in the log included")] = None
    seconds: Annotated[float | None, Real("time limit of this run in seconds, counted from its start")] = None
    task: Annotated[str | None, TaskRef("the task that gets more: its number, key or name")] = None
    more: Annotated[int | None, Whole("so many more trials: for the task, if one is named")] = None
    until: Annotated[int, Whole("trials of the task up to which it goes before all others", hidden=True)] = 0

    def settle(self, queue: CommandQueue) -> Order:
        """Work out the new limits."""
        for name, value in (("trials", self.trials), ("seconds", self.seconds), ("more", self.more)):
            if value is not None and not value > 0:
                raise UsageError("steer.argument", f"{name} has to be above 0, not {value:g}", [self.name])
        if self.task is not None and self.more is None:
            raise UsageError("steer.argument", "Say with 'more' how many more trials the task gets", [self.name])
        if self.trials is None and self.seconds is None and self.more is None:
            raise UsageError("steer.argument", "'budget' needs trials, seconds or more", [self.name])
        if self.more is None:
            return self
        if self.trials is not None:
            raise UsageError("steer.argument", "'budget' takes either trials or more, not both", [self.name])
        standing = queue.standing
        limit = standing.budget.trials
        # A limit that was lowered below what is used up would swallow the new ones.
        trials = None if limit is None else max(limit, len(standing.records)) + self.more
        if self.task is None:
            if trials is None:
                message, hint = "This run has no limit in trials that could be raised", "give seconds, or a task"
                raise UsageError("steer.argument", message, [self.name], hint)
            return replace(self, trials=trials)
        index = position(queue.tasks, self.task)
        scheduler = standing.scheduler
        _require_active(queue, index)
        until = scheduler.states[index].trials + scheduler.owed(index) + self.more
        return replace(self, task=queue.tasks[index].key, trials=trials, until=until)

    def apply(self, standing: Standing) -> None:
        """Set the new limits; those in seconds belong to one run and do not come back with the log."""
        if self.trials is not None:
            standing.budget.trials = self.trials
        if self.task is not None and self.until:
            standing.scheduler.promise(self.task, self.until)

    def act(self, queue: CommandQueue) -> None:
        """Set the time limit."""
        if self.seconds is not None:
            queue.standing.budget.seconds = self.seconds


@order("epsilon")
@dataclass(frozen=True, slots=True)
class SetEpsilon(Order):
    """Change the share of candidates that are drawn at random, whatever the model expects of them."""

    value: Annotated[float, Real("the share, 0 to 1")]

    def settle(self, queue: CommandQueue) -> Order:
        """Refuse what is no share."""
        try:
            check_epsilon(self.value)
        except UsageError as error:
            raise UsageError("steer.argument", error.message, [self.name]) from None
        return self

    def apply(self, standing: Standing) -> None:
        """Set it; a log that was changed by hand may hold anything."""
        if is_epsilon(self.value):
            standing.epsilon = self.value
