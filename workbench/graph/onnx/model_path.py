"""Models by name: a file, or one of those that come with the onnx package."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path


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
