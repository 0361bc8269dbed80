"""The tuning log: append-only JSON Lines with one writer.

The first line is a header that says which model the log belongs to; every other line is a `Record` (a trial) or one of
the kinds in `workbench.log.lines`. It is acknowledged once all of it, newline included, has been handed to the
operating system; nothing is shown before that. So a kill at any moment loses at most a trial that nobody has seen. A
last line without its newline is what such a kill leaves behind: readers skip it, and `resume` removes it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, TypeVar

from workbench.arguments import path as as_path
from workbench.errors import LogError, UsageError, did_you_mean, option
from workbench.files import replace_file
from workbench.log.columns import Line, column, unknown_fields
from workbench.log.encoder import as_written, json_line
from workbench.log.ledger import Ledger, TaskLedger
from workbench.log.lines import KINDS, AnyLine, Command, Comparison, Round, Unknown, parse_line
from workbench.log.objects import damage, line_object, line_objects
from workbench.log.record import Record
from workbench.log.rows import NEEDLESS, ROWS, Brief, Decoder, is_row, is_shared
from workbench.many_values import many_values

if TYPE_CHECKING:
    import pandas

_L = TypeVar("_L", bound=AnyLine)

COLUMNS: tuple[str, ...] = (
    "trial", "task_key", "task", "status", "latency_ms", "gflops", "spread", "predicted", "origin", "space", "variant",
    "row", "trace", "parent", "mutation", "seed", "round", "elapsed_s", "compile_s", "run_s", "max_rel_error", "model",
    "key", "target", "host", "caches", "description", "weight", "flops", "costs_ms", "timestamp", "error", "clean",
    "why_not", "at_least_ms", "confirmed", "rank", "ledger_ms", "best_ms", "best_why",
)  # fmt: skip


_BLOCK = 1 << 20
"""Bytes whose lines are read together. Chosen: their values take some tens of megabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header(Line):
    """First line of a log: what is tuned, for what, by which version."""

    kind: ClassVar[str] = "header"

    tasks: tuple[tuple[str, str], ...] = column(
        "structural key and readable name of all tasks of the model, tuned or not: the fingerprint by which a log of"
        " another model is noticed"
    )
    target: str = column("what is compiled for, in its text form", default="")
    host: str = column("machine that the session runs on", default="")
    model: str = column("name of the model", default="")
    seed: int = column("seed of the session", default=0)
    version: str = column("version of the program that began the log", default="")
    created: float = column("seconds since the epoch when the log was begun", default=0.0)
    schema: int = column("version of the log format: from 2 on, trials are written as rows", default=ROWS)
    extra: Mapping[str, Any] = unknown_fields()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the first line."""
        out = Line.to_json(self)
        return {**out, "tasks": [{"key": key, "name": name} for key, name in self.tasks]}


@dataclass(frozen=True)
class Log:
    """A log as read.

    Attributes
    ----------
    header : Header or None
        None in logs without one.
    lines : tuple
        All lines but the header in their order, those of kinds that are unknown here included.
    torn : str or None
        The last line, when it was not written to its end.
    """

    path: Path
    header: Header | None
    lines: tuple[AnyLine, ...] = ()
    torn: str | None = None

    def _of(self, kind: type[_L]) -> tuple[_L, ...]:
        """Return the lines of one kind, in their order."""
        return tuple(line for line in self.lines if isinstance(line, kind))

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """All trials."""
        return self._of(Record)

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons."""
        return self._of(Comparison)

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """All rounds."""
        return self._of(Round)

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """All commands."""
        return self._of(Command)

    @cached_property
    def unknown(self) -> tuple[Unknown, ...]:
        """Lines of kinds that a newer version has added."""
        return self._of(Unknown)


