from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.graph import Graph, load_onnx
from workbench.graph.seeded_weights import fill_weights


def light_path(name: str) -> Path:
    onnx = pytest.importorskip("onnx")
    return Path(os.path.dirname(onnx.__file__)) / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"


@pytest.fixture(scope="session")
def light():
    """Path of a model that the onnx package ships."""
    return light_path


@pytest.fixture(scope="session")
def filled():
    """Models with seeded weights, as (ModelProto, Graph), made once per session."""
    made: dict[str, tuple[object, Graph]] = {}

    def get(name: str) -> tuple[object, Graph]:
        if name not in made:
            model = fill_weights(light_path(name), seed=0)
            made[name] = model, load_onnx(model)
        return made[name]

    return get
