"""Searches on a complete log, which answers whatever configuration is asked for, and how good they were.

`simulate` runs a search (`simulating`), `score` compares its runs with chance and the optimum (`scoring`). The
workbench's own searches run over `table_space` with a model of `table_models`; `configurations` is what a log has.
"""

from workbench.logs.simulation.progress import simulation_curves, simulation_figure
from workbench.logs.simulation.scoring import random_baseline, score, scores
from workbench.logs.simulation.simulating import STRATEGIES, ParameterSpace, simulate
from workbench.logs.simulation.table_models import TABLE_MODELS

__all__ = [
    "STRATEGIES",
    "TABLE_MODELS",
    "ParameterSpace",
    "random_baseline",
    "score",
    "scores",
    "simulate",
    "simulation_curves",
    "simulation_figure",
]
