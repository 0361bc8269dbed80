"""The tuning log: append-only JSON Lines with one writer.

The first line is a header that says which model the log belongs to; every other line is one `Record`. A record counts as
acknowledged once its line, newline included, has been handed to the operating system; nothing is shown before that.
So a kill at any moment loses at most a trial that nobody has seen. A last line without its newline is what such a kill
leaves behind: readers skip it, and `resume` removes it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from workbench.errors import LogError
from workbench.tune.record import SCHEMA, Record

if TYPE_CHECKING:
    import pandas

COLUMNS: tuple[str, ...] = (
    "trial", "task_key", "task", "status", "latency_ms", "gflops", "spread", "predicted", "origin", "space", "variant",
    "row", "trace", "parent", "mutation", "seed", "round", "elapsed_s", "compile_s", "run_s", "max_rel_error", "model",
    "key", "target", "host", "description", "weight", "flops", "costs_ms", "timestamp", "error",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """First line of a log: what is tuned, for what, by which version.

    Parameters
    ----------
    tasks : tuple of (key, name)
        All tasks of the model, whether they are tuned or not: the fingerprint by which a log of another model is noticed.
    """

    tasks: tuple[tuple[str, str], ...]
    target: str = ""
    host: str = ""
    model: str = ""
    seed: int = 0
    version: str = ""
    created: float = 0.0
    schema: int = SCHEMA
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the first line."""
        out: dict[str, Any] = {"kind": "header"}
        for item in dataclasses.fields(self):
            if item.name not in ("extra", "tasks"):
                out[item.name] = getattr(self, item.name)
        out["tasks"] = [{"key": key, "name": name} for key, name in self.tasks]
        return {**dict(self.extra), **out}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str = "") -> Header:
        """Rebuild a header; unknown keys are kept in `extra`."""
        names = {item.name for item in dataclasses.fields(cls)} - {"extra", "tasks"}
        try:
            tasks = tuple((str(t["key"]), str(t.get("name", ""))) for t in data["tasks"])
        except (KeyError, TypeError, AttributeError):
            raise LogError("log.corrupt", "The header of the log does not list its tasks", [where]) from None
        known = {name: value for name, value in data.items() if name in names}
        extra = {name: value for name, value in data.items() if name not in names | {"tasks", "kind"}}
        return cls(tasks=tasks, **known, extra=extra)


@dataclass(frozen=True, slots=True)
class Log:
    """A log as read: header (None in logs without one), records in order, and the torn last line if there was one."""

    path: Path
    header: Header | None
    records: tuple[Record, ...]
    torn: str | None = None


