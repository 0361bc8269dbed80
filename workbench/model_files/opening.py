"""Opening a model's file: which one a name stands for, and whether it is one."""

from __future__ import annotations

import errno
import importlib
import mmap
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from workbench.arguments import ArgumentTypeError
from workbench.arguments import path as as_path
from workbench.errors import ModelError, did_you_mean
from workbench.model_files.model_path import ZOO, find_model, made_model
from workbench.model_files.protobuf_wire import Data, diagnose, without_weights

if TYPE_CHECKING:
    import onnx

    Model: TypeAlias = str | os.PathLike[str] | bytes | onnx.ModelProto

#: Protocol buffers end here: no parser reads more.
MAX_PROTO = 2**31 - 1


def open_model(source: Model, light: bool) -> tuple[onnx.ModelProto, Path | None, str, Data]:
    """Parse a model; `light` leaves weights of a file where they are, in the data that is given along.

    Returns
    -------
    tuple
        The model, its file (None when it came from memory), a name for it, and the file's bytes.

    Raises
    ------
    ModelError
        "model.missing_file", "model.not_onnx", "model.truncated" or "model.file_too_large".
    """
    import onnx

    if isinstance(source, onnx.ModelProto):
        return source, None, source.graph.name or "model", b""
    if isinstance(source, bytes):
        model = _parse(source, "model")
        return model, None, model.graph.name or "model", b""
    if not isinstance(source, str | os.PathLike):
        message = f"A model is a path, bytes or an onnx.ModelProto, not {type(source).__name__}"
        raise ArgumentTypeError("usage.type", message)
    as_path("the model's path", source)
    if (made := made_model(source)) is not None:
        return made, None, made.graph.name, b""
    path = find_model(source) if isinstance(source, str) else Path(source)
    try:
        if path.is_char_device() or not os.fspath(source):  # some devices never end; Path("") is the current folder
            raise OSError(errno.EINVAL, "it is not a file")
        size = path.stat().st_size
        if size > MAX_PROTO:
            raise _too_large(str(path), size)
        with path.open("rb") as file:
            regular = path.is_file() and size > 0  # what is empty or a pipe cannot be mapped
            data: Data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if regular else file.read()
    except OSError as e:
        why = "does not exist" if isinstance(e, FileNotFoundError) else f"cannot be read: {e.strerror}"
        raise ModelError(
            "model.missing_file",
            f"The model file {os.fspath(source)!r} {why}.",
            (os.fspath(source),),
            _neighbours(path),
        ) from None
    return _parse(data, str(path), light), path, path.stem, data


def _too_large(where: str, size: int) -> ModelError:
    text = f"The model file {where!r} has {size / 2**30:.1f} GiB; a protocol buffer ends at 2 GiB."
    hint = "save it with external data: onnx.save(model, path, save_as_external_data=True)"
    return ModelError("model.file_too_large", text, (where,), hint)


def _parse(data: Data, where: str, light: bool = False) -> onnx.ModelProto:
    import onnx

    if len(data) > MAX_PROTO:
        raise _too_large(where, len(data))
    kind = diagnose(data)
    if kind == "other":
        raise ModelError(
            "model.not_onnx", f"{where!r} is not an ONNX model.", (where,), "give a file that an ONNX exporter wrote"
        )
    decode_error = importlib.import_module("google.protobuf.message").DecodeError
    model = onnx.ModelProto()
    try:
        model.ParseFromString(without_weights(data) if light else bytes(data))
    except (decode_error, ValueError):
        kind = "truncated"
    if kind == "truncated" or not model.opset_import or not model.HasField("graph"):
        what = "is empty" if not data else f"ends too early or is damaged ({len(data)} bytes)"
        raise ModelError(
            "model.truncated", f"The model file {where!r} {what}.", (where,), "download or export it again"
        )
    return model


def _neighbours(path: Path) -> str:
    try:
        models = sorted(p.name for p in path.parent.iterdir() if p.suffix == ".onnx")
    except OSError:
        return f"there is no folder {str(path.parent)!r}"
    if not path.suffix and path.parent == Path():  # a name, and no path
        models += importlib.import_module(ZOO).names()
    return (
        did_you_mean(path.name, models, "models there") if models else f"there is no .onnx file in {str(path.parent)!r}"
    )
