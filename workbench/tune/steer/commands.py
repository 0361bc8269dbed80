"""What a running session can be told: pause, resume, stop, cancel, pin, forbid, release, add, budget, epsilon.

Each command is one declaration, see `command_forms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from workbench.arguments import share
from workbench.errors import UsageError
from workbench.forms import Many, Real, Table, Text, Whole
from workbench.tune.plan.task_selection import position
from workbench.tune.steer.command_forms import (
    STEERING_COMMANDS,
    SteeringCommand,
    TaskRef,
    documentation,
    read_command,
    steering_command,
)

if TYPE_CHECKING:
    from workbench.tune.state.run_state import RunState, TaskRequests
    from workbench.tune.steer.command_dispatcher import CommandQueue

__all__ = ["STEERING_COMMANDS", "SteeringCommand", "documentation", "read_command"]


class _Move(SteeringCommand):
    __slots__ = ()

    def settle(self, queue: CommandQueue) -> SteeringCommand:
        """Refuse what would mean nothing now."""
        queue.check_move(self.name)
        return self

    def act(self, queue: CommandQueue) -> None:
        """Change the session's state."""
        queue.move(self.name)


@steering_command("pause")
@dataclass(frozen=True, slots=True)
class Pause(_Move):
    """Hold after the trial in flight."""


@steering_command("resume")
@dataclass(frozen=True, slots=True)
class Resume(_Move):
    """Go on after `pause`."""


@steering_command("stop")
@dataclass(frozen=True, slots=True)
class Stop(_Move):
    """End after the trial in flight and keep everything; a network is timed as it is then."""


@steering_command("cancel")
@dataclass(frozen=True, slots=True)
class Cancel(_Move):
    """End now; the trial in flight is thrown away."""


def _require_active(queue: CommandQueue, index: int) -> None:
    if index not in queue.run_state.scheduler.active:
        message = "This task is not tuned in this run"
        raise UsageError("steer.task", message, [queue.tasks[index].name], "start a run that tunes it")
    fault = queue.run_state.scheduler.faults.get(index)
    if fault is not None:
        raise UsageError(
            "steer.task", f"This task was given up: {fault}", [queue.tasks[index].name], "the next run tries it again"
        )


@dataclass(frozen=True, slots=True)
class _OfTask(SteeringCommand):
    task: Annotated[str, TaskRef("the task: its number, key or name")]

    def _index(self, queue: CommandQueue) -> int:
        return position(queue.tasks, self.task)

    def _settled(self, queue: CommandQueue, **changes: Any) -> Any:
        return replace(self, task=queue.tasks[self._index(queue)].key, **changes)

    def _checked(self, queue: CommandQueue) -> Any:
        """Try it on a copy of what is ruled out so far."""
        settled = self._settled(queue)
        requests = queue.run_state.requests[settled.task].copy()
        settled.change(requests)
        queue.check_requests(self._index(queue), requests)
        return settled

    def apply(self, run_state: RunState) -> None:
        """Change what is ruled out for the task."""
        requests = run_state.requests.get(self.task)
        if requests is not None:
            changed = requests.copy()  # the loop may be reading what there is
            self.change(changed)
            changed.version += 1
            run_state.requests[self.task] = changed
            run_state.scheduler.reopen(self.task)

    def change(self, requests: TaskRequests) -> None:
        """Change what is ruled out."""


@steering_command("pin")
@dataclass(frozen=True, slots=True)
class Pin(_OfTask):
    """Hold a hole, a number that the tuner chooses, at one value in all candidates that are proposed from now on."""

    hole: Annotated[str, Text("the hole, by its name in the schedule", names="hole")]
    value: Annotated[int, Whole("the value", of="hole")]

    def settle(self, queue: CommandQueue) -> SteeringCommand:
        """Refuse what no candidate can meet."""
        checked: SteeringCommand = self._checked(queue)
        return checked

    def change(self, requests: TaskRequests) -> None:
        """Pin it."""
        requests.pins[self.hole] = self.value


@steering_command("forbid")
@dataclass(frozen=True, slots=True)
class Forbid(_OfTask):
    """Propose no more candidates with certain values of a hole, or of one sketch of the task."""

    hole: Annotated[str, Text("the hole, by its name in the schedule", names="hole")] = ""
    values: Annotated[tuple[int, ...], Many("the values", Whole(), single=True, of="hole")] = ()
    variant: Annotated[
        int | None, Whole("the sketch, by its number: a loop nest whose sizes are holes", names="variant")
    ] = None

    def settle(self, queue: CommandQueue) -> SteeringCommand:
        """Refuse what would leave no candidate."""
        if bool(self.hole) != bool(self.values) or not (self.hole or self.variant is not None):
            raise UsageError("steer.argument", "'forbid' needs a hole and its values, or a variant", [self.name])
        checked: SteeringCommand = self._checked(queue)
        return checked

    def change(self, requests: TaskRequests) -> None:
        """Forbid it."""
        if self.hole:
            requests.forbids.setdefault(self.hole, set()).update(self.values)
        if self.variant is not None:
            requests.variants.add(self.variant)


