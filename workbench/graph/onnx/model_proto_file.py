"""Writing ONNX models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.arguments import path as as_path
from workbench.errors import ModelError

if TYPE_CHECKING:
    import onnx


def save_onnx(model: onnx.ModelProto, path: str | os.PathLike[str]) -> None:
    """Write a model; `ModelError` "model.unwritable" when that is not possible."""
    try:
        Path(as_path("path", path)).write_bytes(model.SerializeToString())
    except OSError as e:
        raise ModelError(
            "model.unwritable", f"The model cannot be written to {str(path)!r}: {e.strerror}.", (str(path),)
        ) from None
