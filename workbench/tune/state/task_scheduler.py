"""Which task gets the next batch of trials.

The objective is the sum of weight · latency over all tasks, or a user's function of the latencies. `GradientScheduler`
estimates for every task how many milliseconds of it one more round would save, and picks the largest:

- *backward*: what the last `window` rounds saved per round, as comparisons have confirmed it;
- *optimism*: after n rounds, latency / n (a task that was hardly tried can still surprise), times `patience` to the
  power of the rounds since its last gain (what has not moved for long will hardly move now);
- *similarity*: what would be saved if the task reached 1/beta of the best speed among similar tasks. It fades out after
  `trust` rounds, because a task that did not get there by then probably cannot.

``gain = slope · (alpha · backward + (1 - alpha) · max(optimism, similarity))``

where the slope is what the objective loses with a millisecond of the task: its weight, or a finite difference.

No task is ever given up after a bad round: one without any valid trial is judged by the slowest speed seen so far, and
its claim shrinks with every failed round but never to zero. With early stopping a task *rests* after so many rounds
without a gain, until the others have gone without one as long; then all go on. The whole state follows from the lines
of the log in their order, so a resumed session continues with the state that the killed one had. Only what cannot go on
(`faults`: a rule or a search of the user's that raises) is tried again by the next run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from workbench.log import Record
from workbench.log.ledger import NetworkLedger
from workbench.log.record import speed
from workbench.log.weighted_latency import total
from workbench.registry import Registry
from workbench.tune.state.objective import Goal, finite_or
from workbench.tune.state.task_state import TaskState

if TYPE_CHECKING:
    from workbench.log import Comparison, NetworkTime, Round
    from workbench.tune.options import Objective


class TaskLike(Protocol):
    """What a scheduler needs to know about a task."""

    @property
    def key(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def weight(self) -> int: ...
    @property
    def flops(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Terms:
    """The gradient's terms of one task, in milliseconds of the task per round; `gain` in units of the objective."""

    backward: float
    optimism: float
    similarity: float
    gain: float
    reason: str


