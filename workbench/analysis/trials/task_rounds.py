"""Which task got the trials, round by round, what they brought, and why the scheduler gave them to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from workbench.analysis.trials.trial_reader import Trial, read
from workbench.log import Round

if TYPE_CHECKING:
    from workbench.analysis.trials.trial_reader import Source


@dataclass(frozen=True, slots=True)
class Turn:
    """The trials that one task got in one round, or in several neighbouring ones.

    Attributes
    ----------
    first, last : int
        The rounds, as the log numbers them.
    trials, failed : int
    before_ms, after_ms : float or None
        Best latency of the task before and after; before its first valid trial, that trial's.
    trial : int or None
        The fastest trial of the turn.
    why : str
        Why the best is slower than before, where it is.
    line : Round or None
        What the log says of the last of the rounds: the scheduler's reason and terms. None in tables and in logs
        without rounds.
    """

    first: int
    last: int
    key: str
    name: str
    trials: int
    failed: int
    before_ms: float | None
    after_ms: float | None
    trial: int | None
    line: Round | None = None
    why: str = ""

    @property
    def gain(self) -> float:
        """Share of the latency that the turn took away, 0 to 1."""
        if self.before_ms is None or self.after_ms is None:
            return 0.0
        return max(0.0, 1.0 - self.after_ms / self.before_ms)


def turns(source: Source, tasks: Iterable[str] | None = None, most: int | None = None) -> list[Turn]:
    """Return the turns in order of rounds.

    Parameters
    ----------
    source : DataFrame, path, TuningSession or iterable of Record, Comparison and Round
    tasks : iterable of str, optional
        Keys of the tasks to return; all by default.
    most : int, optional
        Most turns to return: so many neighbouring rounds are taken as one that there are not more. Of each task there
        is one at least.
    """
    lines = read(source)
    wanted = set(lines.keys if tasks is None else tasks)
    why = {(line.round, line.task_key): line for line in lines.rounds}
    by_task: dict[str, list[Trial]] = {key: [] for key in lines.keys if key in wanted}
    for trial in lines.trials:
        if trial.key in by_task:
            by_task[trial.key].append(trial)
    found = [turn for key, trials in by_task.items() for turn in _of_task(key, trials, why)]
    found.sort(key=lambda turn: turn.first)
    width = 1 if most is None else _width(found, most)
    return found if width == 1 else _joined(found, width)


def _width(found: Sequence[Turn], most: int) -> int:
    """How many rounds to take as one; a little more than it needs where these are many."""
    if len(found) <= most:
        return 1
    last = max(turn.first for turn in found)
    width = -(-len(found) // max(1, most))  # a task has one turn in a round, so that fewer cannot do
    while width <= last and len({(turn.first // width, turn.key) for turn in found}) > most:
        width += 1 + width // 16
    return width


def _of_task(key: str, trials: Sequence[Trial], why: Mapping[tuple[int, str], Round]) -> list[Turn]:
    out: list[Turn] = []
    now: float | None = None
    for group in (list(found) for _, found in groupby(trials, key=lambda trial: trial.round)):
        times = [(t.told_ms or 0.0, t.trial) for t in group if t.ok]
        first = next((t.best_ms for t in group if t.ok), None)
        before, now = now if now is not None else first, group[-1].best_ms
        fastest = min(times)[1] if times else None
        number, failed = group[0].round, len(group) - len(times)
        line = why.get((number, key))
        slower = [t.why for t in group if t.why][-1:] if (now or 0.0) > (before or 0.0) else []
        name, told = group[0].name, "".join(slower)
        out.append(Turn(number, number, key, name, len(group), failed, before, now, fastest, line, told))
    return out


def _joined(found: Sequence[Turn], width: int) -> list[Turn]:
    """Turns of a task in the same `width` rounds as one."""
    out: dict[tuple[int, str], Turn] = {}
    for turn in found:
        place = (turn.first // width, turn.key)
        old = out.get(place)
        out[place] = turn if old is None else _both(old, turn)
    return list(out.values())


def _both(a: Turn, b: Turn) -> Turn:
    fastest = (
        b.trial if b.after_ms != a.after_ms and b.trial is not None else a.trial if a.trial is not None else b.trial
    )
    return Turn(a.first, b.last, a.key, a.name, a.trials + b.trials, a.failed + b.failed, a.before_ms or b.before_ms,
                b.after_ms if b.after_ms is not None else a.after_ms, fastest, b.line or a.line,
                b.why or a.why)  # fmt: skip
