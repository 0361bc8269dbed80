"""Arrays of an ONNX model: weights in the file or beside it, and tensors among the attributes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError
from ..dtypes import DTYPES, check_dtype
from ..graph import Array

if TYPE_CHECKING:
    import onnx


def initializers(graph: onnx.GraphProto, folder: Path | None) -> dict[str, Array]:
    """Weights by name; external ones lie in `folder`."""
    out: dict[str, Array] = {}
    for t in graph.initializer:
        if t.name in out:
            raise ModelError("model.duplicate_name", f"Two initializers are called {t.name!r}.", (t.name,))
        out[t.name] = array_of(t, folder, f"weight {t.name!r}")
    return out


def array_of(t: onnx.TensorProto, folder: Path | None, what: str) -> Array:
    """Value of a tensor; `what` names it in errors."""
    import onnx
    from onnx import numpy_helper

    dtype = dtype_of(t.data_type)
    if dtype not in DTYPES and (dtype.startswith("type ") or t.data_location == onnx.TensorProto.EXTERNAL):
        check_dtype(dtype, what)
    count = int(np.prod(t.dims, dtype=np.int64))
    if t.data_location == onnx.TensorProto.EXTERNAL:
        return _external(t, folder, what, dtype, count)
    if (
        count
        and not t.raw_data
        and not any(
            len(getattr(t, f))
            for f in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
        )
    ):
        raise ModelError(
            "model.weights_missing",
            f"The {what} {list(t.dims)} has no data in the file.",
            (t.name,),
            "use the complete model, or --fill-weights SEED to make up weights",
        )
    try:
        return np.array(numpy_helper.to_array(t))
    except ValueError as e:
        raise ModelError(
            "model.invalid_graph", f"The data of {what} do not fit its shape {list(t.dims)}: {e}.", (t.name,)
        ) from None


def _external(t: onnx.TensorProto, folder: Path | None, what: str, dtype: str, count: int) -> Array:
    info = {e.key: e.value for e in t.external_data}
    place = info.get("location", "")
    if folder is None:
        raise ModelError(
            "model.weights_missing",
            f"The {what} lies in {place!r}, but the model was not read from a file.",
            (t.name, place),
            "give load_onnx the path of the model",
        )
    root, path = folder.resolve(), (folder / place).resolve()
    if not place or Path(place).is_absolute() or not path.is_relative_to(root):
        raise ModelError(
            "model.external_data",
            f"The {what} is said to lie in {place!r}, outside of the model's folder.",
            (t.name, place),
            f"put the data into {str(root)!r}",
        )
    nbytes = count * np.dtype(dtype).itemsize
    try:
        offset = int(info.get("offset", 0))
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(nbytes)
    except (OSError, ValueError):
        raise ModelError(
            "model.weights_missing",
            f"The {what} lies in {place!r}, which cannot be read.",
            (t.name, str(path)),
            "copy the external data beside the model",
        ) from None
    if len(data) < nbytes:
        raise ModelError(
            "model.weights_missing",
            f"The file {place!r} is too short for {what}: {nbytes} bytes from {offset} on are needed.",
            (t.name, str(path)),
            "copy the external data again",
        )
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype).reshape(tuple(t.dims))


def dtype_of(code: int) -> str:
    """NumPy name of an element type of ONNX."""
    import onnx

    try:
        name = str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(code)).name)
        name = "string" if name == "object" else name
    except (KeyError, TypeError, ValueError):
        name = f"type {code}"
    return name
