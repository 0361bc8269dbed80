"""The functions of an exported library, as Python calls them."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from pathlib import Path
from typing import Any, BinaryIO

from workbench.errors import ExportError, TargetError
from workbench.host import machine
from workbench.locks import ForkLock
from workbench.runtime.export.elf import MACHINES
from workbench.runtime.export.library_tables import MARK, PREFIX_LENGTH
from workbench.runtime.export.native_calls import PUBLIC
from workbench.runtime.export.native_contexts import ABI
from workbench.runtime.networks.execution_plan import ArraySpec

_HINT = "give a library that Executable.export or `workbench export` wrote"


class _Mark(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_int32), ("prefix", ctypes.c_char * PREFIX_LENGTH)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("bytes", ctypes.c_int64),
        ("rank", ctypes.c_int32),
    ]


#: What functions return, by LLVM's type; addresses are those of texts, or of rows.
_RESULTS = {"void": None, "i32": ctypes.c_int, "text": ctypes.c_char_p, "row": ctypes.POINTER(_Tensor)}
_ROWS = ("input", "output")


class Functions:
    """The functions of one library, with their types."""

    def __init__(self, library: ctypes.CDLL, prefix: str) -> None:
        self._library = library
        self._found: dict[str, Any] = {}
        for name, declared in PUBLIC.items():
            function = self._found[name] = getattr(library, f"{prefix}_{name}")
            result = declared.result if isinstance(declared.result, str) else "row" if name in _ROWS else "text"
            function.restype = _RESULTS[result]
            function.argtypes = [ctypes.c_int if kind == "i32" else ctypes.c_void_p for _, kind in declared.types]

    def __call__(self, name: str, *args: Any) -> Any:
        return self._found[name](*args)

    def text(self, name: str, *args: Any) -> str:
        """Call a function that returns a text."""
        return (self(name, *args) or b"").decode(errors="replace")

    def specs(self, what: str) -> tuple[ArraySpec, ...]:
        """Inputs or outputs."""
        found = []
        for i in range(self(f"{what}_count")):
            row = self(what, i).contents
            shape = tuple(int(row.shape[d]) for d in range(row.rank))
            found.append(ArraySpec(row.name.decode(errors="replace"), shape, row.dtype.decode()))
        return tuple(found)


_lock = ForkLock()
_opened: dict[tuple[int, int], Functions] = {}
_tries: dict[str, int] = {}


def open_library(file: Path) -> Functions:
    """Return the functions of a library; the code of a file is loaded once."""
    try:
        found = file.stat()
        with file.open("rb") as stream:
            problem = _problem_of(stream, found.st_size)
            stream.seek(18)
            arch = int.from_bytes(stream.read(2), "little")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", error)
        raise ExportError("export.missing", f"There is no such library: {why}", [str(file)], "check the path") from None
    if problem:
        raise ExportError("export.format", f"{file.name} {problem}", [str(file)], _HINT)
    if arch != MACHINES.get(machine(), arch):
        name = next((name for name, number in MACHINES.items() if number == arch), "another machine")
        text = f"This machine cannot run {file.name}: it is for {name}, and this is {machine()}."
        raise TargetError(
            "target.host", text, (str(file), name), "copy it to such a machine, or export it for this one"
        )
    with _lock:
        key = (found.st_dev, found.st_ino)
        if key not in _opened:
            _opened[key] = _link(file)
        return _opened[key]


def _problem_of(stream: BinaryIO, size: int) -> str:
    """Say why a file is no exported network; "" when it may be one.

    This is looked at before the system opens it: half a library ends the process, and a whole one runs code of its own.
    """
    head = stream.read(64)
    if head[:6] != b"\x7fELF\x02\x01" or len(head) < 64:
        return "is no library of this system"
    at, each, count = struct.unpack_from("<32xQ14xHH", head)
    stream.seek(at)
    rows = stream.read(each * count)
    if each < 40 or len(rows) < each * count:
        return "is cut off"
    for row in range(0, len(rows), each):
        (offset,), (length,) = struct.unpack_from("<8xQ", rows, row), struct.unpack_from("<32xQ", rows, row)
        if offset + length > size:
            return "is cut off"
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return "" if content.find(MARK.encode() + b"\0") >= 0 else "is no exported network"


def _link(file: Path) -> Functions:
    # The system takes a library with a path that it knows for the one that it has, also after the file was replaced.
    folder, name = os.path.split(os.path.abspath(file))
    count = _tries[str(file)] = _tries.get(str(file), 0) + 1
    try:
        library = ctypes.CDLL(os.path.join(folder, *["."] * (count - 1), name))
        mark = _Mark.in_dll(library, MARK)
    except (OSError, ValueError) as error:
        raise ExportError("export.format", f"{file.name} is no exported network: {error}", [str(file)], _HINT) from None
    if mark.abi != ABI:
        raise ExportError(
            "export.abi",
            f"{file.name} was written for version {mark.abi} of the interface; this is version {ABI}.",
            [str(file)],
            "export the network again with this version of the workbench, or open it with the one that wrote it",
        )
    try:
        return Functions(library, mark.prefix.decode())
    except (AttributeError, UnicodeDecodeError) as error:
        raise ExportError("export.format", f"{file.name} is damaged: {error}", [str(file)], _HINT) from None
