"""Models of other programs as modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from workbench.errors import ModelError
from workbench.graph import load_onnx
from workbench.graph.graph import Array
from workbench.tvm.relay.module import Module


def from_onnx(
    model: Any, shape: Mapping[str, Sequence[int]] | None = None, dtype: str = "float32", **options: Any
) -> tuple[Module, dict[str, Array]]:
    """Read an ONNX model: the module and its weights."""
    mod = Module(load_onnx(model, shape))
    return mod, mod.params


def _elsewhere(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        """Say how such a model comes in.

        Raises
        ------
        ModelError
            "tvm.frontend".
        """
        text = f"relay.frontend.{name} is not here."
        raise ModelError("tvm.frontend", text, (name,), "export the model to ONNX, or wb.load_torch(module, inputs)")

    return refuse


from_pytorch, from_tensorflow, from_tflite, from_keras, from_mxnet = map(
    _elsewhere, ("from_pytorch", "from_tensorflow", "from_tflite", "from_keras", "from_mxnet")
)
