"""Questions to a tuning log: each function returns a tidy table, and its twin `…_figure` a plotly figure.

The sentence that says what a table shows, with its numbers, is in ``frame.attrs["finding"]``, and above the figure.
A source is a `TuningLog` or rows of its `records`. Values of different units, objectives, tasks or devices are never
mixed: they are rows of their own, or a `UsageError` asks which are meant.
"""

from workbench.logs.analysis.budget import budget, budget_figure
from workbench.logs.analysis.centrality import centrality, centrality_figure
from workbench.logs.analysis.comparing import both_tried, compare, compare_figure
from workbench.logs.analysis.coverage import coverage, coverage_figure
from workbench.logs.analysis.failure_rule import failure_rule, failure_rule_figure
from workbench.logs.analysis.failures import failures, failures_figure
from workbench.logs.analysis.importance import importance, importance_figure, interactions, interactions_figure
from workbench.logs.analysis.neighbours import neighbours, neighbours_figure, untried
from workbench.logs.analysis.noise import noise, noise_figure
from workbench.logs.analysis.portability import most_portable, portability, portability_figure
from workbench.logs.analysis.predictions import predictions, predictions_figure
from workbench.logs.analysis.progress import best_so_far, best_so_far_figure
from workbench.logs.analysis.spread import distribution, distribution_figure
from workbench.logs.analysis.winners import traits, traits_figure, winners, winners_figure

__all__ = [
    "best_so_far",
    "best_so_far_figure",
    "both_tried",
    "budget",
    "budget_figure",
    "centrality",
    "centrality_figure",
    "compare",
    "compare_figure",
    "coverage",
    "coverage_figure",
    "distribution",
    "distribution_figure",
    "failure_rule",
    "failure_rule_figure",
    "failures",
    "failures_figure",
    "importance",
    "importance_figure",
    "interactions",
    "interactions_figure",
    "most_portable",
    "neighbours",
    "neighbours_figure",
    "noise",
    "noise_figure",
    "portability",
    "portability_figure",
    "predictions",
    "predictions_figure",
    "traits",
    "traits_figure",
    "untried",
    "winners",
    "winners_figure",
]
