"""The filter of an explorer: which rows a line of text lets through.

An expression over the columns of the table and some more of the records, such as ``tile_x > 4 and status == "ok"``; or
words, which some label or error message has to contain.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.logs.evaluation import SECONDS
from workbench.logs.explorer.columns import Column, Columns
from workbench.logs.explorer.rows import Mask
from workbench.logs.explorer.selection import Brush
from workbench.logs.expressions import Expression

if TYPE_CHECKING:
    from workbench.logs.tuning_log import TuningLog

MORE = ("cost_s", "value", "unit", "told", "error", "target", "statistic", "where")
"""Columns of the records that an expression can name although they are no columns of the explorer."""

_WORDS = re.compile(r"[\w.,:/\- ]+")
_GRAMMAR = {"and", "or", "not", "in", "True", "False", "None"}


def mask(text: str, columns: Columns, log: TuningLog) -> Mask:
    """Return which rows the filter lets through.

    Raises
    ------
    UsageError
        ``usage.expression`` and ``usage.expression_name`` as `Expression` says.
    """
    text = text.strip()
    if _is_words(text, columns):
        return _containing(text, columns, log)
    expression = Expression(text)
    expression.check_names([*columns, *MORE])
    import pandas

    named = {name: _values(name, columns, log) for name in expression.names}
    return np.asarray(expression.mask(pandas.DataFrame(named, index=range(columns.n))), bool)


def _is_words(text: str, columns: Columns) -> bool:
    if not _WORDS.fullmatch(text) or text in columns or text in MORE:
        return False
    return not _GRAMMAR & set(text.split())


def _containing(text: str, columns: Columns, log: TuningLog) -> Mask:
    wanted = text.casefold()
    found = np.zeros(columns.n, bool)
    for column in columns.values():
        if column.discrete:
            hits = [k for k, label in enumerate(column.labels) if wanted in label.casefold()]
            found |= np.isin(column.values, hits)
    codes, errors = _factorized(log, "error", columns)
    told = np.array([wanted in str(error).casefold() for error in errors], bool)
    return np.asarray(found | np.append(told, False)[codes])


def _factorized(log: TuningLog, name: str, columns: Columns) -> tuple[npt.NDArray[np.int64], Any]:
    import pandas

    codes, words = pandas.factorize(_taken(log, name, columns), use_na_sentinel=True)
    return codes, words


def _taken(log: TuningLog, name: str, columns: Columns) -> Any:
    series = log.records[name]
    return series if columns.n == len(series) else series.iloc[columns.records]


def _values(name: str, columns: Columns, log: TuningLog) -> Any:
    """Return the values of a column, as the log has them."""
    if name not in columns:
        return _taken(log, name, columns).array
    column = columns[name]
    if not column.discrete:
        values = column.values
        whole = bool(len(values)) and bool(np.isfinite(values).all()) and bool((values == np.floor(values)).all())
        return values.astype(np.int64) if whole and np.abs(values).max() < 2**53 else values
    plain = all(type(key) is int for key in column.keys)
    if plain and (column.values >= 0).all() and all(abs(key) < 2**53 for key in column.keys):
        return np.array(column.keys, np.int64)[column.values] if column.keys else column.values
    table = np.empty(len(column.keys) + 1, object)
    table[:] = [*column.keys, None]
    return table[column.values]


def moved(brush: Brush, old: Column, new: Column) -> Brush:
    """Return the brush of a column whose values have become others: it keeps the values, not their numbers."""
    if brush.missing:
        return brush
    if not old.discrete:
        factor = SECONDS.get(old.unit, 1.0) / SECONDS.get(new.unit, 1.0)
        return Brush(brush.low * factor, brush.high * factor) if old.unit != new.unit else brush
    kept = [key for k, key in enumerate(old.keys) if brush.low <= k <= brush.high and key in new.keys]
    chosen = [new.keys.index(key) for key in kept]
    return Brush(min(chosen) - 0.5, max(chosen) + 0.5) if chosen else brush