def open_for_reading(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a log for reading; ``log.missing`` or ``log.unreadable`` when that is not possible."""
    path = as_path("log", path)
    try:
        if stat.S_ISCHR(os.stat(path).st_mode):
            raise OSError("it is a device")  # some devices never end
        return open(path, "rb")
    except FileNotFoundError:
        hint = "check the path; 'workbench tune MODEL --trials N --log F' writes one"
        raise LogError("log.missing", "There is no such log file", [str(path)], hint) from None
    except (OSError, ValueError) as error:  # a ValueError for a path that no file can have
        raise LogError("log.unreadable", f"The log cannot be read: {reason_of(error)}", [str(path)]) from error


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether something stands where a log is to be written; ``log.unwritable`` when nothing ever can."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:  # a ValueError for a path that no file can have
        hint = "choose a file in a directory that exists and that you may write to"
        raise LogError("log.unwritable", f"The log cannot be written: {reason_of(error)}", [str(path)], hint) from error
    return True


def reason_of(error: OSError | ValueError) -> str:
    """Return why a file cannot be opened or written, in the system's words."""
    return getattr(error, "strerror", None) or str(error)


_HEAD = 4096
"""Bytes of a file that are looked at to tell whether it is a log of ours. Chosen: a header may be long."""


_TORN = 8
"""Bytes of a first line that was cut off before they tell whose it is: those before the first name of a field ends."""


def looks_ours(head: bytes) -> bool:
    """Whether a file that begins so is a log of ours, though perhaps a damaged one."""
    text = head.lstrip()
    if text.startswith((b"SQLite format 3\0", b"PAR1")):
        return False
    if text[:1] == b"[" and b"\n{" not in text:
        return False  # lines of lists; what is in them may have any name
    names = (b'"kind"', b'"task', b'{"of":[')  # the last one of a log whose begin was cut off
    return text[:1] not in (b"{", b"[", b"#") or any(name in text for name in names) or len(text) <= _TORN


def iter_log(path: str | os.PathLike[str], known: Decoder | None = None) -> Iterator[Header | AnyLine | str]:
    """Stream a log: the header, then its lines; a torn last line comes as its text.

    Rows come as the trials that they are; what they share goes into `known`.

    Raises
    ------
    LogError
        ``log.missing``; ``log.foreign`` for a log of another tuner; ``log.corrupt`` with the line number when a
        complete line is not what its kind says.
    """
    rows = known or Decoder()
    for raw, data, where in _lines(path):
        if data is None:
            yield raw.decode("utf-8", "replace")
        elif is_row(data):
            yield rows.record(data, where)
        elif is_shared(data):
            rows.declare(data, where)
        else:
            yield _parse(data, rows, where)


def iter_brief(path: str | os.PathLike[str]) -> Iterator[Header | AnyLine | Brief | str]:
    """As `iter_log`, with trials of which not all is put together."""
    rows = Decoder()
    for raw, short, where in _lines(path, NEEDLESS):
        if short is None:
            yield raw.decode("utf-8", "replace")
        elif is_shared(short):
            rows.declare(line_object(raw) or short, where)  # all of it
        elif short.get("kind", Record.kind) == Record.kind:
            yield Brief(short, raw, rows, where)
        else:
            yield _parse(short, rows, where)


def _lines(
    path: str | os.PathLike[str], without: re.Pattern[bytes] | None = None
) -> Iterator[tuple[bytes, dict[str, Any] | None, str]]:
    """Yield the lines of a log, what they hold, and where they are; a torn last one holds None."""
    with open_for_reading(path) as file:
        if not looks_ours(file.read(_HEAD)):
            hint = "`wb.logs.open` opens the logs of other tuners; tune the same network here, and compare the times"
            raise LogError("log.foreign", "This is no log of the workbench", [str(path)], hint)
        file.seek(0)
        number, name = 0, f"{path}:"
        while raws := file.readlines(_BLOCK):
            for raw, data in zip(raws, line_objects(raws, without), strict=True):
                number += 1
                if data is None and raw.isspace():
                    continue
                if not raw.endswith(b"\n") and not _complete(data):
                    yield raw, None, ""
                    return
                if data is None:
                    hint = "restore the line from a backup, or remove it to go on without that trial"
                    raise LogError("log.corrupt", damage(raw, number), [f"{name}{number}"], hint)
                yield raw, data, f"{name}{number}"


def _complete(data: Mapping[str, Any] | None) -> bool:
    """Whether a last line that has no newline lacks nothing else."""
    return data is not None and (isinstance(data.get("kind"), str) or is_row(data) or is_shared(data))


def _parse(data: dict[str, Any], rows: Decoder, where: str) -> Header | AnyLine:
    if data.get("kind") != Header.kind:
        return parse_line(data, where)
    header = Header.from_json(data, where)
    rows.begin(header.schema, where)
    return header


def load_log(path: str | os.PathLike[str], known: Decoder | None = None) -> Log:
    """Read a whole log; what rows share goes into `known`."""
    header: Header | None = None
    lines: list[AnyLine] = []
    torn: str | None = None
    with many_values():
        for item in iter_log(path, known):
            if isinstance(item, str):
                torn = item
            elif isinstance(item, Header):
                header = header or item
            else:
                lines.append(item)
    return Log(Path(path), header, tuple(lines), torn)


def to_frame(lines: Iterable[AnyLine]) -> pandas.DataFrame:
    """Return the records among the lines of a log, in its order, as a table with the columns `COLUMNS`. A line that is
    there twice is taken once.
    """
    from workbench.log.log_frame import LogFrame

    timed = [line for line in lines if isinstance(line, Record | Comparison)]
    ledger, places = Ledger(), _places(timed)
    taken = [(line, ledger.tasks[line.task_key].trials) for line in timed if ledger.take(line)]
    course = {key: task.after() for key, task in ledger.tasks.items()}
    rows = []
    for r, nth in taken:
        if isinstance(r, Record):
            one, best = ledger.tasks[r.task_key].of(r), course[r.task_key][nth - 1]
            rows.append([
                *(tuple(r.trace) if name == "trace" else getattr(r, name) for name in COLUMNS[:-5]),
                one is not None and one.sure == "compared",
                places.get(id(r)), one.ms if one else None, best.ms if best else None, best.why if best else "",
            ])  # fmt: skip
    frame = LogFrame(rows, columns=list(COLUMNS))
    for name in ("latency_ms", "gflops", "spread", "predicted", "max_rel_error", "ledger_ms", "best_ms"):
        frame[name] = frame[name].astype("float64")
    frame["confirmed"] = frame["confirmed"].astype("bool")
    frame["rank"] = frame["rank"].astype("Int64")
    return frame


def _places(lines: Iterable[Record | Comparison]) -> dict[int, int]:
    """Return the place of each program's record among those of its task and target, from 1."""
    parts: dict[str, dict[str, TaskLedger]] = {}
    for line in lines:
        if isinstance(line, Record):
            parts.setdefault(line.task_key, {}).setdefault(line.target, TaskLedger())
    for line in lines:
        for target, task in parts.get(line.task_key, {}).items():
            if isinstance(line, Comparison) or line.target == target:
                task.take(line)
    ranked = [task.ranked() for tasks in parts.values() for task in tasks.values()]
    return {id(one.record): place for found in ranked for place, one in enumerate(found, 1)}


def read_log(path: str | os.PathLike[str], kind: str = "trial") -> pandas.DataFrame:
    """Read a tuning log into a table, one row per trial or per line of another kind.

    Parameters
    ----------
    path : path
        A log written by `tune`, by ``workbench tune`` or by ``workbench log distill`` or ``merge``.
    kind : {"trial", "comparison", "round", "command"}
        The lines to read.

    Returns
    -------
    pandas.DataFrame
        Of trials: columns `COLUMNS`; times are in the unit that the name ends with, `gflops` is in GFLOP/s, `row` is a
        dict and `trace` a tuple of primitives. Trials that failed have no latency; their `status` and `error` say why.
        Who is best is told as in ``docs/ledger.md``: `confirmed` trials won a comparison; `rank` is the place among the
        programs of the task and target, from 1; `ledger_ms` is what is known of a trial's time, measured again or not;
        `best_ms` is the best of its task after it, as the panels show it, and `best_why` says why that is more than
        before, where it is. So a task's best is its last `best_ms`, not the least `latency_ms`: that is the luckiest
        time of a trial that was timed once, perhaps of one that a comparison has refuted.
        Of other kinds: one column per field, see ``docs/log-format.md``.

    Raises
    ------
    LogError
        ``log.missing``, ``log.unreadable``, or ``log.corrupt`` with the number of the line.
    UsageError
        ``usage.kind`` for lines of which there are none.
    """
    if kind not in KINDS:
        raise UsageError(
            "usage.kind", f"A log has no lines of kind {kind!r}", ("kind",), did_you_mean(str(kind), KINDS)
        )
    log = load_log(path)
    if kind == Record.kind:
        return to_frame(log.lines)
    import pandas

    names = [item.name for item in dataclasses.fields(KINDS[kind]) if item.name != "extra"]
    rows = [[getattr(line, name) for name in names] for line in log.lines if line.kind == kind]
    return pandas.DataFrame(rows, columns=names)


def check_model(header: Header | None, records: Iterable[Record], keys: Iterable[str], path: object) -> None:
    """Raise ``log.other_model`` when the log knows none of the task keys `keys`."""
    known = {key for key, _ in header.tasks} if header else {record.task_key for record in records}
    wanted = set(keys)
    if known and not known & wanted:
        of = f" (it was written for {header.model})" if header and header.model else ""
        hint = (
            f"use the log that was written for this model, with the same {option('shapes', '--shape options')} and by "
            "the same version (another one may know the tasks by other keys), or tune into a new file"
        )
        raise LogError("log.other_model", f"The log has no task in common with this model{of}", [str(path)], hint)


def write_log(path: str | os.PathLike[str], header: Header | None, written: Iterable[AnyLine]) -> int:
    """Write a new log in one step (a temporary file, then a rename); return the number of lines below the header."""
    target = Path(path)
    temporary = target.with_name(target.name + ".part")
    count = 0
    try:
        with open(temporary, "w", encoding="utf-8", errors="backslashreplace") as file:
            if header is not None:
                file.write(json_line(header.to_json()))
            for lines in as_written(written, header.schema if header is not None else 1):
                file.writelines(map(json_line, lines))
                count += 1
        replace_file(temporary, target)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink()
        message = f"The log cannot be written: {reason_of(error)}"
        raise LogError("log.unwritable", message, [str(path)], "choose another file with -o") from error
    return count
