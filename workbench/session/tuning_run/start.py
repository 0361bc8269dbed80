"""Starts a tuning run for a session, or goes on with the one of its log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from workbench.errors import LogError
from workbench.graph import Graph
from workbench.graph.tasks import Task
from workbench.log import load_log
from workbench.schedule import Schedule
from workbench.tune.run.start import tune
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.state.log_recorder import Stamp


def start(
    what: Schedule | Graph | Sequence[Task], title: str, log: str | None, trials: int | None, **given: Any
) -> TuningSession:
    """Start a run of so many new trials; a log that fits is gone on with.

    Parameters
    ----------
    title : str
        What the log is named after.
    log : str or None
        The file to write to; by default one named after `title` in the working directory, or the first free name after
        it when that belongs to another model.
    given
        Arguments of `tune`, among them the target and the options.
    """
    for name in [log] if log is not None else log_names(slug(title)):
        try:
            total = None if trials is None else trials + _trials(name, str(given["target"]), given["options"].caches)
            return tune(what, trials=total, log=name, resume=True, progress=False, **given)
        except LogError as error:
            if log is not None or error.code not in ("log.other_model", "log.locked", "log.corrupt"):
                raise
    raise AssertionError("the names never end")


def log_names(stem: str) -> Iterator[str]:
    """``resnet50.tunelog.jsonl``, ``resnet50-2.tunelog.jsonl``, ..."""
    yield f"{stem}.tunelog.jsonl"
    for n in count(2):
        yield f"{stem}-{n}.tunelog.jsonl"


def slug(text: str) -> str:
    """Return a text as part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-") or "schedule"


def _trials(log: str, target: str, caches: str) -> int:
    """Trials of a log that will count."""
    own = Stamp(target, "", 0, caches).own
    return sum(map(own, load_log(log).records)) if Path(log).exists() else 0
