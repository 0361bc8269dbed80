"""The configurations of a complete log: what each is, and what measuring it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UsageError
from workbench.logs.analysis.parameters import Parameters, said
from workbench.logs.analysis.selection import Group, Source, one_group
from workbench.logs.evaluation import SECONDS

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Configurations:
    """Every configuration of one task of a log, once.

    Attributes
    ----------
    group : Group
        The records.
    parameters : Parameters
        What each configuration is, ``[N]``.
    costs : array [N]
        What measuring it gives: seconds for a time, else the objective in its own unit, negative where large values are
        good; infinite for a failure. The median where a configuration was measured several times.
    records : array [N]
        Number of its first record.
    """

    group: Group
    parameters: Parameters
    costs: Floats
    records: NDArray[np.int64]

    @classmethod
    def of(cls, source: Source, task: str | None = None) -> Configurations:
        """Take them from a log.

        Raises
        ------
        UsageError
            ``usage.task``, ``usage.one_task`` as `workbench.logs.analysis` has them; ``usage.no_space`` where nothing
            was measured, or all records have the same parameters.
        """
        group = one_group(source, task)
        if not group.ok.any():
            raise _no_space()
        every = Parameters.of(group.params())
        scale = SECONDS.get(group.unit, 1.0)
        told, kind = group.cost * scale, every.configuration
        order = np.argsort(kind, kind="stable")
        starts = np.flatnonzero(np.diff(kind[order], prepend=-1))
        parts = np.split(order, starts[1:])
        costs = np.array([_middle(told[part]) for part in parts])
        first = np.array([part[0] for part in parts], np.int64)
        place = np.argsort(first)
        if len(first) < 2:
            raise _no_space()
        rows = first[place]
        numbers = group.records["record"].to_numpy(np.int64)[rows]
        return cls(group, every.taken(rows), costs[place], numbers)

    def __len__(self) -> int:
        return len(self.costs)

    @property
    def is_time(self) -> bool:
        """Whether the objective is a time."""
        return self.group.unit in SECONDS

    def said(self, costs: Floats | float) -> Floats:
        """Return costs in the unit and direction of the log; NaN for a failure."""
        sign = 1.0 if self.group.smaller_is_better else -1.0
        return np.where(np.isfinite(costs), sign * np.asarray(costs) / SECONDS.get(self.group.unit, 1.0), np.nan)

    @cached_property
    def values(self) -> Floats:
        """The objective of each, in the unit of the log ``[N]``; NaN for a failure."""
        return self.said(self.costs)

    @cached_property
    def merits(self) -> Floats:
        """What a search maximises ``[N]``: log2 of 1/cost, or of a value where large ones are good; NaN for a failure.

        Where an objective can be zero or negative, it is the objective itself in units of its largest number.
        """
        value = self.values if not self.is_time else self.costs
        ok = np.isfinite(value) & np.isfinite(self.costs)
        sign = -1.0 if self.group.smaller_is_better else 1.0
        out = np.full(len(self), np.nan)
        if (value[ok] > 0).all():
            out[ok] = sign * np.log2(value[ok])
        else:
            out[ok] = sign * value[ok] / max(np.abs(value[ok]).max(), 1e-300)
        return out

    def costs_of(self, run: pandas.DataFrame) -> Floats:
        """Return the costs that `simulate` told of a run, as `costs` has them."""
        if self.is_time or "value" not in run:
            return run["cost_s"].to_numpy(np.float64)
        value = run["value"].to_numpy(np.float64)
        return np.where(np.isnan(value), np.inf, value if self.group.smaller_is_better else -value)

    @cached_property
    def _places(self) -> tuple[list[dict[Any, int]], dict[bytes, int]]:
        """Codes of the values of each parameter, and numbers of the configurations by their codes."""
        levels = [{_key(value): code for code, value in enumerate(level)} for level in self.parameters.levels]
        return levels, {row.tobytes(): k for k, row in enumerate(self.parameters.codes)}

    def find(self, params: Mapping[str, Any]) -> int | None:
        """Return the number of a configuration; None where the log has none with these parameters."""
        names = self.parameters.names
        if len(params) > len(names) or not params.keys() <= set(names):
            return None
        levels, places = self._places
        told = zip(names, levels, strict=True)
        codes = [_code(level, params[name]) if name in params else -1 for name, level in told]
        return None if None in codes else places.get(np.array(codes, self.parameters.codes.dtype).tobytes())

    def has(self, name: str, value: Any) -> bool:
        """Return whether any configuration has this value of a parameter."""
        return _code(self._places[0][self.parameters.names.index(name)], value) is not None


def _no_space() -> UsageError:
    message = "The log has no configurations to choose from"
    return UsageError("usage.no_space", message, ("log",), "simulate on a log of several measured configurations")


def _key(value: Any) -> Any:
    """Return what tells two values apart: 32 and 32.0 are one, "32" is another, lists and tuples are alike."""
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, str | int | float) and plain == plain else (said(plain),)


def _code(level: Mapping[Any, int], value: Any) -> int | None:
    """Return the code of a value of a parameter; None where the parameter does not have it."""
    try:
        return level.get(_key(value))
    except (TypeError, ValueError, RecursionError):  # what no log can have as a value
        return None


def _middle(costs: Floats) -> float:
    ok = costs[np.isfinite(costs)]
    return float(np.median(ok)) if len(ok) else np.inf
