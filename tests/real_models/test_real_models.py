"""Real networks, the light ones and those of `catalogue.py`, against onnxruntime: results and memory.

Not among the default tests. To run them::

    python tests/real_models/fetch.py FOLDER
    WORKBENCH_REAL_MODELS=FOLDER pytest -m real_models tests/real_models
"""

from __future__ import annotations

import numpy as np
import ort_session
import pytest
from real_models.catalogue import LIGHT, MODELS

from workbench.graph import load_onnx
from workbench.graph.memory.plan import plan_memory
from workbench.graph.onnx import read_program
from workbench.graph.seeded_weights import fill_weights
from workbench.graph.tasks import partition
from workbench.model_files.model_path import find_model
from workbench.network.compile import compile, execute
from workbench.network.dynamic_shapes import DynamicExecutable

pytestmark = [pytest.mark.real_models, pytest.mark.timeout(900)]

#: Largest difference, relative to the largest magnitude that onnxruntime gives.
CLOSE = 2e-4
#: Peak of the activations, relative to the most bytes that live at once.
PEAK = 1.15


def onnxruntime_session(model):
    return ort_session.session(model)


def same(got, session, feeds):
    """Compare all outputs by name."""
    names = [o.name for o in session.get_outputs()]
    assert list(got) == names
    for name, want in zip(names, session.run(names, dict(feeds)), strict=True):
        assert got[name].shape == want.shape
        assert got[name].dtype == want.dtype
        assert np.isfinite(want).all()
        assert np.abs(got[name] - want).max() <= CLOSE * np.abs(want).max(), name


def small_peak(graph, executable):
    """Activations take little more memory than live at once."""
    graph = graph if graph.groups else graph.optimize()
    plan = plan_memory(graph, partition(graph))
    assert plan.arena_bytes <= PEAK * plan.live_bytes
    assert 0 < executable.plan.least_bytes <= plan.live_bytes or not executable.plan.arena_bytes
    assert executable.plan.arena_bytes <= PEAK * executable.plan.least_bytes


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_as_onnxruntime_at_each_shape(model, real_model):
    path = real_model(model.file, model.source)
    session = onnxruntime_session(str(path))
    program = read_program(path)
    executable = DynamicExecutable(program)
    open_dims = any(d is None or isinstance(d, str) for v in program.inputs for d in v.dims or ())
    assert len(model.shapes) == (2 if open_dims else 1)
    results = []
    for k in range(len(model.shapes)):
        feeds = model.feeds(k)
        results.append(executable.run(feeds))
        same(results[-1], session, feeds)
    for stage, built in executable._stages.values():
        if stage.graph is not None:
            small_peak(stage.graph, built)
    for name, first in results[0].items():  # what is compared says something: a network of zeros would pass as well
        assert first.size == 1 or np.ptp(first) > 0, name


@pytest.mark.parametrize("name", LIGHT)
def test_light_models_with_made_up_weights(name):
    stub = find_model(f"light_{name}")
    model = fill_weights(stub, seed=0, execute=execute)
    session = onnxruntime_session(model.SerializeToString())
    graph = load_onnx(model).optimize()
    executable = compile(graph)
    small_peak(graph, executable)
    rng = np.random.default_rng(1)
    feeds = {n: rng.standard_normal(t.shape, dtype=np.float32) for n, t in graph.input_types().items()}
    got = executable.run(feeds)
    same(got, session, feeds)
    assert all(len(np.unique(v)) > 100 for v in got.values())
