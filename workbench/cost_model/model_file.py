"""Models as files: JSON with a version and a checksum; nothing in them is executed, and nothing is believed."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
import os
import stat
import threading
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import path as as_path
from workbench.arguments import shown
from workbench.cost_model.base import MODELS, CostModel
from workbench.errors import CostModelError
from workbench.files import is_json_file
from workbench.machine_model.features import COLUMNS, VERSION
from workbench.machine_model.machine_parameters import Machine

#: Version of the file format.
FORMAT = 1
#: Larger files are neither written nor read: rows of a long run take some megabytes.
MAX_BYTES = 64 << 20
#: Numbers that all packed arrays of a file may have together.
MAX_NUMBERS = 1 << 26


class Saved:
    """A model that can be written to a file.

    Attributes
    ----------
    kind : str
        The name that the class was declared by, see `cost_model`.
    """

    kind: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """What `from_json` needs, as JSON."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON; `load` reads it.

        Raises
        ------
        CostModelError
            "cost_model.unwritable"
        """
        write(path, self.kind, self.to_json())


def write(path: str | os.PathLike[str], kind: str, data: Mapping[str, Any]) -> None:
    """Write a model, all of it or nothing."""
    name = as_path("path", path)
    body = {"kind": kind, "features": VERSION, "columns": len(COLUMNS), "data": dict(data)}
    try:
        text = json.dumps({"workbench_cost_model": FORMAT, "checksum": _checksum(body), **body})
    except (TypeError, ValueError, RecursionError) as error:
        raise _unwritable(f"its contents are no JSON ({shown(str(error))})", name) from None
    if len(text) > MAX_BYTES:
        raise _unwritable(f"it would be larger than {MAX_BYTES >> 20} MiB", name)
    place = Path(name)
    beside = place.parent / f"{place.name[:64]}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        beside.write_text(text, encoding="ascii")
        beside.replace(place)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):
            beside.unlink()
        raise _unwritable(getattr(error, "strerror", None) or str(error), name) from None


def _unwritable(why: str, path: str) -> CostModelError:
    return CostModelError("cost_model.unwritable", f"The cost model cannot be written: {why}.", _place(path))


def _place(path: str) -> tuple[str]:
    """The path as it can be printed, whatever it is made of."""
    return (path.encode("utf-8", "backslashreplace").decode("utf-8"),)


def load(path: str | os.PathLike[str]) -> CostModel:
    """Read a model that `save` has written.

    Raises
    ------
    CostModelError
        "cost_model.missing", "cost_model.damaged", "cost_model.version" for a file of a newer version,
        "cost_model.features" for one whose features were computed differently, "cost_model.kind" for a model that does
        not exist here.
    """
    name = as_path("path", path)
    try:
        return _restored(_content(name))
    except CostModelError as error:
        raise CostModelError(error.code, error.message, _place(name), error.hint) from error.__cause__


def _restored(content: Mapping[str, Any]) -> CostModel:
    version = content.get("workbench_cost_model")
    if version != FORMAT:
        raise CostModelError("cost_model.version", f"The file has version {shown(version)}, not {FORMAT}.")
    body = {k: content.get(k) for k in ("kind", "features", "columns", "data")}
    kind, data = body["kind"], body["data"]
    if content.get("checksum") != _checksum(body) or not isinstance(data, dict):
        raise damaged("its contents do not fit its checksum")
    if (body["features"], body["columns"]) != (VERSION, len(COLUMNS)):
        raise CostModelError(
            "cost_model.features",
            f"The model was trained on features of version {shown(body['features'])}; these are {VERSION!r}.",
            (),
            "train a new one from the logs",
        )
    if not isinstance(kind, str) or kind not in MODELS:
        raise CostModelError(
            "cost_model.kind", f"There is no cost model {shown(kind)}.", (), f"known: {', '.join(MODELS)}"
        )
    try:
        return MODELS[kind].from_json(data)
    except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        if isinstance(error, CostModelError):
            raise
        # A model of somebody else that does not look at what it reads; those here do.
        raise damaged(f"a model {kind!r} cannot be made of it ({type(error).__name__}: {shown(str(error))})") from error


def damaged(why: str) -> CostModelError:
    """Error for a file that cannot be what it says; `load` adds the place."""
    return CostModelError("cost_model.damaged", f"The file is no cost model or damaged: {why}.")


def _content(path: str) -> dict[str, Any]:
    try:
        content = json.loads(_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, CostModelError):
            raise
        raise damaged("it is no JSON") from None
    if not isinstance(content, dict):
        raise damaged("it is no JSON object")
    return content


def _bytes(path: str) -> bytes:
    """Read a file of a size that a model can have; what never ends or waits for a writer is not read."""
    try:
        # A pipe would wait here for somebody who writes.
        with open(path, "rb", opener=lambda p, flags: os.open(p, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise damaged("it is no regular file")
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CostModelError("cost_model.missing", f"The cost model cannot be read: {error.strerror}.") from None
    except ValueError as error:
        if isinstance(error, CostModelError):
            raise
        raise CostModelError("cost_model.missing", "The cost model cannot be read: no file has such a name.") from None
    if len(raw) > MAX_BYTES:
        raise damaged(f"it is larger than {MAX_BYTES >> 20} MiB")
    return raw


def _checksum(body: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise damaged("it is nested too deeply") from None
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# ------------------------------------------------------------------------------------------------------------- contents


def pack(array: NDArray[Any]) -> dict[str, Any]:
    """Pack an array of numbers as JSON: its shape and its compressed bytes, little-endian float32 or float64."""
    kind = "<f4" if array.dtype == np.float32 else "<f8"
    raw = np.ascontiguousarray(array, dtype=kind).tobytes()
    return {"shape": list(array.shape), "dtype": kind, "data": base64.b64encode(zlib.compress(raw, 6)).decode("ascii")}


def unpack(packed: Any, columns: int | None = None, most: int = MAX_NUMBERS) -> NDArray[Any]:
    """Read an array of at most so many numbers back; with `columns`, a matrix of so many, else a vector."""
    if (
        not isinstance(packed, dict)
        or not isinstance(packed.get("shape"), list)
        or str(packed.get("dtype")) not in _KINDS
    ):
        raise damaged("an array is missing")
    shape, kind = packed["shape"], str(packed["dtype"])
    if len(shape) != (1 if columns is None else 2) or any(type(n) is not int or not 0 < n <= most for n in shape):
        raise damaged("an array has an impossible shape")
    if columns is not None and shape[1] != columns:
        raise damaged(f"an array does not have {columns} columns")
    if math.prod(shape) > most:
        raise damaged("its arrays are larger than those of any model")
    size = math.prod(shape) * _KINDS[kind]
    try:
        step = zlib.decompressobj()
        raw = step.decompress(base64.b64decode(str(packed.get("data", "")), validate=True), size + 1)
    except (ValueError, zlib.error):
        raise damaged("an array cannot be unpacked") from None
    if len(raw) != size:
        raise damaged("an array has another size than it says")
    return np.frombuffer(raw, kind).reshape(shape).astype(np.dtype(kind).newbyteorder("="))


_KINDS = {"<f4": 4, "<f8": 8}


def number_in(data: Mapping[str, Any], name: str, low: float, high: float) -> float:
    """Read a number from `low` to `high` from the contents of a file."""
    value: Any = data.get(name)
    if type(value) not in (int, float) or not low <= value <= high:
        raise damaged(f"{name!r} is no number from {low:g} to {high:g}")
    return float(value)


def whole_in(data: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """Read a whole number from `low` to `high` from the contents of a file."""
    value = data.get(name)
    if type(value) is not int or not low <= value <= high:
        raise damaged(f"{name!r} is no whole number from {low} to {high}")
    return value


def list_in(data: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    """Read a list of values of one type from the contents of a file."""
    value = data.get(name)
    if not isinstance(value, list) or any(type(v) is not kind for v in value):
        raise damaged(f"{name!r} is no list of what it should be")
    return value


def make_model(name: str | os.PathLike[str], seed: int = 0, machine: Machine | None = None) -> CostModel:
    """Make a model by name, or one that starts from what a saved one has measured.

    Parameters
    ----------
    name : str or path
        One of `MODELS`, or a file ``*.json``. A model of such a file is taught anew, not gone on with: its measurements
        may come from another machine, and count as those of another run (`CostModel.warm_start`).
    seed : int
    machine : Machine, optional
        What the features were computed for; this machine when left out.

    Raises
    ------
    UsageError
        "usage.cost_model" for a name that is not known.
    CostModelError
        "cost_model.*" for a file that `load` cannot read.
    """
    wanted = as_path("name", name)
    if is_json_file(name):
        saved = load(name)
        model = MODELS[saved.kind](seed=seed, machine=machine)
        model.warm_start(saved.measured())
        return model
    return MODELS[wanted](seed=seed, machine=machine)
