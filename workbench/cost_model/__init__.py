"""Cost models: which of many candidates is worth measuring.

A model scores feature rows; higher is faster. `make_model` makes one by name, `load` reads one from a file, and
`HeldOut` says how good the predictions of a session were. `models` has a module for each; `base` says what a model is.
"""

from workbench.cost_model.base import MODELS, CostModel, Flags, Matrix, Rows, Scorer, Scores, cost_model
from workbench.cost_model.model_file import load, make_model
from workbench.cost_model.models.untrained import AnalyticModel, RandomModel
from workbench.cost_model.models.xgboost import XGBoostModel, training_set
from workbench.cost_model.prediction_quality import HeldOut, Quality, spearman

__all__ = [
    "MODELS",
    "AnalyticModel",
    "CostModel",
    "Flags",
    "HeldOut",
    "Matrix",
    "Quality",
    "RandomModel",
    "Rows",
    "Scorer",
    "Scores",
    "XGBoostModel",
    "cost_model",
    "load",
    "make_model",
    "spearman",
    "training_set",
]
