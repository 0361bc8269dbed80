"""Which record of a task is the best, from the trials and the comparisons together.

A trial is timed by itself, in the minute in which it happens to be its turn; a comparison times candidates side by
side. Each time is the least of some repeats, and whatever disturbs a machine only adds to it: so the latency of a
record is the least of its own and of those in its comparisons. Records rank by that, but a comparison corrects it: its
winner takes the place of what it beat, however slow it seemed, and a loser ranks no better than directly behind the
winner. Whoever beats the best of a task is therefore the best, as in a run (`workbench.tune.task_state`).

Comparisons may contradict each other. Then the later one holds: they are taken newest first, and one that would close a
circle is left out. The result depends on what is known, not on the order in which it was written or read.

A trial's number names one candidate. Where a log has it again with the same program, that was measured again, and the
faster line counts, or the later one when the caches were in another state; with another program (two logs in one file)
it is a candidate of its own.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeAlias

from workbench.tune.lines import Comparison
from workbench.tune.record import Record

Key: TypeAlias = tuple[Any, ...]


def ranked(
    records: Iterable[Record], comparisons: Iterable[Comparison] = (), base: Callable[[Record], Key] | None = None
) -> list[Record]:
    """Return the successful records of one task, best first.

    Parameters
    ----------
    records : iterable of Record
        Of one log, or of several whose trial numbers differ; failed ones are left out.
    comparisons : iterable of Comparison
        Those of the same log; participants that are not among `records` are passed over.
    base : callable, optional
        Orders records, by their latency when left out; it is given them with the least latency that is known of each.
        Of equal ones those go first that were compared, then the lower trial number.
    """
    return [record for _, record in placed(records, comparisons, base)]


def placed(
    records: Iterable[Record], comparisons: Iterable[Comparison] = (), base: Callable[[Record], Key] | None = None
) -> list[tuple[Key, Record]]:
    """Return what `ranked` returns, each with its place: a key that never falls from one record to the next, by which
    the records of several logs can be merged.
    """
    first, others = meant(records)
    order, comparisons = base or _latency, tuple(comparisons)
    least = compared_ms(comparisons)
    ladder = Ladder.of({trial: order(at_least(r, least.get(trial))) for trial, r in first.items()}, comparisons)
    found = [(ladder.places[trial], first[trial]) for trial in ladder.order()]
    rest = sorted(((uncompared(order(r), r.trial), r) for r in others), key=_key)
    return list(heapq.merge(found, rest, key=_key))


def meant(records: Iterable[Record]) -> tuple[dict[int, Record], list[Record]]:
    """Return the successful record that each number means, and those of other programs that have a number again."""
    first: dict[int, Record] = {}
    others: list[Record] = []
    for record in records:
        if not record.ok:
            continue
        known = first.setdefault(record.trial, record)
        if known is record or same_program(known, record):
            first[record.trial] = remeasured(known, record)
        else:
            # Comparisons mean the first of its number; how else could records of several logs be told apart?
            same = next((r for r in others if r.trial == record.trial and same_program(r, record)), record)
            others = [r for r in others if r is not same]
            others.append(remeasured(same, record))
    return first, others


def remeasured(before: Record, after: Record) -> Record:
    """Return which of two measurements of one program counts: the faster one, or the later one when the caches were in
    another state.
    """
    return before if before.warmth == after.warmth and (before.latency_ms or 0.0) < (after.latency_ms or 0.0) else after


def at_least(record: Record, ms: float | None) -> Record:
    """Return a record with a latency from beside it, where that is less than its own."""
    least = shown_ms(record.latency_ms, ms)
    return record if least == record.latency_ms else replace(record, latency_ms=least)


def shown_ms(own: float | None, compared: float | None) -> float | None:
    """Return the latency of a trial by its own and the least one of its comparisons: the lesser of the two."""
    return min((ms for ms in (own, compared) if ms is not None), default=None)


def same_program(a: Record, b: Record) -> bool:
    """Whether two records of a task measured the same program."""
    return (a.key, a.variant, a.row, a.trace) == (b.key, b.variant, b.row, b.trace)


def uncompared(base: Key, trial: int) -> Key:
    """Return the place of a trial that was never compared: behind one that was and is no slower."""
    return (*base, True, trial)


def _latency(record: Record) -> Key:
    return (record.latency_ms,)


def _key(item: tuple[Key, Record]) -> Key:
    return item[0]


@dataclass(frozen=True, slots=True)
class Ladder:
    """Where the trials of a task stand.

    Attributes
    ----------
    keys : dict of int to tuple
        Trial -> what orders it by itself; no two are equal.
    places : dict of int to tuple
        Trial -> the least key among its own and those of all that rank behind it for having lost.
    behind : dict of int to set of int
        Trial -> those that it ranks behind for having lost; free of circles.
    """

    keys: dict[int, Key]
    places: dict[int, Key]
    behind: dict[int, set[int]]

    @classmethod
    def of(cls, base: Mapping[int, Key], comparisons: Iterable[Comparison]) -> Ladder:
        """Place trials.

        Parameters
        ----------
        base : mapping of int to tuple
            Trial -> what orders those that were never compared.
        comparisons : iterable of Comparison
            Those of the same log and task.
        """
        behind = preferences(comparisons, base)
        compared = {*behind, *(winner for winners in behind.values() for winner in winners)}
        keys = {t: (*key, False, t) if t in compared else uncompared(key, t) for t, key in base.items()}
        places = dict(keys)
        for trial in reversed(_winners_first(behind)):
            for winner in behind.get(trial, ()):
                places[winner] = min(places[winner], places[trial])
        return cls(keys, places, behind)

    @property
    def best(self) -> int | None:
        """The trial that goes before all others; None where there is none."""
        return min((t for t in self.keys if t not in self.behind), key=self._rank, default=None)

    def order(self) -> list[int]:
        """Return all trials, best first; their places never fall."""
        waiting = {trial: len(winners) for trial, winners in self.behind.items()}
        losers = _inverted(self.behind)
        ready = [(self._rank(trial), trial) for trial in self.keys if trial not in self.behind]
        heapq.heapify(ready)
        out: list[int] = []
        while ready:
            trial = heapq.heappop(ready)[1]
            out.append(trial)
            for loser in losers.get(trial, ()):
                waiting[loser] -= 1
                if waiting[loser] == 0:
                    heapq.heappush(ready, (self._rank(loser), loser))
        return out

    def _rank(self, trial: int) -> tuple[Key, Key]:
        return self.places[trial], self.keys[trial]


def preferences(comparisons: Iterable[Comparison], known: Iterable[int]) -> dict[int, set[int]]:
    """Return which trials each trial ranks behind; free of circles."""
    there = set(known)
    behind: dict[int, set[int]] = {}
    for item in sorted(comparisons, key=_age, reverse=True):
        if item.winner not in there or item.winner not in item.trials:
            continue
        for loser in sorted(there.intersection(item.losers)):
            if not _leads(behind, item.winner, loser):
                behind.setdefault(loser, set()).add(item.winner)
    return behind


def _age(item: Comparison) -> Key:
    """Newest last; what follows the time only makes the order independent of the order of reading."""
    return (item.timestamp, item.elapsed_s, item.round, item.winner, item.trials)


def _leads(behind: Mapping[int, set[int]], start: int, goal: int) -> bool:
    """Whether `start` ranks behind `goal` already, directly or by way of others."""
    open_, seen = [start], {start}
    while open_:
        trial = open_.pop()
        if trial == goal:
            return True
        for winner in behind.get(trial, ()):
            if winner not in seen:
                seen.add(winner)
                open_.append(winner)
    return False


def _inverted(behind: Mapping[int, set[int]]) -> dict[int, list[int]]:
    """Return which trials rank directly behind each trial."""
    losers: dict[int, list[int]] = {}
    for loser, winners in behind.items():
        for winner in winners:
            losers.setdefault(winner, []).append(loser)
    return losers


def _winners_first(behind: Mapping[int, set[int]]) -> list[int]:
    """Return all trials that were compared, each after those that it ranks behind."""
    losers = _inverted(behind)
    waiting = {trial: len(winners) for trial, winners in behind.items()}
    ready = [trial for trial in losers if trial not in behind]
    order: list[int] = []
    while ready:
        order.append(trial := ready.pop())
        for loser in losers.get(trial, ()):
            waiting[loser] -= 1
            if waiting[loser] == 0:
                ready.append(loser)
    return order


def compared_ms(comparisons: Iterable[Comparison]) -> dict[int, float]:
    """Return the least latency of each trial in its comparisons, in milliseconds, from those of one task."""
    out: dict[int, float] = {}
    for item in comparisons:
        for trial in item.trials:
            if (ms := item.latency_of(trial)) is not None:
                out[trial] = min(ms, out.get(trial, ms))
    return out


def latency_shown(record: Record, comparisons: Iterable[Comparison]) -> float | None:
    """Return the latency to show for a record, in milliseconds: the least of its own and in its comparisons."""
    return shown_ms(record.latency_ms, compared_ms(comparisons).get(record.trial))


def lasting(course: Sequence[float | None]) -> list[float | None]:
    """Return the best so far as it is known today, from who was thought the best after each trial of a task.

    A time that a later measurement did not confirm never was the best, so the course only falls.
    """
    known = [ms for ms in course if ms is not None]
    unknown = [None] * (len(course) - len(known))  # before the first valid trial
    return [*unknown, *reversed(list(accumulate(reversed(known), max)))]


def confirmed(comparisons: Iterable[Comparison]) -> set[int]:
    """Return the trials that won a comparison against another one."""
    return {item.winner for item in comparisons if item.losers}
