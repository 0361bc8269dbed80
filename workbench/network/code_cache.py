"""Compiled kernels on disk, so that a network that was compiled before is compiled without a code generator.

An entry is found by its content: the text of the scheduled function (from which it could be parsed again), the target,
and a fingerprint of whatever turns the one into machine code. So nothing is ever out of date, and entries that nobody
asks for any more are the first to go when the folder becomes too large. An entry is plain bytes under a header with a
checksum; whatever does not fit is deleted and built again. Entries are written beside their place and then renamed, so
any number of processes may read, write and clear the folder at the same time.

`WORKBENCH_CACHE=0` switches it off, `WORKBENCH_CACHE_DIR` moves it (with the measured peaks of the machine).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import workbench
from workbench import host
from workbench.codegen.backend import backend_for
from workbench.codegen.lowering import ObjectCode, params_of
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.ir import Func
from workbench.ir.text.printer import to_text
from workbench.locks import once
from workbench.target import Target, cache_dir

#: Bytes that the entries may take together. Chosen: some thousands of kernels.
LIMIT = 256 << 20

_MAGIC = b"WBKERN1\n"
#: Checksum of the key and of what follows, length of the symbol, workspace in all and per thread.
_HEADER = struct.Struct("<8s32sIQQ")
#: Bytes of the header that the checksum does not cover: the magic word and itself.
_CHECKED = 8 + 32
_SUFFIX = ".kernel"
#: Seconds after which what is left of a write that did not end goes. Chosen: no write takes as long.
_STALE_S = 3600.0
#: Parts of the package whose code decides what machine code a function becomes.
_SOURCES = ("architectures", "codegen", "graph/kernels", "intrinsics", "ir", "target.py", "host.py")


@dataclass(frozen=True, slots=True)
class Contents:
    """What lies in a cache.

    Attributes
    ----------
    entries, nbytes : int
        Kernels, and bytes that they take.
    damaged : int
        Files among them that cannot be used.
    """

    entries: int
    nbytes: int
    damaged: int


class CodeCache:
    """A folder of compiled kernels.

    Parameters
    ----------
    folder : path
        Made when the first entry is written.
    limit : int
        Bytes that `trim` leaves at most.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder, self.limit = Path(folder), limit
        self._written = False

    @staticmethod
    def key(func: Func | KernelFunction, target: Target) -> bytes:
        """Return the 32 bytes under which a concrete function or runtime kernel is kept."""
        what = to_text(func) if isinstance(func, Func) else func.text
        text = "\0".join((fingerprint(), str(target), what))
        return hashlib.sha256(text.encode()).digest()

    def get(self, key: bytes, func: Func | KernelFunction) -> ObjectCode | None:
        """Return the code that is kept under a key; None where there is none that can be used."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                if not _is_ours(os.fstat(file.fileno())):
                    return None
                data = file.read()
        except OSError:
            return None
        found = _unpack(data, key)
        if found is None:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):  # used just now: it stays longer than others
            os.utime(path)
        symbol, code, shared, per_thread = found
        params = params_of(func) if isinstance(func, Func) else func.params
        return ObjectCode(code, symbol, "", params, shared, per_thread)

    def put(self, key: bytes, code: ObjectCode) -> None:
        """Keep a kernel; a folder that cannot be written to is left alone."""
        path = self._path(key)
        beside = path.with_name(f"{path.stem}.{os.getpid()}.{threading.get_ident()}.tmp")
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(_pack(code, key))
                beside.replace(path)
                self._written = True
            finally:
                with contextlib.suppress(OSError):
                    beside.unlink()

    def trim(self) -> None:
        """Remove the entries that were not used for longest, when there are too many; does nothing without a `put`."""
        if not self._written:
            return
        self._written = False
        found = sorted(self._files(), key=lambda f: f[1].st_mtime)
        excess = sum(s.st_size for _, s in found) - self.limit
        for path, status in found:
            if excess > 0 or (path.suffix == ".tmp" and time.time() - status.st_mtime > _STALE_S):
                with contextlib.suppress(OSError):
                    path.unlink()
                excess -= status.st_size

    def clear(self) -> int:
        """Remove everything; returns the number of files."""
        count = 0
        for path, _ in self._files():
            with contextlib.suppress(OSError):
                path.unlink()
                count += 1
        return count

    def contents(self) -> Contents:
        """Read all entries and count them."""
        entries = nbytes = damaged = 0
        for path, status in self._files():
            if path.suffix == ".tmp":
                continue
            try:
                good = _unpack(path.read_bytes(), bytes.fromhex(path.stem)) is not None
            except (OSError, ValueError):
                good = False
            entries, nbytes, damaged = entries + 1, nbytes + status.st_size, damaged + (not good)
        return Contents(entries, nbytes, damaged)

    def _path(self, key: bytes) -> Path:
        return self.folder / f"{key.hex()}{_SUFFIX}"

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        try:
            paths = list(self.folder.iterdir())
        except OSError:
            return
        for path in paths:
            if path.suffix in (_SUFFIX, ".tmp"):
                with contextlib.suppress(OSError):  # another process was faster
                    yield path, path.stat()


def code_cache(target: Target) -> CodeCache | None:
    """Return the user's cache; None where it is switched off, or what a compiler outside of our hands makes."""
    if not backend_for(target).self_contained or not enabled():
        return None
    return CodeCache(folder())


def enabled() -> bool:
    """Whether compiled kernels are kept."""
    return os.environ.get("WORKBENCH_CACHE", "").strip().lower() not in ("0", "off", "no", "false")


def folder() -> Path:
    """Where compiled kernels are kept."""
    return cache_dir() / "kernels"


@once
def fingerprint() -> str:
    """What, besides function and target, decides about machine code: our own sources, LLVM, and this machine."""
    from workbench.codegen.llvm import llvmlite_binding

    digest = hashlib.sha256()
    root = Path(workbench.__file__).parent
    for path in sorted(_sources(root)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    # Where the target names all extensions of this machine, LLVM is told its other features as well.
    machine = (
        llvmlite_binding.versions(),
        llvmlite_binding.process_triple(),
        llvmlite_binding.host_features(),
        sorted(host.detect().isa),
    )
    digest.update(repr(machine).encode())
    return digest.hexdigest()


def _sources(root: Path) -> Iterable[Path]:
    for name in _SOURCES:
        path = root / name
        yield from path.rglob("*.py") if path.is_dir() else [path]


def _is_ours(status: os.stat_result) -> bool:
    """Whether nobody else can have written a file: its code is going to run."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _pack(code: ObjectCode, key: bytes) -> bytes:
    symbol = code.symbol.encode()
    numbers = (len(symbol), code.shared_bytes, code.per_thread_bytes)
    rest = _HEADER.pack(_MAGIC, b"", *numbers)[_CHECKED:] + symbol + code.object
    return _MAGIC + hashlib.sha256(key + rest).digest() + rest


def _unpack(data: bytes, key: bytes) -> tuple[str, bytes, int, int] | None:
    """Return symbol, code and workspace of an entry; None when it is not exactly what was written for this key."""
    if len(data) < _HEADER.size:
        return None
    magic, checksum, symbol, shared, per_thread = _HEADER.unpack_from(data)
    if magic != _MAGIC or hashlib.sha256(key + data[_CHECKED:]).digest() != checksum:
        return None
    start = _HEADER.size + symbol
    return data[_HEADER.size : start].decode(), data[start:], shared, per_thread
