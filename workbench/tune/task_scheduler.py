"""Which task gets the next batch of trials.

The objective is the sum of weight · latency over all tasks. `GradientScheduler` estimates for every task how many
milliseconds of it one more round would save, and picks the largest:

- *backward*: what the last `window` rounds saved per round;
- *optimism*: after n rounds, latency / n (a task that was hardly tried can still surprise), times `patience` to the
  power of the rounds since its last gain (what has not moved for long will hardly move now);
- *similarity*: what would be saved if the task reached 1/beta of the best speed among similar tasks. It fades out after
  `trust` rounds, because a task that did not get there by then probably cannot.

``gain = weight · (alpha · backward + (1 - alpha) · max(optimism, similarity))``

No task is ever given up after a bad round: one without any valid trial is judged by the slowest speed seen so far, and
its claim shrinks with every failed round but never to zero. The whole state follows from the records in their order, so
a resumed session continues with the state that the killed one had.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from workbench.tune.record import Record, speed


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


@dataclass(slots=True)
class TaskState:
    """What has happened to one task so far.

    Attributes
    ----------
    history : list of float
        Best latency in ms after each of its rounds; infinite while nothing was valid.
    """

    trials: int = 0
    failed: int = 0
    best_ms: float = math.inf
    history: list[float] = field(default_factory=list)
    last_round: int = -1
    exhausted: bool = False

    @property
    def rounds(self) -> int:
        """Number of rounds that the task has had."""
        return len(self.history)

    @property
    def stalled(self) -> int:
        """Number of rounds since the last one that made it faster by at least one per cent."""
        count = 0
        for later, earlier in pairwise(reversed(self.history)):
            if later < 0.99 * earlier:
                return count
            count += 1
        return count


@dataclass(frozen=True, slots=True)
class Terms:
    """The gradient's terms of one task, in milliseconds of the objective per round."""

    backward: float
    optimism: float
    similarity: float
    gain: float
    reason: str


class TaskScheduler:
    """Common part: state per task, kept up to date by `observe`.

    Parameters
    ----------
    tasks : sequence of tasks
        In the order in which they are shown.
    active : iterable of int, optional
        Indices that may get trials; all when left out.
    """

    name = "base"

    def __init__(self, tasks: Sequence[TaskLike], active: Iterable[int] | None = None) -> None:
        self.tasks = tuple(tasks)
        self.active = tuple(range(len(tasks)) if active is None else active)
        self.states = tuple(TaskState() for _ in self.tasks)
        self._index = {task.key: i for i, task in enumerate(self.tasks)}

    def observe(self, record: Record) -> None:
        """Take one trial into account; records of unknown tasks are ignored."""
        index = self._index.get(record.task_key)
        if index is None:
            return
        state = self.states[index]
        state.trials += 1
        if record.round != state.last_round:
            state.last_round = record.round
            state.history.append(state.best_ms)
        if record.ok:
            assert record.latency_ms is not None
            state.best_ms = min(state.best_ms, record.latency_ms)
        else:
            state.failed += 1
        state.history[-1] = state.best_ms

    def exhaust(self, index: int) -> None:
        """Note that the search has no further candidate for a task."""
        self.states[index].exhausted = True

    def next(self) -> int | None:
        """Return the index of the task to work on, or None when every space is exhausted."""
        open_tasks = [i for i in self.active if not self.states[i].exhausted]
        fresh = [i for i in open_tasks if self.states[i].rounds == 0]
        if fresh:  # warm-up: the heaviest first, so that a small budget goes where it matters
            return max(fresh, key=lambda i: (self.tasks[i].weight * self.tasks[i].flops, -i))
        return self._choose(open_tasks) if open_tasks else None

    def _choose(self, open_tasks: Sequence[int]) -> int:
        raise NotImplementedError

    def terms(self, index: int) -> Terms:
        """Return why a task stands where it stands."""
        raise NotImplementedError

    @property
    def total_ms(self) -> float | None:
        """Estimated latency of the model, or None while a task has no valid trial."""
        total = sum(task.weight * state.best_ms for task, state in zip(self.tasks, self.states, strict=True))
        return total if math.isfinite(total) else None


