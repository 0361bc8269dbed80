"""`SearchSpace`: which configurations a tuner could have tried, from a T1 file or from what a log declares."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.arguments import path as as_path
from workbench.errors import LogError, UsageError
from workbench.logs.expressions import Expression
from workbench.logs.source import LogSource

if TYPE_CHECKING:
    import pandas

MOST_CONFIGURATIONS = 20_000_000
"""Configurations that are enumerated, and combinations on the way there. Chosen: some GB."""


class SearchSpace:
    """Parameters with their values, and restrictions that a configuration has to fulfil.

    Parameters
    ----------
    parameters : mapping
        Name -> the values in their order.
    restrictions : sequence of str, optional
        Expressions over the parameters (`workbench.logs.expressions.Expression`); None where it is not known whether
        there are any.
    told_by : str
        The file that says it.

    Raises
    ------
    UsageError
        ``usage.expression`` for a restriction that is none, ``usage.expression_name`` for one with another name.
    """

    def __init__(
        self, parameters: Mapping[str, Sequence[Any]], restrictions: Sequence[str] | None = None, told_by: str = ""
    ) -> None:
        self.parameters = {name: list(values) for name, values in parameters.items()}
        self.restrictions = None if restrictions is None else tuple(map(Expression, restrictions))
        self.told_by = told_by
        for restriction in self.restrictions or ():
            restriction.check_names(self.parameters)

    def __repr__(self) -> str:
        known = "unknown restrictions" if self.restrictions is None else f"{len(self.restrictions)} restrictions"
        return f"SearchSpace({len(self.parameters)} parameters, {self.combinations} combinations, {known})"

    @property
    def combinations(self) -> int:
        """How many combinations the values have, allowed or not."""
        return math.prod(map(len, self.parameters.values()))

    def __len__(self) -> int:
        """How many configurations are allowed."""
        return len(self._configurations)

    def __contains__(self, configuration: object) -> bool:
        """Whether a configuration (a mapping) has these parameters with values of theirs, and is allowed."""
        if not isinstance(configuration, Mapping) or configuration.keys() != self.parameters.keys():
            return False
        if not all(configuration[name] in values for name, values in self.parameters.items()):
            return False
        return all(restriction.holds(configuration) for restriction in self.restrictions or ())

    def configurations(self) -> pandas.DataFrame:
        """Return the allowed configurations: a column per parameter, the values of the last one change fastest.

        Raises
        ------
        LogError
            ``log.space_too_large`` for more than `MOST_CONFIGURATIONS`.
        """
        return self._configurations.copy()

    def tried(self, frame: pandas.DataFrame) -> pandas.Series:
        """Return for each row of `configurations` how often a table with columns of these names has it.

        Raises
        ------
        UsageError
            ``usage.space_parameters`` where the table lacks one of the parameters.
        """
        names = list(self.parameters)
        lacking = [name for name in names if name not in frame]
        if lacking:
            hint = f"it has: {', '.join(map(str, frame.columns[:12]))}"
            message = f"The table has no column {lacking[0]!r} of the space"
            raise UsageError("usage.space_parameters", message, tuple(lacking), hint)
        had: dict[tuple[Any, ...], int] = {}
        for row in zip(*(frame[name].tolist() for name in names), strict=True):
            key = tuple(map(_key, row))
            had[key] = had.get(key, 0) + 1
        rows = zip(*(self._configurations[name].tolist() for name in names), strict=True)
        counts = [had.get(tuple(map(_key, row)), 0) for row in rows]
        return self._series(counts)

    def _series(self, counts: list[int]) -> pandas.Series:
        import pandas

        return pandas.Series(counts, name="tried", dtype="int64")

    @cached_property
    def _configurations(self) -> pandas.DataFrame:
        """Grow the combinations by one parameter after the other; a restriction applies as soon as it can."""
        import numpy as np
        import pandas

        places: dict[str, Any] = {}
        rows, waiting = 1, list(self.restrictions or ())
        for name, values in self.parameters.items():
            if rows * len(values) > MOST_CONFIGURATIONS:
                hint = "look at the records of the log instead, or restrict the parameters"
                message = f"The space has more than {MOST_CONFIGURATIONS:,} combinations"
                raise LogError("log.space_too_large", message, (self.told_by,) if self.told_by else (), hint)
            places = {known: np.repeat(at, len(values)) for known, at in places.items()}
            places[name] = np.tile(np.arange(len(values), dtype=np.int32), rows)
            rows *= len(values)
            ready = [restriction for restriction in waiting if set(restriction.names) <= places.keys()]
            waiting = [restriction for restriction in waiting if restriction not in ready]
            for restriction in ready:
                needed = {n: self._column(n, places[n]) for n in restriction.names}
                keep = restriction.mask(pandas.DataFrame(needed, index=range(rows)))
                places = {known: at[keep] for known, at in places.items()}
                rows = int(keep.sum())
        return pandas.DataFrame({name: self._column(name, at) for name, at in places.items()}, index=range(rows))

    def _column(self, name: str, places: Any) -> pandas.Series:
        import pandas

        values = pandas.Series(self.parameters[name], dtype=object).infer_objects()
        return values.take(places).reset_index(drop=True)


def read_space(path: str | os.PathLike[str] | LogSource) -> SearchSpace:
    """Read the space of a T1 file (version 1.0.0), as Kernel Tuner and KTT have it; gzip is unpacked.

    Raises
    ------
    LogError
        ``log.space`` where the file describes none, ``log.missing``, ``log.unreadable``.
    """
    source = path if isinstance(path, LogSource) else LogSource(Path(as_path("space", path)))
    try:
        document = json.loads(source.text())
        described = document["ConfigurationSpace"]
        parameters = {str(p["Name"]): _values(p["Values"]) for p in described["TuningParameters"]}
        conditions = [str(c["Expression"]) for c in described.get("Conditions") or []]
        if not parameters:
            raise ValueError("it has no parameters")
        return SearchSpace(parameters, conditions, str(source.path))
    except UsageError as error:
        raise _no_space(source, f"{error.message} ({', '.join(error.where)})", error.hint) from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise _no_space(
            source, reason, "a T1 file has ConfigurationSpace.TuningParameters with Name and Values"
        ) from error


def is_space(source: LogSource) -> bool:
    """Whether a file describes a space, by its contents."""
    return re.match(rb"\s*\{", source.head) is not None and b'"TuningParameters"' in source.head


def _values(told: Any) -> list[Any]:
    """Return the values of a parameter, which stand there as a list or as the text of one."""
    values = Expression(told).value({}) if isinstance(told, str) else told
    if not isinstance(values, list) or not values:
        raise ValueError(f"{told!r} is no list of values")
    return values


def _key(value: Any) -> Any:
    """Return what tells two values apart: 32 and 32.0 are one, True and 1 are not."""
    if isinstance(value, bool | str):
        return (type(value), value)
    return repr(value) if isinstance(value, list | dict) else value


def _no_space(source: LogSource, reason: str, hint: str) -> LogError:
    return LogError("log.space", f"This describes no space: {reason[:300]}", (str(source.path),), hint)
