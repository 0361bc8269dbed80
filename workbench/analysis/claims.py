"""Who was the best of a task after each of its trials, when comparisons correct what trials claim by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from workbench.tune.ranking import compared_ms, lasting, latency_shown, meant, ranked

if TYPE_CHECKING:
    from workbench.analysis.source import Trial
    from workbench.tune.lines import Comparison
    from workbench.tune.record import Record

Name: TypeAlias = tuple[int, str]
"""A candidate: its number and its program."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is known about the trials of one task from beside them.

    Attributes
    ----------
    shown : mapping of int to float
        Trial -> its least latency in comparisons, in milliseconds.
    won, lost : set of int
        Trials that became the best by a comparison, and challengers that lost one and never did.
    best_ms : float or None
        Latency of the best by the rule of `workbench.tune.ranking`; None when the least latency says so.
    """

    shown: Mapping[int, float] = field(default_factory=dict)
    won: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    best_ms: float | None = None

    @classmethod
    def of(cls, records: Iterable[Record], comparisons: Iterable[Comparison]) -> Told:
        """Return what the comparisons of a task say, of which these are the records."""
        comparisons = tuple(comparisons)
        won = frozenset(c.winner for c in comparisons if c.new_best)
        lost = frozenset(trial for c in comparisons for trial in c.trials[1:] if trial != c.winner) - won
        return cls(compared_ms(comparisons), won, lost, _best_ms(records, comparisons))


def _best_ms(records: Iterable[Record], comparisons: Sequence[Comparison]) -> float | None:
    records = tuple(records)
    best = next(iter(ranked(records, comparisons, lambda r: (r.warmth, r.latency_ms))), None)
    if best is None:
        return None
    known = meant(records)[0].get(best.trial)
    return latency_shown(best, comparisons) if known is best else best.latency_ms


def claimed(trials: Sequence[Trial], told: Told) -> list[float]:
    """Return the latency of the best after each valid trial of one task, in milliseconds.

    A challenger that lost was never the best, nor was a time that no later measurement confirmed, so it only falls.
    A trial's latency is the least one that is known of it: of its own, of those in its comparisons, and of what was
    measured again with the caches in the same state. The last value is the best one's. Who won a comparison is not
    ahead of trials that were timed under other conditions, which rank first.

    Parameters
    ----------
    trials : sequence of Trial
        The valid ones, in order.
    told : Told
        What else is known about them.
    """
    known: dict[Name, tuple[int, float]] = {}
    programs: dict[int, str] = {}  # comparisons mean the first of a number
    out: list[float] = []
    best: Name | None = None
    for t in trials:
        name, ms = (t.trial, t.program), t.latency_ms or 0.0
        first = programs.setdefault(t.trial, t.program) == t.program
        again = name in known
        if first:
            ms = min(ms, told.shown.get(t.trial, ms))
        warmth, before = known.get(name, (t.warmth, ms))
        known[name] = (t.warmth, min(ms, before) if warmth == t.warmth else ms)
        if first and t.trial in told.won and (best is None or known[name][0] <= known[best][0]):
            best = name
        elif again and name == best:
            best = min((n for n in known if not _lost(n, programs, told)), key=known.__getitem__, default=name)
        elif not _lost(name, programs, told) and (best is None or known[name] < known[best]):
            best = name
        out.append(min([ms, *out[-1:]]) if best is None else known[best][1])
    if out and told.best_ms is not None:
        out[-1] = told.best_ms
    return [ms for ms in lasting(out) if ms is not None]


def _lost(name: Name, programs: Mapping[int, str], told: Told) -> bool:
    return name[0] in told.lost and programs[name[0]] == name[1]
