"""Arrays of an ONNX model: weights in the file or beside it, and tensors among the attributes.

Files beside the model are mapped and not read: pages come into memory when something uses them, and the system may drop
them again. So a model may be larger than the memory.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import shown
from workbench.errors import ModelError, ModelWarning, option
from workbench.model_files.element_types import DTYPES, check_dtype
from workbench.model_files.protobuf_wire import OWN, Data

if TYPE_CHECKING:
    import onnx

#: Fields of a TensorProto that can hold its elements.
_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
#: Elements that are looked at together when weights are searched for NaN.
_CHUNK = 1 << 22
#: After so many bytes of the model's own file, the system may drop their pages.
_RELEASE = 1 << 24


class Tensors:
    """Reads the tensors of one model.

    Parameters
    ----------
    path : Path or None
        The model's file; None when it came from memory. Where it is a link, data right beside what it leads to may be
        linked to as well: stores of models keep their files so, each under its checksum.
    own : bytes or mmap
        The file, for weights whose place is `protobuf_wire.OWN`. They are copied: the file may be written again.
    hidden : bool
        Whether data may lie in hidden files.
    """

    def __init__(self, path: Path | None, own: Data = b"", hidden: bool = True) -> None:
        self._folder = None if path is None else path.parent
        self._real = path.resolve().parent if path is not None and path.is_symlink() else None
        self._own, self._hidden = own, hidden
        self._files: dict[Path, mmap.mmap] = {}
        self._since = 0
        self._with_nan: list[str] = []

    def initializers(self, graph: onnx.GraphProto) -> dict[str, NDArray[Any]]:
        """Weights by name."""
        out: dict[str, NDArray[Any]] = {}
        for t in graph.initializer:
            if t.name in out:
                raise ModelError("model.duplicate_name", f"Two initializers are called {t.name!r}.", (t.name,))
            out[t.name] = self.array(t, f"weight {t.name!r}")
            if self._has_nan(out[t.name]):
                self._with_nan.append(t.name)
        for sparse in graph.sparse_initializer:
            name = sparse.values.name
            if not name or name in out:
                text = f"Two initializers are called {name!r}." if name else "A sparse initializer has no name."
                raise ModelError("model.duplicate_name" if name else "model.invalid_graph", text, (name,))
            out[name] = self.sparse(sparse, f"sparse weight {name!r}")
            if self._has_nan(self.array(sparse.values, f"values of {name!r}")):
                self._with_nan.append(name)
        return out

    def sparse(self, t: onnx.SparseTensorProto, what: str) -> NDArray[Any]:
        """Value of a sparse tensor, with the zeros that it leaves out; pages that hold nothing else take no memory."""
        from workbench.model_files.sparse_tensors import dense  # who looks into a file does without it

        values, places = self.array(t.values, f"values of {what}"), self.array(t.indices, f"indices of {what}")
        return dense(tuple(t.dims), values, places, what, t.values.name)

    def array(self, t: onnx.TensorProto, what: str) -> NDArray[Any]:
        """Value of a tensor; `what` names it in errors."""
        import onnx
        from onnx import numpy_helper

        dtype = dtype_of(t.data_type)
        if dtype not in DTYPES and (dtype.startswith("type ") or t.data_location == onnx.TensorProto.EXTERNAL):
            check_dtype(dtype, what)
        if any(d < 0 for d in t.dims):
            text = f"The {what} has a dimension below 0: {list(t.dims)}."
            raise ModelError("model.invalid_graph", text, (t.name,))
        count = math.prod(t.dims)
        if t.data_location == onnx.TensorProto.EXTERNAL:
            return self._external(t, what, np.dtype(dtype), count)
        if count and not t.raw_data and not any(len(getattr(t, f)) for f in _FIELDS):
            raise ModelError(
                "model.weights_missing",
                f"The {what} {list(t.dims)} has no data in the file.",
                (t.name,),
                f"use the complete model, or {option('fill_weights=SEED', '--fill-weights SEED')} to make up weights",
            )
        try:
            return np.array(numpy_helper.to_array(t))
        except (TypeError, ValueError, OverflowError) as e:
            raise ModelError(
                "model.invalid_graph", f"The data of {what} do not fit its shape {shown(list(t.dims))}: {e}.", (t.name,)
            ) from None

    def _external(self, t: onnx.TensorProto, what: str, dtype: np.dtype[np.generic], count: int) -> NDArray[Any]:
        info = {e.key: e.value for e in t.external_data}
        place = info.get("location", "")
        if place == OWN:
            return self._inside(t, what, dtype, count, info)
        path = self._path(t.name, what, place)
        nbytes = count * dtype.itemsize
        offset = _number(info, "offset", 0, what, t.name)
        length = _number(info, "length", nbytes, what, t.name)
        if length != nbytes:
            text = f"The {what} is said to take {length} bytes of {place!r}, its shape {list(t.dims)} takes {nbytes}."
            raise ModelError("model.external_data", text, (t.name, place), "export the model again")
        if not count:
            return np.zeros(tuple(t.dims), dtype)
        data = self._mapped(t.name, what, place, path)
        if offset + nbytes > len(data):
            raise ModelError(
                "model.weights_missing",
                f"The file {place!r} is too short for {what}: {nbytes} bytes from {offset} on are needed.",
                (t.name, str(path)),
                "copy the external data again",
            )
        found = np.frombuffer(data, dtype.newbyteorder("<"), count, offset).reshape(tuple(t.dims))
        plain = found.flags.aligned and sys.byteorder == "little"
        return found if plain else found.astype(dtype)

    def _inside(
        self, t: onnx.TensorProto, what: str, dtype: np.dtype[np.generic], count: int, info: dict[str, str]
    ) -> NDArray[Any]:
        offset, length = (_number(info, key, 0, what, t.name) for key in ("offset", "length"))
        if length != count * dtype.itemsize or offset + length > len(self._own):
            text = f"The data of {what} do not fit its shape {shown(list(t.dims))}: there are {length} bytes."
            raise ModelError("model.invalid_graph", text, (t.name,))
        found = np.frombuffer(self._own, dtype.newbyteorder("<"), count, offset).astype(dtype)
        self._since += length
        if self._since > _RELEASE:
            self._since = 0
            self._let_go()
        return found.reshape(tuple(t.dims))

    def _path(self, name: str, what: str, place: str) -> Path:
        """Where a file beside the model really lies, which has to be in its folder."""
        if self._folder is None:
            raise ModelError(
                "model.weights_missing",
                f"The {what} lies in {place!r}, but the model was not read from a file.",
                (name, place),
                "give load_onnx the path of the model",
            )
        root = self._folder.resolve()
        try:
            path = (self._folder / place).resolve()
            near = (path != root and path.is_relative_to(root)) or path.parent == self._real
            inside = bool(place) and not Path(place).is_absolute() and near
        except (OSError, RuntimeError, ValueError):  # links in a circle, characters that no path has
            inside = False
        if not inside:
            raise ModelError(
                "model.external_data",
                f"The {what} is said to lie in {place!r}, outside of the model's folder.",
                (name, place),
                f"put the data into {str(root)!r}",
            )
        parts = (*Path(place).parts, *(path.relative_to(root).parts if path.is_relative_to(root) else (path.name,)))
        if not self._hidden and any(part.startswith(".") for part in parts):
            text = f"The {what} is said to lie in {place!r}, which is hidden."
            raise ModelError("model.external_data", text, (name, place), "give the file another name")
        return path

    def _mapped(self, name: str, what: str, place: str, path: Path) -> mmap.mmap:
        try:
            if path not in self._files:
                if not path.is_file():  # opening a pipe would wait for a writer
                    raise OSError
                with path.open("rb") as file:
                    self._files[path] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return self._files[path]
        except (OSError, ValueError):  # an empty file cannot be mapped
            raise ModelError(
                "model.weights_missing",
                f"The {what} lies in {place!r}, which cannot be read.",
                (name, str(path)),
                "copy the external data beside the model",
            ) from None

    def _has_nan(self, a: NDArray[Any]) -> bool:
        if a.dtype.kind != "f":
            return False
        flat = a.reshape(-1)
        for at in range(0, flat.size, _CHUNK):
            found = bool(np.isnan(flat[at : at + _CHUNK].min()))
            if flat.size > _CHUNK:
                self._let_go()
            if found:
                return True
        return False

    def _let_go(self) -> None:
        """Tell the system that pages of mapped files are not needed for now."""
        for file in (*self._files.values(), *([self._own] if isinstance(self._own, mmap.mmap) else [])):
            with contextlib.suppress(AttributeError, OSError):  # only some systems take such advice
                file.madvise(mmap.MADV_DONTNEED)

    def warn(self, model: str) -> None:
        """Warn about weights that hold NaN: everything that is computed from them is NaN."""
        self._let_go()
        if self._with_nan:
            first, rest = self._with_nan[:3], len(self._with_nan) - 3
            names = ", ".join(map(repr, first)) + (f" and {rest} more" if rest > 0 else "")
            text = f"Weights of the model {model!r} hold NaN: {names}. What is computed from them will be NaN."
            found = ModelWarning("model.nan_weights", text, tuple(self._with_nan), "export or download the model again")
            warnings.warn(found, stacklevel=4)


def _number(info: dict[str, str], key: str, default: int, what: str, name: str) -> int:
    """A number from the description of external data."""
    text = info.get(key, str(default))
    if not text.isascii() or not text.isdigit() or len(text) > 40:
        message = f"The {key} of {what} in its file is {text[:40]!r}, which is no number of bytes."
        raise ModelError("model.external_data", message, (name, key), "export the model again")
    return int(text)


def dtype_of(code: int) -> str:
    """NumPy name of an element type of ONNX."""
    import onnx

    try:
        name = str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(code)).name)
        name = "string" if name == "object" else name
    except (KeyError, TypeError, ValueError):
        name = f"type {code}"
    return name
