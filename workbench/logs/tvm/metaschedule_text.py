"""MetaSchedule's text logs: the only place with times of day and the errors of trials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from workbench.logs.source import LogSource

_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \[\w+\]")
_TRIAL = re.compile(r"\[Task #(\d+): (.*?)\] Trial #(\d+): (.*)")
_GOOD = re.compile(r"GFLOPs: \S+\. Time: ([\d.e+-]+) us")
_BAD = re.compile(r"Error in (\w+):?\s*(.*)")
_ROUND = re.compile(r"Sending (\d+) (?:candidates|samples?)")
_MODULE = re.compile(r"# from tvm\.script|@I\.ir_module|@tvm\.script|class Module")
_LONGEST_ERROR = 4000


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial as the text tells it: task, number from 1, median in µs or the phase and text of its error, and when."""

    task: str
    number: int
    median_us: float | None
    phase: str
    error: str
    elapsed_s: float | None
    generation: int


def trials(source: LogSource, name: str = "") -> Iterator[Trial]:
    """Yield the trials of a text log, in their order."""
    begin: float | None = None
    now: float | None = None
    generation, last, open_ = 0, None, False
    for line in source.lines(name):
        text = line.raw.decode("utf-8", "backslashreplace").rstrip("\r\n")
        if stamp := _TIME.match(text):
            now = _seconds(stamp[1])
            begin = now if begin is None else begin
            open_ = False
            if _ROUND.search(text):
                generation += 1
        if found := _TRIAL.search(text):
            if last is not None:
                yield last
            elapsed = None if now is None or begin is None else now - begin
            last = _trial(found, elapsed, generation)
            open_ = last.median_us is None
        elif open_ and last is not None:
            if _MODULE.match(text):
                open_ = False
            elif len(last.error) < _LONGEST_ERROR:
                last = replace(last, error=f"{last.error}\n{text}".strip())
    if last is not None:
        yield last


def _trial(found: re.Match[str], elapsed: float | None, generation: int) -> Trial:
    task, number, told = found[2], int(found[3]), found[4]
    if good := _GOOD.match(told):
        return Trial(task, number, float(good[1]), "", "", elapsed, generation)
    bad = _BAD.match(told)
    phase, error = (bad[1], bad[2]) if bad else ("", told)
    return Trial(task, number, None, phase, error, elapsed, generation)


def _seconds(text: str) -> float | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