@steering_command("release")
@dataclass(frozen=True, slots=True)
class Release(_OfTask):
    """Take back what was pinned or forbidden: of a hole, of a sketch, or of the whole task."""

    hole: Annotated[str, Text("only this hole", names="hole")] = ""
    variant: Annotated[int | None, Whole("only this sketch", names="variant")] = None

    def settle(self, queue: CommandQueue) -> SteeringCommand:
        """Refuse when there is nothing to take back."""
        settled: Release = self._settled(queue)
        requests = queue.run_state.requests[settled.task]
        changed = requests.copy()
        settled.change(changed)
        if changed == requests:
            held = [*requests.pins, *requests.forbids, *(f"sketch {v}" for v in sorted(requests.variants))]
            hint = f"held are: {', '.join(held)}" if held else "nothing is pinned or forbidden for this task"
            raise UsageError("steer.nothing", "There is nothing to release", [self.task], hint)
        return settled

    def change(self, requests: TaskRequests) -> None:
        """Take it back."""
        everything = not self.hole and self.variant is None
        for table in (requests.pins, requests.forbids):
            for hole in list(table):
                if everything or hole == self.hole:
                    del table[hole]
        if everything:
            requests.variants.clear()
        elif self.variant is not None:
            requests.variants.discard(self.variant)


@steering_command("add")
@dataclass(frozen=True, slots=True)
class Add(_OfTask):
    """Measure a candidate next: a whole schedule as its trace, or a sketch with a value for every hole."""

    variant: Annotated[int | None, Whole("the sketch that the row belongs to, by its number", names="variant")] = None
    row: Annotated[Mapping[str, int], Table("the value of every hole", Whole())] = field(default_factory=dict)
    trace: Annotated[tuple[Mapping[str, Any], ...], Many("the schedule: what `Schedule.to_json` returns", Table())] = ()
    key: Annotated[str, Text("structural key of the candidate", hidden=True)] = ""

    def settle(self, queue: CommandQueue) -> SteeringCommand:
        """Refuse what is no candidate of the task, or was measured already."""
        if bool(self.trace) == (self.variant is not None):
            raise UsageError("steer.argument", "'add' needs either a variant and a row, or a trace", [self.name])
        index = self._index(queue)
        _require_active(queue, index)
        given = queue.given(index, -1 if self.variant is None else self.variant, self.row, self.trace)
        # As the schedule itself writes it: what else stood in the trace has no meaning, and may be anything.
        trace = tuple(given.schedule.to_json()) if self.trace and given.schedule is not None else self.trace
        settled: Add = self._settled(queue, key=given.key, trace=trace)
        run_state = queue.run_state
        if given.key in run_state.measured[settled.task]:
            found = next(r for r in run_state.records if r.task_key == settled.task and r.key == given.key)
            message = f"This candidate has been measured: it was trial {found.trial}"
            raise UsageError("steer.measured", message, [queue.tasks[index].name])
        if any(a["key"] == given.key for a in run_state.requests[settled.task].added):
            raise UsageError("steer.measured", "This candidate waits to be measured", [queue.tasks[index].name])
        return settled

    def apply(self, run_state: RunState) -> None:
        """Put it among those that are measured next."""
        requests = run_state.requests.get(self.task)
        if requests is not None and self.key and self.key not in run_state.measured[self.task]:
            requests.added.append(self.to_json())


@steering_command("budget")
@dataclass(frozen=True, slots=True)
class SetBudget(SteeringCommand):
    """Change how much may be tried in all, or give one task more trials, which it gets before all others."""

    trials: Annotated[int | None, Whole("trials in all, those in the log included")] = None
    seconds: Annotated[float | None, Real("time limit of this run in seconds, counted from its start")] = None
    task: Annotated[str | None, TaskRef("the task that gets more: its number, key or name")] = None
    more: Annotated[int | None, Whole("so many more trials: for the task, if one is named")] = None
    until: Annotated[int, Whole("trials of the task up to which it goes before all others", hidden=True)] = 0

    def settle(self, queue: CommandQueue) -> SteeringCommand:
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
        run_state = queue.run_state
        limit = run_state.budget.trials
        # A limit that was lowered below what is used up would swallow the new ones.
        trials = None if limit is None else max(limit, len(run_state.records)) + self.more
        if self.task is None:
            if trials is None:
                message, hint = "This run has no limit in trials that could be raised", "give seconds, or a task"
                raise UsageError("steer.argument", message, [self.name], hint)
            return replace(self, trials=trials)
        index = position(queue.tasks, self.task)
        scheduler = run_state.scheduler
        _require_active(queue, index)
        until = scheduler.states[index].trials + scheduler.owed(index) + self.more
        return replace(self, task=queue.tasks[index].key, trials=trials, until=until)

    def apply(self, run_state: RunState) -> None:
        """Set the new limits; those in seconds belong to one run and do not come back with the log."""
        if self.trials is not None:
            run_state.budget.trials = self.trials
        if self.task is not None and self.until:
            run_state.scheduler.promise(self.task, self.until)

    def act(self, queue: CommandQueue) -> None:
        """Set the time limit."""
        if self.seconds is not None:
            queue.run_state.budget.seconds = self.seconds


@steering_command("epsilon")
@dataclass(frozen=True, slots=True)
class SetEpsilon(SteeringCommand):
    """Change the share of candidates that are drawn at random, whatever the model expects of them."""

    value: Annotated[float, Real("the share, 0 to 1")]

    def settle(self, queue: CommandQueue) -> SteeringCommand:
        """Refuse what is no share."""
        share("epsilon", self.value, "steer.argument")
        return self

    def apply(self, run_state: RunState) -> None:
        """Set it; a log that was changed by hand may hold anything."""
        with suppress(UsageError):
            run_state.epsilon = share("epsilon", self.value)
