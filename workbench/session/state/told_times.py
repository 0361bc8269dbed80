"""One time for a program: a variant shows what the ledger tells of it, as the table of tasks does."""

from __future__ import annotations

from dataclasses import replace

from workbench.log import Record, TaskLedger
from workbench.session.state.history import History
from workbench.session.state.manual_trials import ManualTrials
from workbench.session.state.results import Result
from workbench.session.state.variant_tree import Tree


class ToldTimes:
    """Puts into a `History` what is told of the variants of a tree; used in the session's thread."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._known: tuple[object, ...] = ()

    def update(self, tree: Tree, ledger: TaskLedger, trials: ManualTrials) -> None:
        """Work out what is told of all variants of a tree that are `trials`, if something is new."""
        timed = [(n.key, r) for n in tree.nodes.values() if (r := self._history.results.get(n.key)) is not None]
        known = (ledger, ledger.trials, ledger.comparisons, timed)
        if known == self._known:
            return
        self._known = known
        for key, result in timed:
            if (record := trials.trial(key)) is not None:
                self._history.told[key] = told(result, record, ledger)


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
    remark = "; ".join(filter(None, (last, result.remark)))
    return Result("ok", best.ms, best.record.spread, gflops, remark=remark)
