"""`open`: from files to a `TuningLog`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.arguments import path as as_path
from workbench.errors import LogError, UsageError
from workbench.log.reader import read_log as read_own_log
from workbench.logs import importers  # noqa: F401  # each declares a format
from workbench.logs.evaluation import Evaluation
from workbench.logs.importer import IMPORTERS, LogImporter, importer_of
from workbench.logs.source import Fault, LogSource
from workbench.logs.space import SearchSpace, is_space, read_space
from workbench.logs.table.columns import Collector
from workbench.logs.table.frame import joined_frames
from workbench.logs.table.log_file import LogFile, kept_frame
from workbench.logs.table.parts import Progress
from workbench.logs.tuning_log import Followed, TuningLog

if TYPE_CHECKING:
    import pandas

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def open(paths: Paths, format: str | None = None, *, progress: Progress | None = None, **hints: Any) -> TuningLog:
    """Open the log of any tuner that is known here.

    Parameters
    ----------
    paths : path or list of paths
        A file, a folder, or several of them; gzip is unpacked.
    format : str, optional
        Name of a format (`workbench.logs.IMPORTERS`); without it, the contents tell.
    progress : callable, optional
        Is called now and then while a large file is read: with the bytes that were read, and those of the file.
    **hints
        What the file does not say: ``task``, ``device``, ``objective``, ``unit``, ``direction`` ("min" or "max"),
        ``columns`` and ``statuses`` for tables of one's own, ``workloads`` (MetaSchedule's other file), ``constants``
        (values of names that restrictions need and the log does not say), and ``space``, a T1 file; such a file may
        also be one of the paths.

    Raises
    ------
    LogError
        ``log.missing``, ``log.unreadable``, ``log.unknown_format``, ``log.too_large``; ``log.space`` for a damaged
        description of a space, ``log.no_records`` for one without a log.
    UsageError
        ``usage.log_format`` for a format that is not known, ``usage.option`` for a hint that does not exist,
        ``usage.paths`` without a path, ``usage.type`` and ``usage.path`` for what is no path.
    """
    several = paths if isinstance(paths, list | tuple) else [paths]
    named = [as_path("paths", path) for path in several]
    if not named:
        raise UsageError("usage.paths", "No log is named", ("paths",), "give the path of a file or of a folder")
    return open_sources([LogSource(Path(path), hints) for path in named], format, progress)


def open_sources(
    sources: Sequence[LogSource], format: str | None = None, progress: Progress | None = None
) -> TuningLog:
    """Open what `open` opens, given as sources."""
    sources, space = _without_space(sources)
    chosen = [_importer(source, format) for source in sources]
    files = [LogFile(source, importer, progress) for source, importer in zip(sources, chosen, strict=True)]

    def follow() -> Followed:
        return sum(file.refresh() for file in files), *_said(files)

    names = ", ".join(dict.fromkeys(importer.name for importer in chosen))
    where = [str(source.path) for source in sources]
    records, faults, notes = _said(files)
    params, raw = partial(_params, files), partial(_raw, files)
    return TuningLog(names, where, records, params, raw, faults, notes, follow, lambda: space or _declared(files))


def _without_space(sources: Sequence[LogSource]) -> tuple[list[LogSource], SearchSpace | None]:
    """Return the logs, and the space that a T1 file among them, or the hint, describes."""
    logs = [source for source in sources if source.is_folder or not _is_space(source)]
    if sources and not logs:
        hint = "give it with the log: open([log, space]), or open(log, space=…)"
        message = "This file describes a space and has no records"
        raise LogError("log.no_records", message, (str(sources[0].path),), hint)
    told = sources[0].hints.get("space") if sources else None
    told = next((source for source in sources if source not in logs), told)
    return logs, told if told is None or isinstance(told, SearchSpace) else read_space(told)


def _is_space(source: LogSource) -> bool:
    with source.open():  # a file that cannot be opened is told as such, not as an unknown format
        return is_space(source)


def _declared(files: Sequence[LogFile]) -> SearchSpace | None:
    """Return the space that all files declare alike; None where one declares none, or another one."""
    declared = [(dict(f.importer.space(f.source)), f.importer.restrictions(f.source)) for f in files]
    if not declared or not declared[0][0] or any(other != declared[0] for other in declared):
        return None
    return SearchSpace(*declared[0], told_by=str(files[0].source.path))


def _said(files: Sequence[LogFile]) -> tuple[pandas.DataFrame, list[Fault], list[str]]:
    """Return the records of files, their damage, and what a reader of the table has to know."""
    notes = [note for file in files for note in (*file.notes(), *_unmeasured(file), *_disturbed(file))]
    faults = [fault for file in files for fault in file.source.faults]
    return joined_frames([file.frame for file in files]), faults, notes


def _unmeasured(file: LogFile) -> list[str]:
    """Return that the log has no value of the objective that is asked for, and what it has."""
    asked, frame = file.source.hints.get("objective"), file.frame
    if asked is None or not len(frame) or frame["value"].notna().any():
        return []
    numbers = [str(name) for name, value in frame["extra"].iloc[0].items() if isinstance(value, int | float)]
    others = f"; they have {', '.join(numbers[:20])}" if numbers else ""
    return [f"No record of {file.source.path.name} has a value of {asked!r}{others}."]


def _disturbed(file: LogFile) -> list[str]:
    """Return how many records have a bound in the place of a value, since something disturbed them."""
    frame = file.frame
    bound = (frame["status"] == "ok") & frame["value"].isna() & frame["told"].astype(str).str.match("[≥≤]")
    if not (several := int(bound.sum())):
        return []
    have = "has" if several == 1 else "have"
    return [
        f"{several} of {len(frame):,} records {have} no value: other programs disturbed the measurement. Column `told`"
        " says by what, and how long it takes at least."
    ]


def _raw(files: Sequence[LogFile], record: int) -> Any:
    for file in files:
        if record < len(file):
            return file.raw(record)
        record -= len(file)
    raise IndexError(record)


def _params(files: Sequence[LogFile]) -> dict[str, list[Any]]:
    params: dict[str, dict[str, Any]] = {}
    for file in files:
        for name, values in file.space().items():
            known = params.setdefault(name, {})
            for value in values:
                known.setdefault(repr(value), value)
    return {name: list(values.values()) for name, values in params.items()}


def _importer(source: LogSource, format: str | None) -> LogImporter:
    if format is not None:
        return IMPORTERS.find(format)()
    found = importer_of(source)
    if found is None:
        hint = f"say `format=` if you know it: {', '.join(sorted(IMPORTERS))}"
        raise LogError(
            "log.unknown_format", "No tuner writes such a log, as far as known here", (str(source.path),), hint
        )
    return found


def records_frame(evaluations: Iterable[Evaluation], run: str) -> pandas.DataFrame:
    """Return evaluations as the table of `TuningLog.records`."""
    return kept_frame(Collector().extend(evaluations), run)


def read_log(path: str | os.PathLike[str], kind: str = "trial") -> pandas.DataFrame:
    """Read a tuning log into a table: ours as `workbench.log.reader.read_log` does, another tuner's as its records.

    Parameters
    ----------
    path : path
        A log of the workbench, or of any tuner that `open` knows.
    kind : {"trial", "comparison", "round", "network", "command"}
        Of a log of the workbench, the lines to read.

    Raises
    ------
    LogError
        As both say.
    """
    path = as_path("path", path)
    known = importer_of(LogSource(Path(path))) if os.path.isfile(path) else None
    if os.path.isdir(path) or (known is not None and known.name != "workbench"):
        return open(path).records
    return read_own_log(path, kind)
