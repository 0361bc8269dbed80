"""One time for a program: a variant shows what the ledger tells of it, as the table of tasks does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.log import Best, Record, TaskLedger
from workbench.log.ledger import covering, of_one_mode
from workbench.runtime.results.comparison_words import told_apart
from workbench.session.state.history import History
from workbench.session.state.results import Key, Result
from workbench.session.state.variant_tree import Tree

LAST = "when it was timed last"
"""Where another time stands beside the one that is told, which it is."""

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
        now, turns = self._history.told, in_turns(self._history, dict(timed))
        for key, result in timed:
            record = trials.get(key)
            now[key] = result if record is None else _number(result, record, ledger.of(record), turns.get(key, ()))
        for key, other in self._history.ties(tree).items():
            if key in now and other.key in now:
                now[key] = beside(now[key], f"v{other.id}", now[other.key])
        for key, times in turns.items():
            if key in trials:
                now[key] = _covering(now[key], times)
        self._history.best[tree.task] = best_of(tree, ledger, trials)


def best_of(tree: Tree, ledger: TaskLedger, trials: Mapping[Key, Record]) -> int | None:
    """Return the variant that the ledger ranks before the others, of those whose times nothing disturbed; None where
    there are no two to compare.
    """
    place = {id(one.record): k for k, one in enumerate(ledger.ranked()) if one.sure != "disturbed"}
    found = ((node, ledger.of(trials[node.key])) for node in tree.nodes.values() if node.key in trials)
    ranks = [(place[id(one.record)], node.id) for node, one in found if one is not None and id(one.record) in place]
    return min(ranks)[1] if len(ranks) > 1 else None


def in_turns(history: History, results: Mapping[Key, Result]) -> dict[Key, list[float]]:
    """Return what each state took in its undisturbed contests, where it found the same in the caches as by itself."""
    found: dict[Key, dict[tuple[float, ...], float]] = {}  # one contest of many variants is one of each two
    for pair in history.contests.values():
        for contest in pair.contests:
            for k, key in enumerate(pair.keys):
                caches = results[key].caches if key in results else ""
                if contest.clean and key in results and (not (contest.caches and caches) or contest.caches == caches):
                    found.setdefault(key, {})[contest.costs_ms[k]] = contest.latency_ms(k)
    return {key: sorted(times.values()) for key, times in found.items()}


def told(result: Result, record: Record, ledger: TaskLedger) -> Result:
    """Return what is told of a program that was timed: the ledger's number with a ± in which all that was seen of it
    lies, and beside it what it took the last time where that is another one, and times that are none of its spread.
    """
    return _number(result, record, ledger.of(record), ())


def _number(result: Result, record: Record, best: Best | None, turns: Sequence[float]) -> Result:
    if result.status != "ok" or not result.ms or best is None or best.sure == "disturbed":
        return result
    gflops = record.flops / (best.ms * 1e6) if record.flops else None
    if not result.why_not and f"{best.ms:.3g}" == f"{result.ms:.3g}":
        gflops = result.gflops
    elif not result.why_not and result.ms > SLOWER * best.ms:
        gflops = None
    remark = "; ".join(filter(None, (*_remarks(result, best, record, turns), result.remark)))
    return Result("ok", best.ms, best.spread, gflops, remark=remark, caches=result.caches)


def _covering(result: Result, turns: Sequence[float]) -> Result:
    """Return a result with a ± in which what it took in turns lies, too, but for another mode."""
    if result.why_not or not result.ms:
        return result
    return replace(result, spread=covering(result.ms, result.spread, turns))


def _remarks(result: Result, best: Best, record: Record, turns: Sequence[float]) -> list[str]:
    """Say what else was seen of a program, of which `best` is told, and is not within its ±."""
    said, last = [], f"{result.ms:.3g} ms"
    near = of_one_mode(result.ms or 0.0, best.ms)
    if result.why_not:
        said.append(f"{last} when it was timed last, disturbed")
    elif near and last != f"{best.ms:.3g} ms":
        once, when = "timed once: measure it again to be sure", "in its trial" if record.trial >= 0 else LAST
        said.append(f"{last}, {once}" if best.sure == "once" else f"{last} {when}")
    if others := [ms for ms in best.alone if not of_one_mode(ms, best.ms)]:
        said.append(f"two modes seen: {best.ms:.3g} and {_span(others)}")
    if others := [ms for ms in turns if not of_one_mode(ms, best.ms) and math.isfinite(ms)]:
        slower = "slower while it is timed with others: " if min(others) > best.ms else ""
        said.append(f"{slower}{_span(others)} in turns")
    return said


def _span(times: Sequence[float]) -> str:
    low, high = f"{min(times):.3g}", f"{max(times):.3g}"
    return f"{low} ms" if low == high else f"{low} to {high} ms"


def beside(result: Result, whose: str, other: Result) -> Result:
    """Return what is told of a program that takes the same time in turns as `whose`, of which `other` is told."""
    if not (result.ms and other.clean_ms and result.ms > other.clean_ms):
        return result
    if not told_apart(other.clean_ms, result.ms, (other.spread, result.spread)):
        return result
    slower = result.ms > SLOWER * other.clean_ms
    return replace(result, same=f"= {whose} in turns", gflops=None if slower else result.gflops)
