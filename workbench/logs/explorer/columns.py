"""The records of a log as columns of numbers and of ordinals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from workbench.logs.evaluation import SECONDS, STATUSES
from workbench.logs.explorer.scales import Scale, number, of_numbers, of_ordinals
from workbench.markup import clean

if TYPE_CHECKING:
    import pandas

    from workbench.logs.tuning_log import TuningLog

Group = Literal["record", "result", "time", "parameter"]
FEW = 48
"""Different numbers of a parameter that stand on their axis one by one, each at the same distance. Chosen: sizes of
tiles are powers and products, few of which differ; more are an axis of numbers."""

_NUMBERS = ("compile_s", "run_s", "verify_s", "search_s", "spent_s", "predicted", "generation")
MORE, LOOKED_AT, LARGEST = 24, 200, 200_000
"""Counters that become columns at most, records that tell which there are, and records of a log where they do: they are
looked for one by one."""
_WORDS = ("run", "task", "device", "objective", "technique")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of `n` rows.

    Attributes
    ----------
    name : str
        What filters and messages call it.
    group : {"record", "result", "time", "parameter"}
        What it is about.
    values : ndarray of float64, or of int32 where there are labels
        Numbers (NaN: none), or ordinals into `labels` (-1: none).
    labels : tuple of str
        Texts of the ordinals; empty for numbers.
    keys : tuple
        Values of the ordinals, for filters.
    unit : str
        Unit of the numbers, as shown.
    log : bool
        Whether its axis starts as one of factors.
    """

    name: str
    group: Group
    values: npt.NDArray[Any]
    labels: tuple[str, ...] = ()
    keys: tuple[Any, ...] = ()
    unit: str = ""
    log: bool = False
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def discrete(self) -> bool:
        """Whether the values are ordinals."""
        return self.values.dtype.kind == "i"

    @property
    def varies(self) -> bool:
        """Whether there are two different values."""
        if "varies" not in self._cache:
            values = self.values if self.discrete else self.values[np.isfinite(self.values)]
            self._cache["varies"] = bool(len(values)) and bool(values.min() != values.max())
        return bool(self._cache["varies"])

    @property
    def positive(self) -> bool:
        """Whether it can have an axis of factors."""
        return not self.discrete and self.limits[0] > 0

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest finite number; NaN where there is none."""
        if "limits" not in self._cache:
            finite = self.values[np.isfinite(self.values)]
            self._cache["limits"] = (float(finite.min()), float(finite.max())) if len(finite) else (math.nan, math.nan)
        low, high = self._cache["limits"]
        return low, high

    def scale(self, log: bool) -> Scale:
        """Return the scale of its axis."""
        if ("scale", log) not in self._cache:
            made = of_ordinals(self.labels) if self.discrete else of_numbers(*self.limits, log)
            self._cache["scale", log] = made
        found: Scale = self._cache["scale", log]
        return found

    def bins(self, log: bool, most: int = 0) -> npt.NDArray[np.uint16]:
        """Return the bin of each row; rows without a value are in the one after the last."""
        scale, key = self.scale(log), ("bins", log, most)
        if key not in self._cache:
            if self.discrete and len(self.labels) <= scale.bins:
                found = self.values.astype(np.uint16)
                found[self.values < 0] = scale.bins
            else:
                values = self.values.astype(np.float64)
                if self.discrete:
                    values[self.values < 0] = np.nan
                found = scale.bin(values, 0 if self.discrete else most)
            self._cache[key] = found
        bins: npt.NDArray[np.uint16] = self._cache[key]
        return bins

    def between(self, low: float, high: float) -> npt.NDArray[np.bool_]:
        """Return which rows have a value from `low` to `high`, both included."""
        if self.discrete:
            return (self.values >= max(0, low)) & (self.values <= high)
        return (self.values >= low) & (self.values <= high)

    def missing(self) -> npt.NDArray[np.bool_]:
        """Return which rows have no value."""
        return self.values < 0 if self.discrete else ~np.isfinite(self.values)

    def order(self, descending: bool) -> npt.NDArray[np.int32]:
        """Return the rows in the order of their values; equal ones as they come, those without a value last."""
        if ("order", descending) not in self._cache:
            values = self.values.astype(np.float64)
            values[self.missing()] = np.inf
            if descending:
                values = np.where(np.isinf(values), values, -values)
            self._cache["order", descending] = np.argsort(values, kind="stable").astype(np.int32)
        found: npt.NDArray[np.int32] = self._cache["order", descending]
        return found

    def text(self, row: int) -> str:
        """Return the value of a row as shown."""
        value = self.values[row]
        if self.discrete:
            return self.labels[value] if value >= 0 else ""
        return "" if not np.isfinite(value) else number(float(value))

    def taken(self, rows: npt.NDArray[np.int64]) -> Column:
        """Return the column of some rows; ordinals keep the labels that occur."""
        values = self.values[rows]
        if not self.discrete:
            return replace(self, values=values, _cache={})
        here = np.bincount(values[values >= 0], minlength=len(self.labels)) > 0
        new = np.append(np.cumsum(here) - 1, -1).astype(np.int32)
        labels = tuple(label for label, is_here in zip(self.labels, here, strict=True) if is_here)
        keys = tuple(key for key, is_here in zip(self.keys, here, strict=True) if is_here)
        return replace(self, values=new[values], labels=labels, keys=keys, _cache={})

    def range_text(self, low: float, high: float) -> str:
        """Return in words what lies between two places."""
        if not self.discrete:
            unit = f" {self.unit}" if self.unit else ""
            if math.isinf(low) or math.isinf(high):
                either = f"{number(low)} or more" if math.isinf(high) else f"up to {number(high)}"
                return "any value" if math.isinf(low) and math.isinf(high) else f"{either}{unit}"
            return f"{number(low)} to {number(high)}{unit}"
        chosen = [label for k, label in enumerate(self.labels) if low <= k <= high]
        if len(chosen) > 3:
            return f"{chosen[0]} to {chosen[-1]}"
        return ", ".join(chosen) if chosen else "nothing"


@dataclass(frozen=True, slots=True, eq=False)
class Columns(Mapping[str, Column]):
    """All columns of a log, by name.

    Attributes
    ----------
    by_name : dict
    records : ndarray of int64
        Number of each row's record.
    cost : str
        Name of the column that is to be small (or large, see `direction`).
    direction : {"min", "max"}
    group : ndarray of int32
        Which task, device and objective a row is of; costs of one group can be compared.
    groups : int
        How many there are.
    """

    by_name: Mapping[str, Column]
    records: npt.NDArray[np.int64]
    cost: str
    direction: str
    group: npt.NDArray[np.int32]
    groups: int

    def __getitem__(self, name: str) -> Column:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.records)

    @property
    def parameters(self) -> list[Column]:
        """The parameters."""
        return [c for c in self.by_name.values() if c.group == "parameter"]

    def joined_by(self, parameters: Iterable[Column]) -> Columns:
        """Return these columns with those of parameters; one with the name of another column is told from it."""
        own = {name: column for name, column in self.items() if column.group != "parameter"}
        tuned = {f"{c.name}_parameter" if c.name in own else c.name: c for c in parameters}
        return replace(self, by_name={**own, **{name: replace(c, name=name) for name, c in tuned.items()}})

    def of_task(self, task: str) -> Columns:
        """Return the rows of one task, with the columns that say something there and costs in their unit."""
        column = self["task"]
        rows = np.flatnonzero(column.values == column.keys.index(task))
        taken = {name: c.taken(rows) for name, c in self.items()}
        ids, group = np.unique(self.group[rows], return_inverse=True)
        kept = {n: c for n, c in taken.items() if c.group != "parameter" or not c.missing().all()}
        if len(ids) < 2:
            kept.pop("times_best", None)
        cost = "times_best" if len(ids) > 1 and self.cost == "times_best" else "cost"
        direction = "min" if cost == "times_best" else _direction(self, rows)
        return Columns(kept, self.records[rows], cost, direction, group.astype(np.int32), len(ids))


def _direction(columns: Columns, rows: npt.NDArray[np.int64]) -> str:
    found = columns.by_name.get("direction")
    if found is None or not len(rows):
        return columns.direction if columns.cost == "cost" else "min"
    return str(found.keys[found.values[rows[0]]])


def columns_of(log: TuningLog) -> Columns:
    """Return the columns of a log but those of its parameters."""
    records = log.records
    n = len(records)
    group, groups = _groups(records)
    made: dict[str, Column] = {}

    def add(column: Column) -> None:
        made[column.name] = column

    add(Column("record", "record", records["record"].to_numpy(np.float64)))
    for name in _WORDS:
        words = _words(name, records[name])
        if len(words.labels) > 1 or name == "task":
            add(words)
    add(_status(records))
    cost, direction = _cost(records, np.asarray(log.held.to_numpy(np.float64)))
    if groups > 1 and len(set(records["direction"].astype(str))) > 1:
        add(_words("direction", records["direction"]))
    add(cost)
    if groups > 1:
        add(_times_best(cost.values, records, group, groups))
    for name, values in (("elapsed_s", _elapsed(records)), *((n, _floats(records, n)) for n in _NUMBERS)):
        if not np.isnan(values).all():
            add(Column(name, "time", values))
    for counter in _counters(records):
        if counter.name not in made:
            add(counter)
    several = groups > 1
    return Columns(
        made, np.arange(n), "times_best" if several else "cost", "min" if several else direction, group, groups
    )


def _floats(records: pandas.DataFrame, name: str) -> npt.NDArray[np.float64]:
    return np.asarray(records[name].to_numpy(np.float64, na_value=np.nan))


def _elapsed(records: pandas.DataFrame) -> npt.NDArray[np.float64]:
    """Return the seconds since a run began: as told, else since its first time of day."""
    told = _floats(records, "elapsed_s")
    if not np.isnan(told).all():
        return told
    run = records["run"].astype("category").cat.codes.to_numpy(np.int64)
    first = np.full(run.max(initial=-1) + 1, np.inf)
    stamps = _floats(records, "timestamp")
    np.fmin.at(first, run, stamps)
    return stamps - first[run]


def _counters(records: pandas.DataFrame) -> Iterator[Column]:
    """Yield a column for each number that the records tell beside their value."""
    if len(records) > LARGEST:
        return
    names: dict[str, None] = {}
    for extra in records["extra"].iloc[:LOOKED_AT]:
        names |= {k: None for k, v in extra.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    rows = records["extra"].tolist() if names else []
    for name in list(names)[:MORE]:
        found = [row.get(name) for row in rows]
        values = np.array([v if isinstance(v, int | float) else np.nan for v in found], np.float64)
        if not np.isnan(values).all():
            yield Column(name, "time", values)


def _groups(records: pandas.DataFrame) -> tuple[npt.NDArray[np.int32], int]:
    """Number the tasks with their device and objective."""
    group = np.zeros(len(records), np.int64)
    for name in ("task", "device", "target", "objective", "unit", "direction"):
        codes = records[name].astype("category").cat.codes.to_numpy(np.int64) + 1
        group = group * (codes.max(initial=0) + 1) + codes
        _, group = np.unique(group, return_inverse=True)
    return group.astype(np.int32), int(group.max(initial=-1)) + 1


def _words(name: str, series: pandas.Series[Any]) -> Column:
    made = series.astype("category")
    values = made.cat.codes.to_numpy(np.int32)
    there = np.unique(values[values >= 0])
    order = [int(values_first) for values_first in there]
    new = np.full(len(made.cat.categories) + 1, -1, np.int32)
    new[order] = np.arange(len(order))
    keys = tuple(str(made.cat.categories[k]) for k in order)
    return Column(name, "record", new[values], tuple(clean(key) or "(none)" for key in keys), keys)


def _status(records: pandas.DataFrame) -> Column:
    codes = records["status"].cat.codes.to_numpy(np.int32)
    there = [k for k in range(len(STATUSES)) if (codes == k).any()]
    new = np.full(len(STATUSES) + 1, -1, np.int32)
    new[there] = np.arange(len(there))
    names = tuple(list(STATUSES)[k] for k in there)
    return Column("status", "result", new[codes], names, names)


def _cost(records: pandas.DataFrame, held: npt.NDArray[np.float64]) -> tuple[Column, str]:
    """Return what is to be small or large: a time in a unit that fits, or the value with its own unit; as it held."""
    good = (records["status"] == "ok").to_numpy()
    units, directions = set(records["unit"].astype(str)), set(records["direction"].astype(str))
    direction = "max" if directions == {"max"} else "min"
    if units and units <= set(SECONDS):
        values = np.where(good, records["cost_s"].to_numpy(np.float64), np.nan)
        seen = _floats(records, "value")
        other = (held != seen) & (seen > 0.0)
        values[other] *= held[other] / seen[other]
        unit = _fitting(values, units)
        return Column("cost", "result", values / SECONDS[unit], unit=unit, log=True), direction
    values = np.where(good, held, np.nan)
    unit = units.pop() if len(units) == 1 else "each in its unit"
    return Column("cost", "result", values, unit=clean(unit), log=False), direction


def _fitting(seconds: npt.NDArray[np.float64], told: set[str]) -> str:
    """Return the unit that the log uses, where its numbers are easy to read, else the one that fits the best."""
    finite = seconds[np.isfinite(seconds) & (seconds > 0)]
    best = float(finite.min()) if len(finite) else 1e-3
    if len(told) == 1 and 0.01 <= best / SECONDS[next(iter(told))] < 10_000:
        return next(iter(told))
    return next((unit for unit, size in SECONDS.items() if best >= 0.5 * size), "ns")


def _times_best(
    cost: npt.NDArray[np.float64], records: pandas.DataFrame, group: npt.NDArray[np.int32], groups: int
) -> Column:
    """Return how many times as long as the best of its task each takes: what can be compared over tasks."""
    upward = (records["direction"] == "max").to_numpy()
    signed = np.where(np.isfinite(cost), np.where(upward, -cost, cost), np.inf)
    best = np.full(groups, np.inf)
    np.minimum.at(best, group, signed)
    with np.errstate(all="ignore"):
        ratio = np.where(upward, best[group] / signed, signed / best[group])
    ratio[~np.isfinite(cost) | ~np.isfinite(ratio)] = np.nan
    return Column("times_best", "result", ratio, log=True)
