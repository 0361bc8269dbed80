"""One time for a program: a variant shows what the ledger tells of it, as the table of tasks does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.log import Record, TaskLedger
from workbench.runtime.results.comparison_words import told_apart
from workbench.session.state.history import History
from workbench.session.state.results import Key, Result
from workbench.session.state.variant_tree import Tree

SLOWER = 1.5
"""Of a program that took so many times as long as it can, no share of the peak is told: the machine was busy."""


class ToldTimes:
    """Puts into a `History` what is told of the variants of a tree; used in the session's thread."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._known: tuple[object, ...] = ()

    def update(self, tree: Tree, ledger: TaskLedger, trials: Mapping[Key, Record]) -> None:
        """Work out what is told of all variants of a tree that have `trials`, and which is the best, if something is
        new.
        """
        timed = [(n.key, r) for n in tree.nodes.values() if (r := self._history.results.get(n.key)) is not None]
        known = (ledger, ledger.trials, ledger.comparisons, timed, list(self._history.contests.values()))
        if known == self._known:
            return
        self._known = known
        now = self._history.told
        for key, result in timed:
            record = trials.get(key)
            now[key] = result if record is None else told(result, record, ledger)
        for key, other in self._history.ties(tree).items():
            if key in now and other.key in now:
                now[key] = beside(now[key], f"v{other.id}", now[other.key])
        self._history.best[tree.task] = best_of(tree, ledger, trials)


def best_of(tree: Tree, ledger: TaskLedger, trials: Mapping[Key, Record]) -> int | None:
    """Return the variant that the ledger ranks before the others, of those whose times nothing disturbed; None where
    there are no two to compare.
    """
    place = {id(one.record): k for k, one in enumerate(ledger.ranked()) if one.sure != "disturbed"}
    found = ((node, ledger.of(trials[node.key])) for node in tree.nodes.values() if node.key in trials)
    ranks = [(place[id(one.record)], node.id) for node, one in found if one is not None and id(one.record) in place]
    return min(ranks)[1] if len(ranks) > 1 else None


def told(result: Result, record: Record, ledger: TaskLedger) -> Result:
    """Return what is told of a program that was timed: the ledger's number, and beside it what it took the last time
    where that is another one.
    """
    best = ledger.of(record) if result.status == "ok" and result.ms else None
    if best is None or best.sure == "disturbed":
        return result
    if not result.why_not and f"{best.ms:.3g}" == f"{result.ms:.3g}":
        return replace(result, ms=best.ms)
    last = f"{result.ms:.3g} ms when it was timed last{', disturbed' if result.why_not else ''}"
    if best.sure == "once" and not result.why_not:
        last = f"{result.ms:.3g} ms, timed once: measure it again to be sure"
    gflops = record.flops / (best.ms * 1e6) if record.flops else None
    if not result.why_not and (longer := (result.ms or 0.0) / best.ms) > SLOWER:
        last, gflops = f"{result.ms:.3g} ms now, {longer:.1f}× as long: the machine is slower than it was", None
    remark = "; ".join(filter(None, (last, result.remark)))
    return Result("ok", best.ms, best.record.spread, gflops, remark=remark, caches=result.caches)


def beside(result: Result, whose: str, other: Result) -> Result:
    """Return what is told of a program that takes the same time in turns as `whose`, of which `other` is told."""
    if not (result.ms and other.clean_ms and result.ms > other.clean_ms):
        return result
    if not told_apart(other.clean_ms, result.ms, (other.spread, result.spread)):
        return result
    slower = result.ms > SLOWER * other.clean_ms
    return replace(result, same=f"= {whose} in turns", gflops=None if slower else result.gflops)
