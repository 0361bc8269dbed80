"""How good an optimiser was: its best so far against what drawing at random would give, and against the optimum.

``score = mean over k = 1 … budget of (R_k - b_k) / (R_k - optimum)``: b_k is the best after k evaluations, R_k the best
that k draws without replacement are expected to give, and a failure counts as the worst value that was measured. 0 is
as good as chance, 1 is the optimum at once; a negative score is worse than chance. R_k is computed, not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.arguments import whole
from workbench.errors import UsageError
from workbench.logs.analysis.selection import Source
from workbench.logs.simulation.configurations import Configurations
from workbench.logs.tuning_log import TuningLog

if TYPE_CHECKING:
    import pandas

Numbers = NDArray[np.float64]


def random_baseline(costs: ArrayLike, budget: int) -> Numbers:
    """Return the best cost that k draws without replacement are expected to give, for k = 1 … budget.

    Parameters
    ----------
    costs : array [N]
        Costs of all configurations; what is not finite counts as the worst that is.
    budget : int
        At most N of them are returned: after N draws nothing is left.

    Returns
    -------
    array [min(budget, N)]
        Expected minima, in the unit of the costs.

    Raises
    ------
    UsageError
        ``usage.costs`` where no cost is finite, ``usage.number`` for a budget below 1.
    """
    ordered = np.sort(_finite(costs))
    count = min(whole("budget", budget), len(ordered))
    out = np.empty(count)
    # Chance that the i-th smallest is the smallest drawn: C(N-1-i, k-1) / C(N, k); from one i to the next it changes
    # by a ratio, and everything from N-k+1 on is impossible.
    for k in range(1, count + 1):
        place = np.arange(len(ordered) - k, dtype=np.float64)
        behind = len(ordered) - 1 - place
        ratios = np.concatenate([[k / len(ordered)], (behind - k + 1) / behind])
        out[k - 1] = np.cumprod(ratios) @ ordered[: len(ratios)]
    return out


def score(runs: pandas.DataFrame, of: Source | ArrayLike, task: str | None = None, budget: int | None = None) -> float:
    """Return the standardised score of simulated runs: 0 is as good as chance, 1 is the optimum at once.

    Parameters
    ----------
    runs : pandas.DataFrame
        What `simulate` returned, or columns ``seed evaluation cost_s`` (``value`` where the objective is no time).
    of : TuningLog, DataFrame or array [N]
        The log (or its records) that the runs were simulated on, or the costs of all configurations, infinite for
        failures.
    task : str, optional
        Task of the log.
    budget : int, optional
        Evaluations that count; by default those of the longest run. A run that ended earlier keeps its best.

    Returns
    -------
    float
        Mean over the seeds; `scores` has each of them.

    Raises
    ------
    UsageError
        ``usage.costs`` without a finite cost, ``usage.task`` for a task that is not there, or has to be named.

    Examples
    --------
    >>> import pandas, workbench as wb
    >>> run = pandas.DataFrame({"seed": 0, "evaluation": [1, 2], "cost_s": [2.0, 1.0]})
    >>> wb.logs.score(run, [1.0, 2.0, 3.0])  # two draws of three are expected to give 2, then 4/3
    0.5
    """
    return float(scores(runs, of, task, budget).mean())


def scores(
    runs: pandas.DataFrame, of: Source | ArrayLike, task: str | None = None, budget: int | None = None
) -> pandas.Series:
    """Return the standardised score of each seed; see `score`."""
    import pandas

    if isinstance(of, TuningLog | pandas.DataFrame):
        table = Configurations.of(of, task)
        told, costs = runs_of(runs, table), table.costs
    else:
        told, costs = runs_of(runs), _finite(of)
    length = max(map(len, told.values()), default=1) if budget is None else whole("budget", budget)
    base = random_baseline(costs, length)
    each = {seed: score_of(run, costs, base) for seed, run in told.items()}
    return pandas.Series(each, name="score", dtype="float64").rename_axis("seed")


def runs_of(runs: pandas.DataFrame, table: Configurations | None = None) -> dict[int, Numbers]:
    """Return the costs of each run in their order, by its seed, as `Configurations.costs` has them.

    Raises
    ------
    UsageError
        ``usage.runs`` for something else than runs.
    """
    missing = [c for c in ("seed", "evaluation", "cost_s") if c not in getattr(runs, "columns", ())]
    if missing:
        hint = "pass what `wb.logs.simulate` returned"
        raise UsageError("usage.runs", f"These are no runs: {missing[0]!r} is missing", ("runs",), hint)
    if runs.duplicated(["seed", "evaluation"]).any():
        hint = "give each run a seed of its own, or score them one by one"
        raise UsageError("usage.runs", "Two runs have the same seed", ("runs",), hint)
    each: Any = runs.sort_values(["seed", "evaluation"]).groupby("seed", sort=True)
    told = {seed: np.asarray(run["cost_s"] if table is None else table.costs_of(run), np.float64) for seed, run in each}
    if any(np.isnan(run).any() for run in told.values()):
        hint = "pass the log instead of its costs; the cost of a failure is infinite"
        raise UsageError("usage.runs", "The objective of these runs is no time", ("runs",), hint)
    return told


def score_of(run: Sequence[float] | Numbers, costs: ArrayLike, baseline: Numbers) -> float:
    """Return the score of one run over as many evaluations as the baseline has.

    Parameters
    ----------
    run : array [k]
        Costs in the order in which they were measured, infinite for failures.
    costs : array [N]
        Costs of all configurations.
    baseline : array [budget]
        What `random_baseline` gave for them.
    """
    all_costs = _finite(costs)
    best, worst = float(all_costs.min()), float(all_costs.max())
    so_far = best_so_far(run, worst, len(baseline))
    # Where chance is sure of the optimum nobody can be better, so these evaluations say nothing.
    room = baseline - best > 1e-12 * max(abs(best), abs(worst))
    if not room.any():
        return 0.0
    return float(((baseline - so_far)[room] / (baseline - best)[room]).mean())


def best_so_far(run: Sequence[float] | Numbers, worst: float, length: int) -> Numbers:
    """Return the best after each evaluation ``[length]``; a run that ended earlier keeps its best."""
    seen = np.full(length, np.inf)
    told = np.asarray(run, np.float64)[:length]
    seen[: len(told)] = told
    out: Numbers = np.minimum(np.minimum.accumulate(seen), worst)
    return out


def _finite(costs: ArrayLike) -> Numbers:
    """Costs with failures as the worst that was measured."""
    try:
        told = np.asarray(costs, np.float64).ravel()
    except (TypeError, ValueError):
        told = np.empty(0)
    ok = np.isfinite(told)
    if not ok.any():
        hint = "give the numbers of a complete log, infinite for failures"
        raise UsageError("usage.costs", "No configuration has a cost", ("costs",), hint)
    return np.where(ok, told, told[ok].max())
