"""How good predictions were: rank correlations within rounds."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from workbench.cost_model import HeldOut, Quality, spearman
from workbench.cost_model.prediction_quality import pairs_in_order

# ---- quality


def test_held_out_correlation_compares_within_a_round():
    held = HeldOut()
    assert held.quality().tau is None
    assert held.observe([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).tau == 1.0
    assert held.quality().tau == 1.0
    held.observe([1.0, 2.0], [2.0, 1.0])
    assert held.quality().tau == pytest.approx((3 - 1) / 4)
    assert held.observe([1.0, float("nan")], [1.0, 2.0]) == Quality(None, None, 0), "not predicted"
    assert held.quality().tau == pytest.approx((3 - 1) / 4)
    assert held.quality().pairs == 4


def test_quality_per_task_and_overall():
    held = HeldOut()
    held.observe([1, 2, 3, 4], [10, 20, 40, 30], "a")
    held.observe([1, 2], [1, 2], "b")
    held.observe([4, 3, 2, 1], [1, 2, 3, 4], "a")
    a, b = held.quality("a"), held.quality("b")
    assert (a.pairs, b.pairs, held.quality().pairs) == (12, 1, 13)
    assert a.tau == pytest.approx((5 - 1 - 6) / 12)
    assert a.spearman == pytest.approx((0.8 - 1.0) / 2)
    assert (b.tau, b.spearman) == (1.0, pytest.approx(1.0))
    assert held.quality("a", last=1).tau == -1.0
    assert held.quality("c") == held.quality("d")
    assert held.quality("c").tau is None


def test_equal_values_share_their_rank():
    assert spearman([1, 2, 3], [1, 8, 27]) == pytest.approx(1.0)
    assert spearman([1, 1, 2], [1, 2, 2]) == pytest.approx(0.5)
    assert spearman([1, 1], [1, 2]) is None
    assert spearman([], []) is None


def test_quality_of_a_log():
    def record(round_, task, predicted, ms):
        return SimpleNamespace(round=round_, task_key=task, predicted=predicted, latency_ms=ms, ok=ms is not None)

    records = [record(0, "a", None, 5.0), record(0, "a", None, 4.0)]
    records += [record(1, "a", p, ms) for p, ms in ((1.0, 4.0), (2.0, 2.0), (3.0, 3.0), (9.0, None))]
    records += [
        record(3, "a", p, ms) for p, ms in ((0.0, 1.0), (-1.0, 1.5))
    ]  # faster, and compared with each other only
    records += [record(2, "b", p, ms) for p, ms in ((1.0, 4.0), (2.0, 2.0))]
    held = HeldOut.of_records(records)
    assert [r.task for r in held.rounds] == ["a", "b", "a"], "nothing was predicted before the first round"
    assert held.quality("a").pairs == 3 + 1
    assert held.quality("a").tau == pytest.approx((1 + 1) / 4)
    assert math.isclose(held.quality().tau or 0, 3 / 5)


def test_quality_needs_pairs_and_nothing_else():
    """Few, equal and failed trials, and predictions that are none."""
    held = HeldOut()
    nan = math.nan
    for predicted, speed in (
        ([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 3.0]), ([1.0, 2.0], [nan, nan]),
        ([None, None], [1.0, 2.0]), ([math.inf, 1.0], [1.0, 2.0]), ([1.0, 2.0], [math.inf, 1.0]),
    ):  # fmt: skip
        assert held.observe(predicted, speed) == Quality(None, None, 0)
    assert held.quality() == Quality(None, None, 0)
    assert held.observe([1.0, 1.0, 2.0], [1.0, 2.0, 3.0]).tau == 1.0, "equal predictions are no pair"


def test_pairs_of_a_large_round():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 50, 400).astype(float), rng.integers(0, 50, 400).astype(float)
    signs = np.sign(a[:, None] - a) * np.sign(b[:, None] - b)
    assert pairs_in_order(a, b) == ((signs > 0).sum() // 2, (signs < 0).sum() // 2)


def test_quality_of_a_log_is_that_of_what_the_search_chose():
    def record(origin, predicted, ms):
        return SimpleNamespace(round=1, task_key="a", predicted=predicted, latency_ms=ms, ok=True, origin=origin)

    chosen = [record("mutation", 1.0, 4.0), record("sketch", 2.0, 2.0)]
    given = [record(origin, -9.0, 0.1) for origin in ("seed", "manual", "default")]
    assert HeldOut.of_records(chosen + given).quality() == Quality(1.0, pytest.approx(1.0), 1)
