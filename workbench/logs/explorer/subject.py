"""What an explorer can be opened on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.logs.importer import importer_of
from workbench.logs.opening import open as open_log
from workbench.logs.source import Fault, LogSource
from workbench.logs.tuning_log import TuningLog
from workbench.markup import plural

if TYPE_CHECKING:
    from workbench.tune.run.tuning_session import TuningSession

OURS = "workbench"
"""Name of the importer of the workbench's own logs."""

_WORDS = ("run", "task", "device", "target", "unit", "objective", "direction", "statistic", "technique")
ACCEPTS = "give what `wb.logs.open` gives, the path of a log, a TuningSession, or a list of them"


@dataclass(slots=True)
class Subject:
    """What is explored: a log, its title, and what may still write to it."""

    log: TuningLog
    title: str
    session: TuningSession | None = None

    def close(self) -> None:
        """Let go of what was followed."""
        self.session = None


def opened(subject: Any) -> Subject:
    """Open whatever a user passed.

    Raises
    ------
    UsageError
        "explorer.subject" for something that is no log.
    LogError
        What is wrong with a file.
    """
    if isinstance(subject, list | tuple):
        return _several(subject)
    if isinstance(subject, TuningLog):
        return Subject(subject, _title([subject]))
    if isinstance(subject, str | os.PathLike):
        log = open_log(subject)
        return Subject(log, _title([log]))
    if (session := _session(subject)) is not None:
        if session.log is None:
            raise UsageError("explorer.subject", "The session writes no log", (), "give it a file: tune(..., log=...)")
        log = open_log(session.log)
        return Subject(log, _title([log]), session)
    raise UsageError("explorer.subject", f"An object of type {type(subject).__name__} is no log", (), ACCEPTS)


def _session(subject: Any) -> TuningSession | None:
    """Return what was passed if it is a tuning session: nobody has one who has not loaded its module, which is most of
    the workbench.
    """
    module = sys.modules.get("workbench.tune.run.tuning_session")
    return subject if module is not None and isinstance(subject, module.TuningSession) else None


def _several(subjects: Sequence[Any]) -> Subject:
    if not subjects:
        raise UsageError("explorer.subject", "An empty list has no log", (), ACCEPTS)
    logs = [opened(one).log for one in subjects]
    return Subject(joined(logs), _title(logs))


def _title(logs: Sequence[TuningLog]) -> str:
    paths = [path for log in logs for path in log.paths]
    if len(paths) == 1:
        return Path(paths[0]).name
    return plural(len(paths), "log") if paths else "log"


def joined(logs: Sequence[TuningLog]) -> TuningLog:
    """Return several logs as one; runs of the same name are numbered."""
    if len(logs) == 1:
        return logs[0]
    formats = list(dict.fromkeys(log.format for log in logs))
    paths = [path for log in logs for path in log.paths]

    def follow() -> tuple[int, Any, list[Fault], list[str]]:
        return sum(log.refresh() for log in logs), _records(logs), *_said(logs)

    return TuningLog(
        ", ".join(formats), paths, _records(logs), lambda: _space(logs), _raw_of(logs), *_said(logs), follow
    )


def _records(logs: Sequence[TuningLog]) -> Any:
    import pandas

    frames, taken = [], set[str]()
    for log in logs:
        frame = log.records.copy(deep=False)
        frame["run"] = frame["run"].astype(object).map(_fresh(frame["run"].unique(), taken))
        frames.append(frame.astype(dict.fromkeys(_WORDS, object)))
    records = pandas.concat(frames, ignore_index=True)
    records["record"] = range(len(records))
    records = records.astype(dict.fromkeys(_WORDS, "category"))
    return records.astype({"status": logs[0].records["status"].dtype})


def _said(logs: Sequence[TuningLog]) -> tuple[list[Fault], list[str]]:
    """Return the damage, and the warnings that do not count it."""
    faults = [fault for log in logs for fault in log.faults]
    return faults, [note for log in logs for note in log.warnings[bool(log.faults) :]]


def _space(logs: Sequence[TuningLog]) -> dict[str, list[Any]]:
    params: dict[str, dict[str, Any]] = {}
    for log in logs:
        for name, values in log.params.items():
            known = params.setdefault(name, {})
            for value in values:
                known.setdefault(repr(value), value)
    return {name: list(values.values()) for name, values in params.items()}


def _fresh(runs: Any, taken: set[str]) -> dict[str, str]:
    """Return a name for each run that no other log has taken."""
    names = {}
    for run in map(str, runs):
        name, number = run, 2
        while name in taken:
            name, number = f"{run} ({number})", number + 1
        names[run] = name
    taken.update(names.values())
    return names


def _raw_of(logs: Sequence[TuningLog]) -> Callable[[int], Any]:
    def raw(record: int) -> Any:
        for log in logs:
            if record < len(log):
                return log.raw(record)
            record -= len(log)
        raise IndexError(record)

    return raw


def is_foreign(subject: Any) -> bool:
    """Return whether something is a log, or the path of one, that another tuner than the workbench's has written."""
    if isinstance(subject, TuningLog):
        return True
    if not isinstance(subject, str | os.PathLike) or not os.path.exists(subject):
        return False
    path = Path(subject)
    if path.suffix.lower() == ".onnx":
        return False
    found = importer_of(LogSource(path))
    return found is not None and found.name != OURS
