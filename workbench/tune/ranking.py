"""Which record of a task is the best, from the trials and the comparisons together.

A trial is timed by itself, in the minute in which it happens to be its turn; a comparison times candidates side by
side. So records rank by their own latency, except that one which lost a comparison ranks no better than directly behind
the record that won it. Without comparisons, the latency alone decides.

Comparisons may contradict each other. Then the later one holds: they are taken newest first, and one that would close a
circle is left out. The result depends on what is known, not on the order in which it was written or read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
        Orders records that were never compared; by latency when left out. Ties go to the lower trial number.
    """
    first: dict[int, Record] = {}
    placed: list[tuple[Key, int, Record]] = []
    for position, record in enumerate(records):
        if not record.ok:
            continue
        if first.setdefault(record.trial, record) is not record:
            # Comparisons mean the first of its number; how else could records of several logs be told apart?
            placed.append(((_base(record, base),), position, record))
    keys = {trial: _base(r, base) for trial, r in first.items()}
    behind = preferences(comparisons, keys)
    full: dict[int, Key] = {}
    for trial in _winners_first(keys, behind):
        ahead = max((full[winner] for winner in behind.get(trial, ())), default=None)
        # Longer than the winner's key and equal so far: directly behind it, before everything that is slower.
        own = (keys[trial],)
        full[trial] = own if ahead is None or own > ahead else (*ahead, keys[trial])
    placed += [(key, -1, first[trial]) for trial, key in full.items()]
    return [record for _, _, record in sorted(placed, key=lambda item: item[:2])]


def _base(record: Record, base: Callable[[Record], Key] | None) -> Key:
    return (*(base(record) if base else (record.latency_ms,)), record.trial)


def preferences(comparisons: Iterable[Comparison], known: Iterable[int]) -> dict[int, set[int]]:
    """Return which trials each trial ranks behind; free of circles."""
    there = set(known)
    behind: dict[int, set[int]] = {}
    for item in sorted(comparisons, key=_age, reverse=True):
        if item.winner not in there:
            continue
        for loser in sorted(there.intersection(item.losers)):
            if not _leads(behind, item.winner, loser):
                behind.setdefault(loser, set()).add(item.winner)
    return behind


def _age(item: Comparison) -> tuple[Any, ...]:
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


def _winners_first(keys: Mapping[int, Key], behind: Mapping[int, set[int]]) -> list[int]:
    """Return all trials, each after those that it ranks behind."""
    order: list[int] = []
    waiting = {trial: len(behind.get(trial, ())) for trial in keys}
    losers: dict[int, list[int]] = {}
    for loser, winners in behind.items():
        for winner in winners:
            losers.setdefault(winner, []).append(loser)
    ready = [trial for trial, count in waiting.items() if count == 0]
    while ready:
        order.append(trial := ready.pop())
        for loser in losers.get(trial, ()):
            waiting[loser] -= 1
            if waiting[loser] == 0:
                ready.append(loser)
    return order


def latency_shown(record: Record, comparisons: Iterable[Comparison]) -> float | None:
    """Return the latency to show for a record, in milliseconds: that of its latest comparison if it took part in one,
    else its own.
    """
    for item in sorted(comparisons, key=_age, reverse=True):
        if (found := item.latency_of(record.trial)) is not None:
            return found
    return record.latency_ms


def confirmed(comparisons: Sequence[Comparison]) -> set[int]:
    """Return the trials that won a comparison against another one."""
    return {item.winner for item in comparisons if item.losers}