class RoundRobin(TaskScheduler):
    """Every task in turn: the one with the fewest rounds, ties by position."""

    name = "round-robin"

    def _choose(self, open_tasks: Sequence[int]) -> int:
        return min(open_tasks, key=lambda i: (self.states[i].rounds, i))

    def terms(self, index: int) -> Terms:
        """Return terms of zero: the turn alone decides."""
        return Terms(0.0, 0.0, 0.0, 0.0, f"has had {self.states[index].rounds} rounds")


def kind_of(task: TaskLike) -> str:
    """Group of similar tasks: the first word of the name, and the size to within a factor of e."""
    word = task.name.split()[0] if task.name.split() else ""
    return f"{word.rstrip('0123456789_.')}:{int(math.log(task.flops + 1))}"


class GradientScheduler(TaskScheduler):
    """The gradient rule of the module's docstring.

    Parameters
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
    group : callable
        Maps a task to the name of its group of similar tasks.
    """

    name = "gradient"

    def __init__(
        self,
        tasks: Sequence[TaskLike],
        active: Iterable[int] | None = None,
        *,
        alpha: float = 0.2,
        beta: float = 2.0,
        window: int = 3,
        trust: int = 6,
        patience: float = 0.85,
        group: Callable[[TaskLike], str] = kind_of,
    ) -> None:
        super().__init__(tasks, active)
        self.alpha, self.beta, self.window, self.trust, self.patience = alpha, beta, window, trust, patience
        self._groups = tuple(group(task) for task in self.tasks)

    def _choose(self, open_tasks: Sequence[int]) -> int:
        return max(open_tasks, key=lambda i: (self.terms(i).gain, -i))

    def terms(self, index: int) -> Terms:
        """Return the terms of one task from its state and from the speeds of similar tasks."""
        task, state = self.tasks[index], self.states[index]
        if state.rounds == 0:
            return Terms(0.0, math.inf, 0.0, math.inf, "has not been tried yet")
        if not math.isfinite(state.best_ms):
            guess = self._pessimistic_ms(task) / state.rounds**1.5
            gain = task.weight * (1.0 - self.alpha) * guess
            return Terms(0.0, guess, 0.0, gain, f"has no valid trial after {state.rounds} rounds")
        backward = self._backward(state)
        optimism = state.best_ms / state.rounds * self.patience**state.stalled
        similarity = self._similarity(index)
        gain = task.weight * (self.alpha * backward + (1.0 - self.alpha) * max(optimism, similarity))
        parts = {
            "recent progress": self.alpha * backward,
            "few rounds so far": optimism,
            "slower than its kind": similarity,
        }
        return Terms(backward, optimism, similarity, gain, max(parts, key=lambda name: parts[name]))

    def _backward(self, state: TaskState) -> float:
        """Return the milliseconds saved per round over the window; rounds before the first valid one do not count."""
        known = [ms for ms in state.history if math.isfinite(ms)]
        if len(known) < 2:
            return 0.0
        span = min(self.window, len(known) - 1)
        return (known[-1 - span] - known[-1]) / span

    def _similarity(self, index: int) -> float:
        task, state = self.tasks[index], self.states[index]
        if state.rounds > self.trust:
            return 0.0
        fastest = 0.0
        for other, group in enumerate(self._groups):
            if group == self._groups[index]:
                fastest = max(fastest, speed(self.tasks[other].flops, self.states[other].best_ms) or 0.0)
        return max(0.0, state.best_ms - self.beta * task.flops / (fastest * 1e6)) if fastest > 0.0 else 0.0

    def _pessimistic_ms(self, task: TaskLike) -> float:
        """Return a latency for a task that nothing is known about: its flops at the slowest speed seen."""
        slowest = min(
            (s for t, state in zip(self.tasks, self.states, strict=True) if (s := speed(t.flops, state.best_ms))),
            default=1.0,
        )
        return max(task.flops, 1) / (slowest * 1e6)


STRATEGIES: dict[str, type[TaskScheduler]] = {cls.name: cls for cls in (GradientScheduler, RoundRobin)}
