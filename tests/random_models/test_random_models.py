"""Random ONNX models give what onnxruntime gives: all operators, opsets 7 to 22, odd attributes and shapes."""

from __future__ import annotations

import os
from collections import Counter

import onnx
import pytest

pytest.importorskip("onnxruntime")

from tiers import first

from random_models.making import OPSETS, has
from random_models.many import run, summary
from random_models.recipes import RECIPES
from workbench.graph.opdef import known, registry

JOBS = max(1, min(2, os.cpu_count() or 1))
#: Operators that need no recipe: their results are random, they read files, or onnxruntime has none of them.
WITHOUT = {"Bernoulli", "ImageDecoder", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
           "RandomUniformLike"}  # fmt: skip


def bad(found):
    return [r for r in found if r.status in ("differs", "crash", "hang")]


def test_every_operator_that_runs_has_a_recipe():
    names = {s.name for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""}
    runs = {n for n in names if any(has(n, v) and known("", n, v) for v in OPSETS)} | set(registry())
    assert runs - set(RECIPES) - WITHOUT == set()


@pytest.mark.parametrize("numbers", first([range(25), range(25, 100)]), ids=len)
def test_a_sample_of_models(numbers):
    found = list(run(numbers, seed=15, jobs=JOBS))
    assert not bad(found), summary(found)
    assert Counter(r.status for r in found)["refused"] <= 4, summary(found)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_three_thousand_models():
    found = list(run(range(3000), seed=1, jobs=JOBS))
    print(summary(found))
    assert not bad(found), summary(found)
    refused = [r for r in found if r.status == "refused"]
    assert len(refused) <= 0.02 * len(found), summary(found)
    assert not [r for r in refused if r.culprit not in r.operators], "a refusal names the node"
    assert Counter(r.status for r in found)["none"] <= 100
