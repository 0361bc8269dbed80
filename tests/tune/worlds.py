"""A made-up machine for cost models: features at random, and speeds that the estimate alone explains in part."""

from __future__ import annotations

import numpy as np

from workbench.cost_model import HeldOut, XGBoostModel
from workbench.machine_model.features import COLUMNS, INDEX


def rows(n=400, seed=0):
    """Features and log2 speeds."""
    x = np.random.default_rng(seed).standard_normal((n, len(COLUMNS))).astype(np.float32)
    return x, speed_of(x)


def speed_of(x):
    """Log2 speeds of rows: more accumulators than some and more tasks are better than the estimate thinks."""
    truth = (
        x[:, INDEX["speed"]]
        + np.where(x[:, INDEX["main.accumulators"]] > 0, 1.5, 0.0)
        + 0.5 * x[:, INDEX["main.tasks"]]
    )
    return truth.astype(np.float64)


def taught(count=300, seed=0, **options):
    """A model that has seen the first rows, and all rows."""
    model, (x, y) = XGBoostModel(seed, **options), rows()
    model.update("a", x[:count], y[:count])
    return model, x, y


def tau(a, b) -> float:
    """Kendall's, of two orders that have pairs."""
    value = HeldOut().observe(list(a), list(b)).tau
    assert value is not None
    return value
