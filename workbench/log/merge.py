"""Logs of several machines or runs become one.

Lines keep the order of their times, and those of one log their order among themselves. A trial that is in several logs
(same machine, same program, same moment) is taken once. Trials and rounds get new numbers, in comparisons too. Merging
is associative: it does not matter which logs are merged first.
"""

from __future__ import annotations

import dataclasses
import heapq
import json
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.arguments import path as as_path
from workbench.errors import LogError, UsageError, option
from workbench.log.lines import AnyLine, Comparison, Round, Unknown
from workbench.log.reader import Header, Log, is_there, load_log, write_log
from workbench.log.record import Record
from workbench.log.rows import ROWS


@dataclass(frozen=True, slots=True)
class Merged:
    """What `merge_logs` wrote.

    Attributes
    ----------
    path : Path
    trials : int
        Trials in the new log.
    duplicates : int
        Trials that were left out because they were there already.
    lost : int
        Comparisons that were left out because the trials that they are about are in none of the logs.
    torn : tuple of Path
        Logs whose last line was not complete; it was left out.
    """

    path: Path
    trials: int
    duplicates: int
    lost: int = 0
    torn: tuple[Path, ...] = ()


def merge_logs(paths: Iterable[str | os.PathLike[str]], out: str | os.PathLike[str], *, force: bool = False) -> Merged:
    """Write the lines of several logs into a new one.

    Parameters
    ----------
    paths : iterable of path
        The logs.
    out : path
        The new log; it must not exist yet.
    force : bool
        Also merge logs of different models; the new log then knows the tasks of all.

    Returns
    -------
    Merged

    Raises
    ------
    LogError
        ``log.missing``, ``log.corrupt``; ``log.other_model`` for logs of different models; ``log.exists`` when there is
        such a file; ``log.unwritable``.
    UsageError
        ``usage.no_logs`` when there is nothing to merge.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    logs = [load_log(p) for p in paths]
    if not logs:
        raise UsageError("usage.no_logs", "There is no log to merge", ("paths",), "name two or more logs")
    target = Path(as_path("out", out))
    if is_there(target) and target.stat().st_size > 0:
        hint = "choose another file; merging writes over nothing"
        raise LogError("log.exists", "The file is already there", [str(target)], hint)
    if not force:
        check_same_model(logs)
    merged, duplicates, lost = merge(logs, target)
    write_log(target, merged.header, merged.lines)
    torn = tuple(log.path for log in logs if log.torn is not None)
    return Merged(target, len(merged.records), duplicates, lost, torn)


def merge(logs: Sequence[Log], path: Path = Path()) -> tuple[Log, int, int]:
    """Return the merged log, how many trials were in several logs, and how many comparisons lack their trials."""
    work = _Merge()
    lines = [found for source, line in _in_time(logs) if (found := work.take(source, line)) is not None]
    return Log(path, merged_header(logs), tuple(lines)), work.duplicates, work.lost


def _in_time(logs: Sequence[Log]) -> Iterator[tuple[int, AnyLine]]:
    """Yield all lines with the position of their log, in the order of their times; those of a log stay in their order,
    also where its clock was set back.
    """
    streams = ([(_time_of(line), source, line) for line in log.lines] for source, log in enumerate(logs))
    for _, source, line in heapq.merge(*streams, key=lambda item: item[0]):
        yield source, line


def _time_of(line: AnyLine) -> float:
    if isinstance(line, Unknown):
        value = line.data.get("timestamp")
        return float(value) if isinstance(value, int | float) and 0 <= value < 1e12 else 0.0
    return line.timestamp


@dataclass(slots=True)
class _Merge:
    """Numbers that were given and lines that are there already, while logs are merged."""

    seen: dict[Hashable, int] = field(default_factory=dict)  # what tells a line from others -> number of the trial
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    rounds: dict[tuple[int, int], int] = field(default_factory=dict)
    homes: dict[Hashable, int] = field(default_factory=dict)  # what tells a trial from others -> its round
    trials: int = 0
    next_round: int = 0
    duplicates: int = 0
    lost: int = 0

    def take(self, source: int, line: AnyLine) -> AnyLine | None:
        """Return a line as it stands in the merged log; None for one that does not come into it."""
        if isinstance(line, Record):
            return self._trial(source, line)
        if isinstance(line, Comparison):
            translated = self._comparison(source, line)
            if translated is None:
                self.lost += 1
                return None
            line = translated
        data = line.to_json()
        data.pop("round", None)
        name = json.dumps(data, sort_keys=True)
        if name in self.seen:
            return None
        self.seen[name] = -1
        if isinstance(line, Round | Comparison):
            return dataclasses.replace(line, round=self._round(source, line.round))
        return line

    def _trial(self, source: int, record: Record) -> Record | None:
        name = _identity(record)
        if name in self.seen:
            self.duplicates += 1
            self.numbers.setdefault((source, record.trial), self.seen[name])
            self.rounds.setdefault((source, record.round), self.homes[name])
            return None
        number = self.seen[name] = self.trials
        self.trials += 1
        self.numbers.setdefault((source, record.trial), number)
        self.homes[name] = self._round(source, record.round)
        return dataclasses.replace(record, trial=number, round=self.homes[name])

    def _round(self, source: int, number: int) -> int:
        """Return the new number of a round of a log."""
        if (source, number) not in self.rounds:
            self.rounds[source, number] = self.next_round
            self.next_round += 1
        return self.rounds[source, number]

    def _comparison(self, source: int, line: Comparison) -> Comparison | None:
        there: dict[int, int] = {}  # new number -> place among the participants
        for place, trial in enumerate(line.trials):
            if (source, trial) in self.numbers:
                there.setdefault(self.numbers[source, trial], place)
        winner = self.numbers.get((source, line.winner))
        if winner not in there or len(there) < 2:
            return None
        return dataclasses.replace(
            line,
            trials=tuple(there),
            latency_ms=tuple(line.latency_ms[i] for i in there.values() if i < len(line.latency_ms)),
            costs_ms=tuple(line.costs_ms[i] for i in there.values() if i < len(line.costs_ms)),
            winner=winner,
        )


def _identity(record: Record) -> Hashable:
    """Return what tells trials apart: machine, program and moment; the whole line where these are not known."""
    if record.key and record.timestamp:
        return (record.task_key, record.host, record.key, record.timestamp)
    data = record.to_json()
    del data["trial"], data["round"]
    return json.dumps(data, sort_keys=True)


def check_same_model(logs: Sequence[Log]) -> None:
    """Raise ``log.other_model`` unless all logs have the same tasks; one without a header may know fewer."""
    full = [(log, {key for key, _ in log.header.tasks}) for log in logs if log.header is not None]
    every: set[str] = set().union(*(keys for _, keys in full))
    for log in logs:
        keys = {r.task_key for r in log.records} if log.header is None else {key for key, _ in log.header.tasks}
        strange = bool(full) and (not keys <= every or (log.header is not None and keys != full[0][1]))
        if strange:
            first = full[0][0]
            of = [f"'{x.header.model}'" if x.header and x.header.model else "another model" for x in (first, log)]
            message = (
                f"The logs belong to different models: {of[0]} with {len(full[0][1])} tasks, {of[1]} with {len(keys)}"
            )
            force = option("force=True", "--force")
            hint = f"{force} merges them all the same; the new log then has the tasks of both"
            raise LogError("log.other_model", message, [str(first.path), str(log.path)], hint)


def merged_header(logs: Sequence[Log]) -> Header | None:
    """Return the first header, with the tasks of all and, in `merged`, where the others came from."""
    headers = [log.header for log in logs if log.header is not None]
    if not headers:
        return None
    tasks: dict[str, str] = {}
    extra: dict[str, Any] = {}
    origins: list[Mapping[str, Any]] = []
    for header in headers:
        for key, name in header.tasks:
            tasks.setdefault(key, name)
        for name, value in header.extra.items():
            if name != "merged":
                extra.setdefault(name, value)
        own = [{"host": header.host, "target": header.target, "model": header.model, "created": header.created}]
        told = header.extra.get("merged")
        origins += [origin for origin in (told if isinstance(told, list) else own) if origin not in origins]
    if len(origins) > 1:
        extra["merged"] = origins
    return dataclasses.replace(headers[0], tasks=tuple(tasks.items()), schema=ROWS, extra=extra)
