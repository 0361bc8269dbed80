"""Models as files: JSON with a version and a checksum; nothing in them is executed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import CostModelError
from workbench.tune.cost_model.base import MODELS, CostModel
from workbench.tune.features import COLUMNS, VERSION

#: Version of the file format.
FORMAT = 1
#: Larger files are refused before they are read: rows of a long run take some megabytes.
MAX_BYTES = 256 << 20
#: Numbers that one packed array may have.
MAX_NUMBERS = 1 << 26


def write(path: str | os.PathLike[str], kind: str, data: Mapping[str, Any]) -> None:
    """Write a model, all of it or nothing."""
    place = Path(path)
    body = {"kind": kind, "features": VERSION, "columns": len(COLUMNS), "data": dict(data)}
    text = json.dumps({"workbench_cost_model": FORMAT, "checksum": _checksum(body), **body})
    beside = place.with_name(f"{place.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(place)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise CostModelError(
            "cost_model.unwritable", f"The cost model cannot be written: {error.strerror}.", (str(place),)
        ) from None


def load(path: str | os.PathLike[str]) -> CostModel:
    """Read a model that `save` has written.

    Raises
    ------
    CostModelError
        "cost_model.missing", "cost_model.damaged", "cost_model.version" for a file of a newer version,
        "cost_model.features" for one whose features were computed differently, "cost_model.kind" for a model that does
        not exist here.
    """
    content = _content(path)
    place = (str(path),)
    if content.get("workbench_cost_model") != FORMAT:
        found = content.get("workbench_cost_model")
        raise CostModelError("cost_model.version", f"The file has version {found!r}, not {FORMAT}.", place)
    body = {k: content.get(k) for k in ("kind", "features", "columns", "data")}
    if content.get("checksum") != _checksum(body) or not isinstance(body["data"], dict):
        raise damaged("its contents do not fit its checksum", place)
    if (body["features"], body["columns"]) != (VERSION, len(COLUMNS)):
        raise CostModelError(
            "cost_model.features",
            f"The model was trained on features of version {body['features']!r}; these are {VERSION!r}.",
            place,
            "train a new one from the logs",
        )
    if body["kind"] not in MODELS:
        raise CostModelError(
            "cost_model.kind", f"There is no cost model {body['kind']!r}.", place, f"known: {', '.join(MODELS)}"
        )
    try:
        return MODELS[str(body["kind"])].restore(body["data"])
    except CostModelError as error:
        raise CostModelError(error.code, error.message, place, error.hint) from None


def damaged(why: str, where: tuple[str, ...] = ()) -> CostModelError:
    """Error for a file that cannot be what it says."""
    return CostModelError("cost_model.damaged", f"The file is no cost model or damaged: {why}.", where)


def _content(path: str | os.PathLike[str]) -> dict[str, Any]:
    place = Path(path)
    try:
        if place.stat().st_size > MAX_BYTES:
            raise damaged(f"it is larger than {MAX_BYTES >> 20} MiB", (str(path),))
        content = json.loads(place.read_bytes().decode("utf-8"))
    except OSError as error:
        raise CostModelError(
            "cost_model.missing", f"The cost model cannot be read: {error.strerror}.", (str(path),)
        ) from None
    except (ValueError, RecursionError):
        raise damaged("it is no JSON", (str(path),)) from None
    if not isinstance(content, dict):
        raise damaged("it is no JSON object", (str(path),))
    return content


def _checksum(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# ------------------------------------------------------------------------------------------------------------- contents


def pack(array: NDArray[Any]) -> dict[str, Any]:
    """Pack an array of numbers as JSON: its shape and its compressed bytes, little-endian float32 or float64."""
    kind = "<f4" if array.dtype == np.float32 else "<f8"
    raw = np.ascontiguousarray(array, dtype=kind).tobytes()
    return {"shape": list(array.shape), "dtype": kind, "data": base64.b64encode(zlib.compress(raw, 6)).decode("ascii")}


def unpack(packed: Any, columns: int | None = None) -> NDArray[Any]:
    """Read an array back; with `columns`, a matrix of so many."""
    if (
        not isinstance(packed, dict)
        or not isinstance(packed.get("shape"), list)
        or str(packed.get("dtype")) not in _KINDS
    ):
        raise damaged("an array is missing")
    shape = tuple(n for n in packed["shape"] if isinstance(n, int) and 0 <= n <= MAX_NUMBERS)
    if len(shape) != len(packed["shape"]) or math.prod(shape) > MAX_NUMBERS:
        raise damaged("an array has an impossible shape")
    if columns is not None and (len(shape) != 2 or shape[1] != columns):
        raise damaged(f"an array does not have {columns} columns")
    size = math.prod(shape) * _KINDS[packed["dtype"]]
    try:
        step = zlib.decompressobj()
        raw = step.decompress(base64.b64decode(str(packed.get("data", "")), validate=True), size + 1)
    except (ValueError, binascii.Error, zlib.error):
        raise damaged("an array cannot be unpacked") from None
    if len(raw) != size:
        raise damaged("an array has another size than it says")
    return np.frombuffer(raw, packed["dtype"]).reshape(shape).astype(np.dtype(packed["dtype"]).newbyteorder("="))


_KINDS = {"<f4": 4, "<f8": 8}


def number_in(data: Mapping[str, Any], name: str) -> float:
    """Read a finite number from the contents of a file."""
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise damaged(f"{name!r} is no number")
    return value
