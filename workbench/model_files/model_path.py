"""Models by name: a file, or one of those that come with the onnx package."""

from __future__ import annotations

import importlib
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

#: Key of a model's metadata: lengths that named open dimensions have unless somebody says otherwise, as JSON.
SIZES = "workbench.sizes"

#: What knows the models that are made, not read; it lies above this module.
ZOO = "workbench.zoo"


def find_model(name: str) -> Path:
    """Return the path of a model: a file, or one that the onnx package carries (``light_squeezenet``)."""
    path = Path(name)
    if os.path.exists(name) or not re.fullmatch(r"\w+", name):
        return path
    spec = find_spec("onnx")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        shipped = Path(folder) / "backend" / "test" / "data" / "light" / f"{name}.onnx"
        if shipped.exists():
            return shipped
    return path


def made_model(name: object) -> onnx.ModelProto | None:
    """Return a model of the zoo by its name, where there is no such file; None where the zoo has none."""
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name) or find_model(name).exists():
        return None
    zoo = importlib.import_module(ZOO)
    made: onnx.ModelProto | None = zoo.model(name) if zoo.known(name) else None
    return made