class TaskScheduler:
    """Common part: state per task, kept up to date by `observe` and `compare`.

    Parameters
    ----------
    tasks : sequence of tasks
        In the order in which they are shown.
    active : iterable of int, optional
        Indices that may get trials; all when left out.
    objective : callable, optional
        See `workbench.tune.state.objective.Goal`.
    early_stop : int, optional
        Rounds without a gain after which a task rests.
    confirm : bool, optional
        Whether a trial that undercuts the champion has to win a comparison before it is the best; None where it is not
        known, because the log is older (see `TaskState.observe`).

    Attributes
    ----------
    faults : dict of int to str
        Tasks that were given up in this run, because something of theirs failed again and again: what it was.
    whole : NetworkLedger
        What the network takes.
    stretched : dict of int to float
        Tasks whose calls were timed inside the network: how many times as long as alone one takes there.
    """

    def __init__(
        self,
        tasks: Sequence[TaskLike],
        active: Iterable[int] | None = None,
        *,
        objective: Objective | None = None,
        early_stop: int | None = None,
        confirm: bool | None = False,
    ) -> None:
        self.tasks = tuple(tasks)
        self.active = tuple(range(len(tasks)) if active is None else active)
        self.states = tuple(TaskState() for _ in self.tasks)
        self.goal = Goal(self.tasks, objective)
        self.early_stop, self.confirm = early_stop, confirm
        self.faults: dict[int, str] = {}
        self.whole = NetworkLedger()
        self.stretched: dict[int, float] = {}
        self._index = {task.key: i for i, task in enumerate(self.tasks)}

    def _of(self, key: str) -> TaskState:
        """Return the state of a task; one that is thrown away for a task that is not of this run."""
        return self.states[self._index[key]] if key in self._index else TaskState()

    def observe(self, record: Record) -> None:
        """Take one trial into account; records of unknown tasks are ignored."""
        self._of(record.task_key).observe(record, self.confirm)

    def finish(self, line: Round) -> None:
        """Take the end of a round into account: one in which nothing but the default schedule was timed counts, too."""
        self._of(line.task_key).begin(line.round, self.confirm)

    def compare(self, line: Comparison) -> None:
        """Take one comparison into account; those of unknown tasks or trials are ignored."""
        self._of(line.task_key).compare(line)

    def place(self, line: NetworkTime) -> None:
        """Take into account what the network takes, and tasks inside it."""
        self.whole.take(line)
        found = self.whole.last or line
        self.stretched = {self._index[key]: times for key, times in found.stretched().items() if key in self._index}

    def settle(self, confirm: bool) -> None:
        """Go on with or without comparisons; without them, nothing waits for one any longer."""
        self.confirm = confirm
        for state in self.states if not confirm else ():
            state.settle()
            state.pending.clear()

    def exhaust(self, index: int) -> None:
        """Note that the search has no further candidate for a task."""
        self.states[index].exhausted = True

    def reopen(self, key: str) -> None:
        """Note that the search of a task may have candidates again: what is ruled out has changed."""
        self._of(key).exhausted = False

    def promise(self, key: str, until: int) -> None:
        """Let a task go before all others until it has had so many trials."""
        state = self._of(key)
        state.promised = max(state.promised, until)

    # ---- choosing ----

    @property
    def open_tasks(self) -> list[int]:
        """Tasks that may get trials now."""
        return [i for i in self.active if not self.states[i].exhausted and i not in self.faults]

    def next(self, leave_out: Iterable[int] = ()) -> int | None:
        """Return the index of the task to work on, or None when every space is exhausted."""
        out = set(leave_out)
        open_tasks = [i for i in self.open_tasks if i not in out]
        owed = [i for i in open_tasks if self.owed(i)]
        if owed:
            return min(owed)
        fresh = [i for i in open_tasks if self.states[i].rounds == 0]
        if fresh:  # warm-up: the heaviest first, so that a small budget goes where it matters
            slopes = self.slopes()
            return max(fresh, key=lambda i: (slopes[i] * self.tasks[i].flops, -i))
        awake = [i for i in open_tasks if not self.resting(i)]
        return self._choose(awake) if awake else None

    def _choose(self, open_tasks: Sequence[int]) -> int:
        raise NotImplementedError

    def owed(self, index: int) -> int:
        """Trials that the task was promised and has not had yet."""
        return max(0, self.states[index].promised - self.states[index].trials)

    def _rested(self, index: int) -> int:
        return self.states[index].stalled // self.early_stop if self.early_stop else 0

    def resting(self, index: int) -> bool:
        """Whether the task has gone without a gain for longer than some other task that may get trials."""
        if not self.early_stop or self.owed(index) or self.states[index].rounds == 0:
            return False
        return self._rested(index) > min((self._rested(i) for i in self.open_tasks), default=0)

    @property
    def all_rest(self) -> bool:
        """Whether every task that may get trials has gone without a gain for `early_stop` rounds; False without early
        stopping.
        """
        found = self.open_tasks if self.early_stop else []
        return bool(found) and all(self.states[i].rounds and self._rested(i) and not self.owed(i) for i in found)

    def why(self, index: int) -> str:
        """Return in a few words what decides about the task now."""
        state = self.states[index]
        if index in self.faults:
            return f"given up: {self.faults[index]}"
        if state.exhausted:
            return "every candidate has been measured"
        if self.owed(index):
            return f"was promised {self.owed(index)} more trials"
        if state.rounds == 0:
            return "has not been tried yet"
        if self.resting(index):
            return f"rests: no gain in {state.stalled} rounds"
        return self.terms(index).reason

    def terms(self, index: int) -> Terms:
        """Return why a task stands where it stands."""
        raise NotImplementedError

    # ---- the objective ----

    def slopes(self) -> tuple[float, ...]:
        """Return what the objective loses for every millisecond that a task gets faster."""
        if not self.goal.given:  # a millisecond alone is more of them inside the network, or less
            return tuple(slope * self.stretched.get(i, 1.0) for i, slope in enumerate(self.goal.slopes(())))
        slowest = self._slowest()
        guesses = [max(task.flops, 1) / (slowest * 1e6) for task in self.tasks]
        return self.goal.slopes(finite_or([state.best_ms for state in self.states], guesses))

    def _slowest(self) -> float:
        """Return the slowest speed that was seen, in GFLOP/s: what is assumed of a task that nothing is known about."""
        known = (speed(t.flops, state.best_ms) for t, state in zip(self.tasks, self.states, strict=True))
        return min((s for s in known if s), default=1.0)

    @property
    def total_ms(self) -> float | None:
        """Estimated latency of the model, or None while a task has no valid trial."""
        best = [(task.weight, state.ledger.best) for task, state in zip(self.tasks, self.states, strict=True)]
        return total([(weight, one.ms if one else None) for weight, one in best])


