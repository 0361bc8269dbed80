"""The comparison with onnxruntime sees what it should, and lets rounding pass."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

pytest.importorskip("onnxruntime")

from random_models import judging
from random_models.draft import TRIALS, Draft
from random_models.judging import difference, judge
from random_models.making import random_model

X = np.array([1e-3, 1.0, 1e6], np.float32)


def test_what_is_not_rounded_is_right_to_the_last_bit():
    assert not difference(X, X.copy(), None)
    assert difference(X, np.nextafter(X, 2 * X), None)
    assert difference(X, X.astype("f8"), None)
    assert difference(X, X.reshape(3, 1), None)
    assert difference(np.array([np.nan]), np.array([0.0]), None)
    assert not difference(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), None)


def test_small_elements_beside_large_ones_count():
    got = X * np.array([1 + 1e-2, 1, 1], np.float32)
    assert "1 of 3 elements" in difference(X, got, [X, X])


def test_what_rounding_moves_may_differ():
    left = np.array([1.0, 2e-6, 3.0], np.float32)  # what is left where large numbers cancelled
    moved = left + np.array([0, 1e-6, 0], np.float32)
    assert not difference(left, left + np.array([0, 3e-6, 0], np.float32), [moved])
    assert difference(left, left + np.array([3e-4, 0, 0], np.float32), [moved])
    assert not difference(np.array([np.nan]), np.array([0.0]), [np.array([0.0])])  # the edge of a domain
    assert difference(np.array([np.inf]), np.array([1e9]), [np.array([np.inf])])
    assert difference(np.array([np.inf]), np.array([np.nan]), [np.array([np.inf])])
    assert not difference(np.array([3]), np.array([4]), [np.array([4])])
    assert difference(np.array([3]), np.array([4]), [np.array([3])])
    assert difference(np.array([2**62 + 1]), np.array([2**62]), [np.array([2**62 + 1])])


def test_what_leaps_at_0_may_differ_where_rounding_gives_either_sign():
    yes, no = np.array([True]), np.array([False])
    assert not difference(yes, no, [*[yes] * (TRIALS + 2), no])
    assert difference(yes, no, [yes] * (TRIALS + 3))


def test_the_sign_of_a_zero_is_lost_by_a_selection_alone():
    """onnxruntime adds up what it selects."""
    draft = Draft(np.random.default_rng(0), 26)
    x, some = draft.fresh(np.array([-0.0, 2.0], np.float32)), draft.fresh(np.array([True, False]))
    (y,) = draft.add("Where", [some, x, draft.fresh(np.float32(3))])
    draft.add("BitCast", [y], to=onnx.TensorProto.INT32)
    draft.add("Reciprocal", [x])
    assert judge(draft, 0).status == "same"
    (bits,), moved = draft.steps[1].makes, [w["t1_0"] for w in draft.moved]
    assert difference(draft.value(bits), np.array([-(2**31), 3], np.int32), moved)
    assert all(world["t2_0"][0] == -np.inf for world in draft.moved)


@pytest.mark.checks
@pytest.mark.filterwarnings("ignore::workbench.errors.ModelWarning")
def test_one_wrong_element_of_a_model_is_seen(monkeypatch):
    """Of results of random models, one element in one output is off by a fiftieth, or by one."""
    rng, right = np.random.default_rng(0), judging.ours

    def wrong(model, feeds):
        got = right(model, feeds)
        fit = [n for n, v in got.items() if isinstance(v, np.ndarray) and v.size and v.dtype.kind in "fiu"]
        fit = [n for n in fit if np.isfinite(got[n]).all() and (np.abs(got[n]) > 0.25).any()]
        if fit:
            name = str(rng.choice(fit))
            value = got[name].copy()
            at = tuple(rng.choice(np.argwhere(np.abs(value.astype("f8")) > 0.25)))
            value[at] = value[at] * 1.02 if value.dtype.kind == "f" else value[at] ^ 1
            got[name] = value
            spoiled.append(True)
        return got

    monkeypatch.setattr(judging, "ours", wrong)
    monkeypatch.setattr(judging, "_culprit", lambda draft: "spoiled")
    seen = []
    for k in range(60):
        spoiled: list[bool] = []
        draft = random_model(8, k)
        result = None if draft is None else judge(draft, k)
        if spoiled:
            seen.append(result.status == "differs")
    assert len(seen) >= 33
    assert sum(seen) >= 0.95 * len(seen), f"{sum(seen)} of {len(seen)}"
