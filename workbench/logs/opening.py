"""`open`: from files to a `TuningLog`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import LogError
from workbench.log.reader import read_log as read_own_log
from workbench.logs import importers  # noqa: F401  # each declares a format
from workbench.logs.evaluation import STATUSES, Evaluation
from workbench.logs.importer import IMPORTERS, LogImporter, importer_of
from workbench.logs.source import LogSource
from workbench.logs.tuning_log import TuningLog

if TYPE_CHECKING:
    import pandas

_FIELDS = (
    "task", "device", "params", "status", "cost_s", "value", "unit", "objective", "direction", "statistic", "repeats",
    "error", "elapsed_s", "technique", "generation", "predicted", "target", "told", "timestamp", "compile_s", "run_s",
    "verify_s", "search_s", "spent_s", "extra", "where",
)  # fmt: skip
_NUMBERS = (
    "cost_s", "value", "elapsed_s", "predicted", "timestamp", "compile_s", "run_s", "verify_s", "search_s", "spent_s",
)  # fmt: skip
_WORDS = ("task", "device", "target", "unit", "objective", "direction", "statistic", "technique")

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def open(paths: Paths, format: str | None = None, **hints: Any) -> TuningLog:
    """Open the log of any tuner that is known here.

    Parameters
    ----------
    paths : path or list of paths
        A file, a folder, or several of them; gzip is unpacked.
    format : str, optional
        Name of a format (`workbench.logs.IMPORTERS`); without it, the contents tell.
    **hints
        What the file does not say: ``task``, ``device``, ``objective``, ``unit``, ``direction`` ("min" or "max"), and
        ``columns`` for tables of one's own.

    Raises
    ------
    LogError
        ``log.missing``, ``log.unreadable``, ``log.unknown_format``, ``log.too_large``.
    UsageError
        ``usage.log_format`` for a format that is not known.
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    return open_sources([LogSource(Path(path), hints) for path in several], format)


def open_sources(sources: Sequence[LogSource], format: str | None = None) -> TuningLog:
    """Open what `open` opens, given as sources."""
    chosen = [_importer(source, format) for source in sources]
    records: list[pandas.DataFrame] = []
    raws: list[tuple[LogSource, list[Any], list[int]]] = []
    params: dict[str, list[Any]] = {}
    notes: list[str] = []
    for source, importer in zip(sources, chosen, strict=True):
        found = list(importer.read(source))
        records.append(records_frame(found, source.path.name))
        raws.append((source, [e.raw for e in found], [e.offset for e in found]))
        _add_space(params, importer.space(source), found)
        notes += importer.notes(source)
    frame = _joined(records)
    starts = [0]
    for part in records:
        starts.append(starts[-1] + len(part))

    def raw(record: int) -> Any:
        which = max(k for k, start in enumerate(starts[:-1]) if start <= record and len(records[k]))
        source, kept, offsets = raws[which]
        at = record - starts[which]
        return source.line_at(offsets[at]) if kept[at] is None and offsets[at] >= 0 else kept[at]

    names = list(dict.fromkeys(importer.name for importer in chosen))
    faults = [fault for source in sources for fault in source.faults]
    return TuningLog(", ".join(names), [str(s.path) for s in sources], frame, params, raw, faults, notes)


def _importer(source: LogSource, format: str | None) -> LogImporter:
    if format is not None:
        return IMPORTERS.find(format)()
    if not source.is_folder:
        with source.open():
            pass  # a file that cannot be opened is told as such, not as an unknown format
    found = importer_of(source)
    if found is None:
        hint = f"say `format=` if you know it: {', '.join(sorted(IMPORTERS))}"
        raise LogError(
            "log.unknown_format", "No tuner writes such a log, as far as known here", (str(source.path),), hint
        )
    return found


def records_frame(evaluations: Sequence[Evaluation], run: str) -> pandas.DataFrame:
    """Return evaluations as the table of `TuningLog.records`."""
    import pandas

    columns: dict[str, Any] = {name: [getattr(e, name) for e in evaluations] for name in _FIELDS}
    runs = [f"{run} {e.run}" if e.run else run for e in evaluations]
    frame = pandas.DataFrame({"record": range(len(evaluations)), "run": runs, **columns})
    frame = frame.astype(dict.fromkeys(_NUMBERS, "float64") | dict.fromkeys((*_WORDS, "run"), "category"))
    frame["generation"] = frame["generation"].astype("Int64")
    frame["status"] = pandas.Categorical(frame["status"], categories=list(STATUSES))
    return frame


def _joined(parts: Sequence[pandas.DataFrame]) -> pandas.DataFrame:
    import pandas

    if len(parts) == 1:
        return parts[0]
    frame = pandas.concat([part.astype(dict.fromkeys((*_WORDS, "run"), object)) for part in parts], ignore_index=True)
    frame["record"] = range(len(frame))
    return frame.astype(dict.fromkeys((*_WORDS, "run"), "category"))


def _add_space(
    params: dict[str, list[Any]], declared: Mapping[str, Sequence[Any]], found: Iterable[Evaluation]
) -> None:
    """Add values of parameters: those that the log declares, and those that occur where it declares none."""
    occur: dict[str, dict[str, Any]] = {name: {repr(v): v for v in values} for name, values in declared.items()}
    for evaluation in found:
        for name, value in evaluation.params.items():
            if name not in declared:
                occur.setdefault(name, {}).setdefault(repr(value), value)
    for name, values in occur.items():
        have = {repr(v) for v in params.setdefault(name, [])}
        params[name] += [v for key, v in values.items() if key not in have]


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
    try:
        return read_own_log(path, kind)
    except LogError as error:
        if error.code != "log.foreign":
            raise
    return open(path).records
