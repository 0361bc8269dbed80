"""A `TuningLog` as a file of another form: Parquet, CSV, or the workbench's own log."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.arguments import is_a
from workbench.arguments import path as as_path
from workbench.errors import LogError, UsageError
from workbench.files import replace_file
from workbench.forms import plain
from workbench.log import Record
from workbench.log.lines import AnyLine
from workbench.log.merge import merge
from workbench.log.reader import Header, Log, is_there, load_log, reason_of, write_log
from workbench.log.record import COSTS_KEPT
from workbench.log.rows import ROWS
from workbench.logs.evaluation import SECONDS
from workbench.logs.source import LogSource
from workbench.logs.table.unpacked import unpacked
from workbench.logs.tuning_log import TuningLog

if TYPE_CHECKING:
    import pandas

FORMS = (".parquet", ".csv", ".csv.gz", ".tunelog.jsonl", ".tunelog.jsonl.gz")
"""Ends of names of files that `convert` writes."""

MOST_COLUMNS = 300
"""Parameters that get a column each; of more, all stand as JSON in one. Chosen: a table can still be looked at."""

OWN_STATUS: Mapping[str, str] = {
    "ok": "ok", "compile": "build_error", "build-timeout": "build_error", "constraint": "build_error",
    "run": "run_error", "unknown": "run_error", "run-timeout": "timeout", "wrong-answer": "wrong_answer",
    "pruned": "cancelled", "filtered": "cancelled", "started-only": "cancelled",
}  # fmt: skip
"""What our own log says in the place of a status; the status itself stands beside it."""


AS_WRITTEN = (
    "told", "objective", "direction", "value", "unit", "statistic", "generation", "verify_s", "search_s", "spent_s",
)  # fmt: skip
"""Columns that our own log has no field for: they stand in what a record says beside its fields."""


def convert(log: TuningLog, path: str | os.PathLike[str]) -> int:
    """Write the records of a log to a new file, whose form its name tells.

    Parameters
    ----------
    log : TuningLog
        What to write.
    path : path
        ``….parquet`` and ``….csv``: a row per record, with a column ``params.NAME`` per parameter, lists as JSON.
        ``….tunelog.jsonl``: the workbench's own log; it has times only, and no schedules. ``.gz`` behind the last two
        packs them.

    Returns
    -------
    int
        Number of records written.

    Raises
    ------
    UsageError
        ``usage.log_form`` for another name.
    LogError
        ``log.pyarrow`` for Parquet without pyarrow, ``log.unwritable``, ``log.no_times`` for our own form where no
        record has a time.
    """
    target = target_of(log, path)
    form = next((form for form in sorted(FORMS, key=len, reverse=True) if target.name.lower().endswith(form)), None)
    if form is None:
        message = f"The name {target.name!r} tells no form that logs are converted to"
        raise UsageError("usage.log_form", message, (str(target),), f"let it end in {', '.join(FORMS)}")
    if form.startswith(".tunelog"):
        return _write_own(log, target, packed=form.endswith(".gz"))
    frame = flat(log)
    if form == ".parquet":
        _write_parquet(frame, target)
    else:
        text = frame.to_csv(index=False).encode("utf-8", "backslashreplace")
        write_whole(target, gzip.compress(text, 6, mtime=0) if form.endswith(".gz") else text)
    return len(frame)


def target_of(log: TuningLog, path: str | os.PathLike[str]) -> Path:
    """Return the file to write of a log; ``log.unwritable`` for one that the log is read from."""
    is_a("log", log, TuningLog, "open it by `wb.logs.open`")
    target = Path(as_path("path", path))
    if is_there(target) and any(target.samefile(read) for read in log.paths if is_there(read)):
        message = "A log cannot be written over itself"
        raise LogError("log.unwritable", message, [str(target)], "name another file")
    return target


def flat(log: TuningLog) -> pandas.DataFrame:
    """Return the records with a column ``params.NAME`` per parameter and JSON in the place of lists and mappings."""
    import pandas

    records = log.records.copy()
    params = list(records.pop("params"))
    names = dict.fromkeys(name for one in params for name in one)
    place = records.columns.get_loc("status")
    assert isinstance(place, int)
    if len(names) > MOST_COLUMNS:
        records.insert(place, "params", [_text(one) for one in params])
    else:
        columns = {f"params.{name}": [_cell(one.get(name)) for one in params] for name in names}
        found = pandas.DataFrame(columns, index=records.index).infer_objects()
        records = pandas.concat([records.iloc[:, :place], found, records.iloc[:, place:]], axis=1)
    for name in ("repeats", "extra"):
        records[name] = [_text(value) for value in records[name]]
    return records.astype({"where": "str"})  # that of a large log is made when asked for


def own_records(log: TuningLog) -> Iterator[Record]:
    """Yield the records as those of our own log: ``row`` has the whole numbers among the parameters, ``extra`` what has
    no place there.
    """
    rows: list[dict[str, Any]] = log.records.to_dict("records")  # type: ignore[assignment]  # columns are named
    for number, row in enumerate(rows):
        second = SECONDS.get(row["unit"])
        latency = row["cost_s"] * 1e3 if second is not None and row["cost_s"] > 0 else None
        repeats = [v * second * 1e3 for v in row["repeats"] if math.isfinite(v)] if second is not None else []
        params = dict(row["params"])
        extra = {"params": plain(params), "status_told": row["status"], "repeats": plain(list(row["repeats"])),
                 "beside": plain(row["extra"]), **{name: plain(row[name]) for name in AS_WRITTEN}}  # fmt: skip
        yield Record(
            task_key=_key(row), task=str(row["task"]), trial=number, status=OWN_STATUS[row["status"]],
            target=str(row["target"]), host=str(row["device"]), latency_ms=latency, error=str(row["error"]),
            row={str(name): v for name, v in params.items() if type(v) is int and abs(v) < 2**53},
            costs_ms=tuple(repeats[:: -(-len(repeats) // COSTS_KEPT) or 1]), compile_s=_number(row["compile_s"]),
            run_s=_number(row["run_s"]), elapsed_s=_number(row["elapsed_s"]), timestamp=_number(row["timestamp"]),
            origin=str(row["technique"]), predicted=plain(row["predicted"]), extra=extra,
        )  # fmt: skip


def _write_own(log: TuningLog, target: Path, packed: bool) -> int:
    header, lines = _own_lines(log)
    write_log(target, header, lines)
    if packed:
        write_whole(target, gzip.compress(target.read_bytes(), 6, mtime=0))
    return sum(isinstance(line, Record) for line in lines)


def _own_lines(log: TuningLog) -> tuple[Header | None, Sequence[AnyLine]]:
    """Return the lines of a log as those of our own log; all lines of one of ours, of any version, as they are."""
    if log.format == "workbench":
        logs = [_own(LogSource(Path(path))) for path in log.paths]
        whole = logs[0] if len(logs) == 1 else merge(logs)[0]
        return whole.header and dataclasses.replace(whole.header, schema=ROWS), whole.lines
    if not log.records["cost_s"].notna().any():
        message = "No record of this log has a time, and the workbench's own log has times only"
        raise LogError("log.no_times", message, log.paths, "convert it to .csv or .parquet")
    records = list(own_records(log))
    tasks = tuple({record.task_key: record.task for record in records}.items())
    return Header(tasks=tasks, model=f"converted from {log.format}", target=records[0].target), records


def _own(source: LogSource) -> Log:
    """Return a log of ours; whatever is said of a packed one names the packed file."""
    plain = unpacked(source, 0) if source.packed else None
    if plain is None:
        return load_log(source.path)
    try:
        return dataclasses.replace(load_log(plain.path), path=source.path)
    except LogError as error:
        where = [place.replace(str(plain.path), str(source.path)) for place in error.where]
        raise LogError(error.code, error.message, where, error.hint) from error


def _write_parquet(frame: pandas.DataFrame, target: Path) -> None:
    try:
        import pyarrow
    except ImportError as error:
        message = "Parquet files are written with pyarrow, which is not installed"
        hint = "run `pip install 'schedule-workbench[parquet]'`, or write .csv.gz"
        raise LogError("log.pyarrow", message, (str(target),), hint) from error
    buffer = io.BytesIO()
    for name in frame.columns:
        if frame[name].dtype == object:  # values of several types: what they are called
            frame[name] = [value if value is None or isinstance(value, str) else str(value) for value in frame[name]]
    try:
        frame.to_parquet(buffer, index=False, engine="pyarrow")
    except (pyarrow.ArrowException, ValueError, UnicodeError) as error:
        message = f"These records cannot be written as Parquet: {error}"
        raise LogError("log.unwritable", message, (str(target),), "write .csv") from error
    write_whole(target, buffer.getvalue())


def write_whole(target: Path, data: bytes) -> None:
    """Write a file in one step: a temporary one, then a rename; ``log.unwritable`` where that is not possible."""
    temporary = target.with_name(target.name + ".part")
    try:
        temporary.write_bytes(data)
        replace_file(temporary, target)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            temporary.unlink()
        message = f"The file cannot be written: {reason_of(error)}"
        raise LogError("log.unwritable", message, (str(target),), "choose another file with -o") from error


def _cell(value: Any) -> Any:
    return _text(value) if isinstance(value, list | tuple | dict) else value


def _text(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _key(row: Mapping[str, Any]) -> str:
    """Return a key for what can be compared: the same task, device, target and objective."""
    told = "\0".join(str(row[name]) for name in ("task", "device", "target", "objective"))
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]


def _number(value: Any) -> float:
    return float(value) if value == value and value is not None else 0.0