SCHEDULERS: Registry[type[TaskScheduler]] = Registry("task scheduler", "schedulers", "usage.scheduler")
_S = TypeVar("_S", bound=type[TaskScheduler])


def task_scheduler(name: str) -> Callable[[_S], _S]:
    """Declare a task scheduler; the first line of the class's text says what it does."""

    def register(cls: _S) -> _S:
        SCHEDULERS[name] = cls
        return cls

    return register


@task_scheduler("round-robin")
class RoundRobin(TaskScheduler):
    """Every task in turn: the one with the fewest rounds, ties by position."""

    def _choose(self, open_tasks: Sequence[int]) -> int:
        return min(open_tasks, key=lambda i: (self.states[i].rounds, i))

    def terms(self, index: int) -> Terms:
        """Return terms of zero: the turn alone decides."""
        return Terms(0.0, 0.0, 0.0, 0.0, f"has had {self.states[index].rounds} rounds")


def kind_of(task: TaskLike) -> str:
    """Group of similar tasks: the first word of the name, and the size to within a factor of e."""
    word = task.name.split()[0] if task.name.split() else ""
    return f"{word.rstrip('0123456789_.')}:{int(math.log(task.flops + 1))}"


@task_scheduler("gradient")
class GradientScheduler(TaskScheduler):
    """The task whose next round is expected to save most; see the module's docstring.

    Attributes
    ----------
    alpha : float
        Weight of what the recent past saved against what may be expected, 0 to 1.
    beta : float
        How much slower than the best similar task a task is expected to become.
    window : int
        Rounds that the backward term looks back.
    trust : int
        Rounds after which the similarity term no longer counts.
    patience : float
        What is left of a task's expected gain for every round without one, 0 to 1.
    """

    alpha: ClassVar[float] = 0.2
    beta: ClassVar[float] = 2.0
    window: ClassVar[int] = 3
    trust: ClassVar[int] = 6
    patience: ClassVar[float] = 0.85

    @cached_property
    def _groups(self) -> tuple[str, ...]:
        return tuple(kind_of(task) for task in self.tasks)

    def _choose(self, open_tasks: Sequence[int]) -> int:
        return max(open_tasks, key=lambda i: (self.terms(i).gain, -self.states[i].rounds, -i))

    def terms(self, index: int) -> Terms:
        """Return the terms of one task from its state and from the speeds of similar tasks."""
        task, state = self.tasks[index], self.states[index]
        if state.rounds == 0:
            return Terms(0.0, math.inf, 0.0, math.inf, "has not been tried yet")
        if not math.isfinite(state.best_ms):
            guess = max(task.flops, 1) / (self._slowest() * 1e6) / state.rounds**1.5
            gain = self.slopes()[index] * (1.0 - self.alpha) * guess
            return Terms(0.0, guess, 0.0, gain, f"has no valid trial after {state.rounds} rounds")
        backward = self._backward(state)
        optimism = state.best_ms / state.rounds * self.patience**state.stalled
        similarity = self._similarity(index)
        gain = self.slopes()[index] * (self.alpha * backward + (1.0 - self.alpha) * max(optimism, similarity))
        parts = {
            "recent progress": self.alpha * backward,
            "few rounds so far": optimism,
            "slower than similar tasks": similarity,
        }
        return Terms(backward, optimism, similarity, gain, max(parts, key=lambda name: parts[name]))

    def _backward(self, state: TaskState) -> float:
        """Return the milliseconds saved per round over the window; rounds up to the first valid one do not count."""
        first = next((k for k, ms in enumerate(state.history) if math.isfinite(ms)), len(state.history))
        recent = state.savings[first + 1 :][-self.window :]
        return sum(s for s in recent if math.isfinite(s)) / len(recent) if recent else 0.0

    def _similarity(self, index: int) -> float:
        task, state = self.tasks[index], self.states[index]
        if state.rounds > self.trust:
            return 0.0
        fastest = 0.0
        for other, group in enumerate(self._groups):
            if group == self._groups[index]:
                fastest = max(fastest, speed(self.tasks[other].flops, self.states[other].best_ms) or 0.0)
        return max(0.0, state.best_ms - self.beta * task.flops / (fastest * 1e6)) if fastest > 0.0 else 0.0
