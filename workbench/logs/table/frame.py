"""`TuningLog.records`, made of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.logs.evaluation import SECONDS, STATUSES
from workbench.logs.table.columns import CATEGORIES, Columns, Numbers

if TYPE_CHECKING:
    import pandas

FIELDS = (
    "task", "device", "params", "status", "cost_s", "value", "unit", "objective", "direction", "statistic", "repeats",
    "error", "elapsed_s", "technique", "generation", "predicted", "target", "told", "timestamp", "compile_s", "run_s",
    "verify_s", "search_s", "spent_s", "extra", "where",
)  # fmt: skip
"""Columns of the table after ``record`` and ``run``."""


def records_frame(columns: Columns, run: str, objects: dict[str, Any]) -> pandas.DataFrame:
    """Return the table of one file.

    Parameters
    ----------
    columns : Columns
    run : str
        Name of the file.
    objects : dict
        The columns ``params extra repeats where``.
    """
    import pandas

    count = len(columns)
    made: dict[str, Any] = {
        **objects,
        "cost_s": cost_s(columns),
        "status": _categories(columns, "status", list(STATUSES)),
    }
    for name in ("told", "error"):
        made[name] = pandas.array(columns.text(name), dtype="str")
    for name in FIELDS:
        if name in CATEGORIES:
            made[name] = _categories(columns, name, sorted(columns.words[name][1]))
        elif name not in made:
            made[name] = columns.numbers.get(name, np.full(count, np.nan))
    generation = made["generation"]
    known = np.abs(generation) < 2**53  # false for none, and for what no tuner counts to
    made["generation"] = pandas.array(np.where(known, generation, 0).astype(np.int64), dtype="Int64")
    made["generation"][~known] = pandas.NA
    codes, words = columns.words["run"]
    runs = pandas.Categorical(pandas.Index([f"{run} {word}" if word else run for word in words])[codes])
    ordered = {name: made[name] for name in FIELDS}
    # copy=False: columns stay arrays of their own; put together into one, they would take their room twice meanwhile.
    return pandas.DataFrame({"record": np.arange(count, dtype=np.int64), "run": runs, **ordered}, copy=False)


def cost_s(columns: Columns) -> Numbers:
    """Return `Evaluation.cost_s` of each record."""
    (statuses, status), (units, unit) = columns.words["status"], columns.words["unit"]
    good = np.array([word == "ok" for word in status], dtype=bool)
    seconds = np.array([SECONDS.get(word, np.nan) for word in unit], dtype=np.float64)
    value = columns.numbers.get("value", np.full(len(columns), np.nan))
    if not len(columns):
        return value
    return np.where(good[statuses], value * seconds[units], np.nan)


def _categories(columns: Columns, name: str, ordered: Sequence[str]) -> pandas.Categorical:
    import pandas

    codes, words = columns.words[name]
    place = {word: number for number, word in enumerate(ordered)}
    own = np.array([place.get(word, -1) for word in words], dtype=np.int32)
    return pandas.Categorical.from_codes(
        own[codes] if len(codes) else codes, categories=pandas.Index(list(ordered), dtype="str")
    )


def joined_frames(parts: Sequence[pandas.DataFrame]) -> pandas.DataFrame:
    """Return the tables of several files as one; records are numbered anew."""
    import pandas

    if len(parts) == 1:
        return parts[0]
    words = ("run", *CATEGORIES)
    frame = pandas.concat([part.astype(dict.fromkeys(words, object)) for part in parts], ignore_index=True)
    frame["record"] = range(len(frame))
    return frame.astype(dict.fromkeys(words, "category"))
