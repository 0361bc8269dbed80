"""Parameters of records as columns: read in pieces, since those of a large log are in its file."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.cooperative_yield import pause
from workbench.logs.explorer.columns import FEW, Column
from workbench.markup import clean

if TYPE_CHECKING:
    from workbench.logs.tuning_log import TuningLog

PIECE = 2048
"""Records that are read together. Chosen: some milliseconds, after which others get their turn."""

MOST = 96
"""Parameters that become columns: the first ones of a log. Chosen: a list of more cannot be chosen from."""

Codes = npt.NDArray[np.int32]


class Coder:
    """Numbers the values of parameters of `n` records, which come one after the other."""

    def __init__(self, n: int) -> None:
        self.n, self.at, self.left_out = n, 0, 0
        self._codes: dict[str, Codes] = {}
        self._known: dict[str, dict[Hashable, int]] = {}
        self._keys: dict[str, list[Any]] = {}

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take the parameters of the next records in."""
        for row in rows:
            for name, value in row.items():
                codes = self._codes.get(name)
                if codes is None:
                    codes = self._new(name)
                    if codes is None:
                        continue
                known = self._known[name]
                key = (type(value), value) if isinstance(value, str | int | float) else _text(value)
                code = known.get(key)
                if code is None:
                    code = known[key] = len(known)
                    self._keys[name].append(value)
                codes[self.at] = code
            self.at += 1

    def _new(self, name: str) -> Codes | None:
        if len(self._codes) >= MOST:
            self.left_out += 1
            return None
        self._known[name], self._keys[name] = {}, []
        codes = self._codes[name] = np.full(self.n, -1, np.int32)
        return codes

    def columns(self) -> list[Column]:
        """Return a column for each parameter; spellings that differ in upper and lower case only are one, where no
        record has both.
        """
        groups: dict[str, list[str]] = {}
        for name in self._codes:
            groups.setdefault(name.casefold(), []).append(name)
        return [of_codes(name, *found) for group in groups.values() for name, found in self._merged(group)]

    def _merged(self, names: Sequence[str]) -> list[tuple[str, tuple[Codes, list[Any]]]]:
        own = [(name, (self._codes[name], self._keys[name])) for name in names]
        if len(names) == 1 or (np.sum([codes >= 0 for _, (codes, _) in own], axis=0) > 1).any():
            return own
        codes, keys = own[0][1][0].copy(), list(own[0][1][1])
        for _, (more, values) in own[1:]:
            where = more >= 0
            numbers = []
            for value in values:
                at = next((k for k, key in enumerate(keys) if type(key) is type(value) and key == value), len(keys))
                if at == len(keys):
                    keys.append(value)
                numbers.append(at)
            codes[where] = np.array(numbers, np.int32)[more[where]]
        return [(names[0], (codes, keys))]


def parameters_of(
    log: TuningLog, rows: npt.NDArray[np.int64] | None = None, told: Callable[[float], None] = lambda _: None
) -> list[Column]:
    """Return the columns of the parameters of a log, or of some records.

    Parameters
    ----------
    log : TuningLog
    rows : array of int, optional
        Numbers of the records.
    told : callable
        Is called with the share that is read, from time to time.
    """
    params = log.records["params"]
    if rows is not None:
        params = params.iloc[rows]
    coder = Coder(len(params))
    for start in range(0, len(params), PIECE):
        pause()
        coder.add(params.iloc[start : start + PIECE].tolist())
        told(coder.at / len(params))
    return coder.columns()


def of_codes(name: str, codes: Codes, keys: Sequence[Any]) -> Column:
    """Return the column of a parameter from numbers of different values (-1: none) and these values."""
    numeric = bool(keys) and all(isinstance(k, int | float) and not isinstance(k, bool) for k in keys)
    if numeric and len(keys) > FEW:
        return Column(name, "parameter", np.append(np.array(keys, np.float64), np.nan)[codes])
    order = sorted(range(len(keys)), key=lambda k: _rank(keys[k]))
    new = np.full(len(keys) + 1, -1, np.int32)
    new[order] = np.arange(len(order))
    chosen = tuple(keys[k] for k in order)
    return Column(name, "parameter", new[codes], tuple(_label(k) for k in chosen), chosen)


def _text(value: Any) -> str:
    if type(value) is list:  # as exact, and ten times as fast
        return repr(value)
    return json.dumps(value, sort_keys=True, default=str)


def _rank(value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return 0, float(value), ""
    if isinstance(value, int | float):
        return (1, float(value), "") if value == value else (2, 0.0, "")
    if isinstance(value, list | tuple) and all(isinstance(v, int | float) for v in value):
        return 3, tuple(map(float, value)), ""
    return 4, 0.0, _label(value)


def _label(value: Any) -> str:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return f"{value:g}"
    return clean(json.dumps(value, default=str))