def open_for_reading(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a log for reading; ``log.missing`` or ``log.unreadable`` when that is not possible."""
    try:
        if stat.S_ISCHR(os.stat(path).st_mode):
            raise OSError("it is a device")  # some devices never end
        return open(path, "rb")
    except FileNotFoundError:
        hint = "check the path; 'workbench tune MODEL --trials N --log F' writes one"
        raise LogError("log.missing", "There is no such log file", [str(path)], hint) from None
    except OSError as error:
        raise LogError("log.unreadable", f"The log cannot be read: {error.strerror or error}", [str(path)]) from error


def iter_log(path: str | os.PathLike[str]) -> Iterator[Header | Record | str]:
    """Stream a log: the header, then records; a torn last line comes as its text.

    Raises
    ------
    LogError
        ``log.missing``; ``log.corrupt`` with the line number when a complete line is not a record.
    """
    with open_for_reading(path) as file:
        for number, raw in enumerate(file, 1):
            if not raw.endswith(b"\n"):
                torn = _complete(raw)
                yield raw.decode("utf-8", "replace") if torn is None else _parse(torn, f"{path}:{number}")
                return
            if raw.isspace():
                continue
            try:
                data = json.loads(raw)
            except ValueError:
                data = None
            if not isinstance(data, dict):
                hint = "restore the line from a backup, or remove it to go on without that trial"
                raise LogError("log.corrupt", f"Line {number} of the log is not a record", [f"{path}:{number}"], hint)
            if data.get("kind", "trial") in ("trial", "header"):
                yield _parse(data, f"{path}:{number}")


def _complete(raw: bytes) -> dict[str, Any] | None:
    """Return the object of a line that lacks only its newline, else None."""
    try:
        data = json.loads(raw)
    except ValueError:
        return None
    return data if isinstance(data, dict) and data.get("kind") in ("trial", "header") else None


def _parse(data: dict[str, Any], where: str) -> Header | Record:
    return Header.from_json(data, where) if data.get("kind") == "header" else Record.from_json(data, where)


def load_log(path: str | os.PathLike[str]) -> Log:
    """Read a whole log."""
    header: Header | None = None
    records: list[Record] = []
    torn: str | None = None
    for item in iter_log(path):
        if isinstance(item, Record):
            records.append(item)
        elif isinstance(item, Header):
            header = header or item
        else:
            torn = item
    return Log(Path(path), header, tuple(records), torn)


def to_frame(records: Iterable[Record]) -> pandas.DataFrame:
    """Return records as a table with the columns `COLUMNS`."""
    import pandas

    rows = [[getattr(record, name) for name in COLUMNS] for record in records]
    frame = pandas.DataFrame(rows, columns=list(COLUMNS))
    for name in ("latency_ms", "gflops", "spread", "predicted", "max_rel_error"):
        frame[name] = frame[name].astype("float64")
    return frame


def read_log(path: str | os.PathLike[str]) -> pandas.DataFrame:
    """Read a tuning log into a table, one row per trial.

    Parameters
    ----------
    path : path
        A log written by `tune`, by ``workbench tune`` or by ``workbench log distill``.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`: times are in the unit that the name ends with, `gflops` is in GFLOP/s, `row` is a dict and
        `trace` a tuple of primitives. Trials that failed have no latency; their `status` and `error` say why.

    Raises
    ------
    LogError
        ``log.missing``, ``log.unreadable``, or ``log.corrupt`` with the number of the line.
    """
    return to_frame(load_log(path).records)


def check_model(header: Header | None, records: Iterable[Record], keys: Iterable[str], path: object) -> None:
    """Raise ``log.other_model`` when the log knows none of the task keys `keys`."""
    known = {key for key, _ in header.tasks} if header else {record.task_key for record in records}
    wanted = set(keys)
    if known and not known & wanted:
        of = f" (it was written for {header.model})" if header and header.model else ""
        hint = "use the log that was written for this model, with the same --shape options, or tune into a new file"
        raise LogError("log.other_model", f"The log has no task in common with this model{of}", [str(path)], hint)


class LogWriter:
    """The one writer of a log.

    Parameters
    ----------
    path : path
        File to create, or to go on with when `resume` is true.
    header : Header
        Written as the first line of a new log; compared with the header that is there on resume.
    resume : bool
        Whether to go on with an existing log.

    Attributes
    ----------
    records : tuple of Record
        What the log held when it was opened.
    repaired : str or None
        The torn last line that was removed, if there was one.

    Raises
    ------
    LogError
        ``log.unwritable``, ``log.locked``, ``log.exists``, ``log.other_model`` or ``log.corrupt``; nothing has been
        changed on disk then.
    """

    def __init__(self, path: str | os.PathLike[str], header: Header, resume: bool = False) -> None:
        self.path = Path(path)
        self.repaired: str | None = None
        self.records: tuple[Record, ...] = ()
        self._file: int | None = _open_locked(self.path)
        _WRITERS.add(self)
        try:
            self._start(header, resume)
        except BaseException:
            self.close()
            raise

    def _start(self, header: Header, resume: bool) -> None:
        log = load_log(self.path)
        if (log.records or log.header) and not resume:
            hint = "pass --resume (resume=True) to go on with it, or choose another file"
            raise LogError("log.exists", "The log file already holds trials", [str(self.path)], hint)
        self._check(log, header)
        self._repair(log)
        self.records = log.records
        if log.header is None and not log.records:
            self._write({**header.to_json(), "created": time.time()})

    def _check(self, log: Log, header: Header) -> None:
        if log.header is None and not log.records and log.torn is not None and not _like_header(log.torn):
            hint = "choose another file; this one would be overwritten"
            raise LogError("log.corrupt", "The file is not a tuning log", [str(self.path)], hint)
        keys = [key for key, _ in header.tasks]
        check_model(log.header, log.records, keys, self.path)
        if log.header is not None:
            foreign = [name for key, name in header.tasks if key not in {k for k, _ in log.header.tasks}]
            if foreign:
                message = f"The log belongs to another model: it does not know {len(foreign)} of {len(keys)} tasks"
                hint = f"unknown to the log: {', '.join(foreign[:3])}; tune into a new file"
                raise LogError("log.other_model", message, [str(self.path)], hint)

    def _repair(self, log: Log) -> None:
        """Make the file end with a newline: drop a torn line, complete a line that only lacks it."""
        assert self._file is not None
        size = os.fstat(self._file).st_size
        if size == 0:
            return
        if log.torn is not None:
            self.repaired = log.torn
            os.ftruncate(self._file, size - _tail_length(self._file, size))
        elif _tail_length(self._file, size):
            os.write(self._file, b"\n")

    def append(self, record: Record) -> None:
        """Write one record as one line; when this returns, a kill of the process cannot lose it."""
        self._write(record.to_json())

    def _write(self, data: Mapping[str, Any]) -> None:
        if self._file is None:
            raise LogError("log.closed", "The log has been closed", [str(self.path)])
        line = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        start = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)  # unbuffered and in append mode: one call, one line
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            _truncate_quietly(self._file, start)  # a full disk must not leave half a line
            message = f"The log cannot be written: {error.strerror or error}"
            hint = "free some space; what was measured before is safe, go on with --resume"
            raise LogError("log.unwritable", message, [str(self.path)], hint) from error

    def close(self) -> None:
        """Release the file and its lock; safe to call twice."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)
        _WRITERS.discard(self)

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _like_header(torn: str) -> bool:
    """Whether a file's only, unfinished line may be the header of a session killed right at its start."""
    begin = '{"kind":"header"'
    return torn.startswith(begin) or begin.startswith(torn)


def _tail_length(file: int, size: int) -> int:
    """Return how many bytes follow the last newline."""
    tail = b""
    end = size
    while end > 0:
        start = max(0, end - 65536)
        tail = os.pread(file, end - start, start) + tail if hasattr(os, "pread") else _read_at(file, start, end) + tail
        cut = tail.rfind(b"\n")
        if cut >= 0:
            return len(tail) - cut - 1
        end = start
    return len(tail)


def _read_at(file: int, start: int, end: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    return os.read(file, end - start)


def _truncate_quietly(file: int, size: int) -> None:
    try:
        os.ftruncate(file, size)
    except OSError:
        pass


def _open_locked(path: Path) -> int:
    """Open `path` for appending and take the writer's lock, or raise ``log.unwritable`` / ``log.locked``."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
    except OSError as error:
        hint = "choose a file in a directory that exists and that you may write to"
        message = f"The log cannot be written: {error.strerror or error}"
        raise LogError("log.unwritable", message, [str(path)], hint) from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise LogError("log.unwritable", "The log has to be a regular file", [str(path)], "choose another file")
    try:
        _lock(file)
    except OSError:
        os.close(file)
        hint = "wait for the other session to end, or write to another file"
        raise LogError("log.locked", "Another session is writing to this log", [str(path)], hint) from None
    return file


def _lock(file: int) -> None:
    """Take an exclusive lock that ends with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        os.lseek(
            file, 1 << 40, os.SEEK_SET
        )  # far behind the data: this lock keeps others from reading the bytes it covers
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_WRITERS: weakref.WeakSet[LogWriter] = weakref.WeakSet()


def _close_in_child() -> None:
    """A forked worker must not keep the lock alive after its parent was killed."""
    for writer in list(_WRITERS):
        writer.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def write_log(path: str | os.PathLike[str], header: Header | None, records: Iterable[Record]) -> int:
    """Write a new log in one step (a temporary file, then a rename); return the number of records."""
    target = Path(path)
    temporary = target.with_name(target.name + ".part")
    lines = [header.to_json()] if header is not None else []
    lines += [record.to_json() for record in records]
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n")
        os.replace(temporary, target)
    except OSError as error:
        message = f"The log cannot be written: {error.strerror or error}"
        raise LogError("log.unwritable", message, [str(path)], "choose another file with -o") from error
    return len(lines) - (header is not None)
