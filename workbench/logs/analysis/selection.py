"""What an analysis looks at: records of one task on one device with one objective, in one unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import is_a, shown
from workbench.errors import UsageError
from workbench.logs.evaluation import SECONDS

if TYPE_CHECKING:
    import pandas

    from workbench.logs.space import SearchSpace
    from workbench.logs.tuning_log import TuningLog

Source: TypeAlias = "TuningLog | pandas.DataFrame"
"""What an analysis is made of: a log, or some rows of its `records`."""

Floats: TypeAlias = NDArray[np.float64]

KEY = ("task", "device", "target", "objective", "unit", "direction", "run")
"""Columns that hold one value in a `Group`: numbers of different groups are never compared as they stand."""

MOST = 20_000
"""Records that a model or a rule is made from; of more, an even sample is taken. Chosen: about 0.3 s."""


@dataclass(frozen=True, eq=False)
class Group:
    """Records whose values can be compared: the same task, device, target, objective, unit, direction and run.

    Attributes
    ----------
    key : mapping
        The columns of `KEY` and their value.
    records : pandas.DataFrame
        The records, in their order.
    label : str
        What tells this group from the others that were selected with it.
    """

    key: Mapping[str, str]
    records: pandas.DataFrame
    label: str = ""

    @property
    def unit(self) -> str:
        """Unit of the values; "" where the log says none."""
        return self.key["unit"]

    @property
    def smaller_is_better(self) -> bool:
        """Whether the objective is minimised."""
        return self.key["direction"] != "max"

    @cached_property
    def value(self) -> Floats:
        """The objective ``[N]``; NaN where the record is not ok."""
        value = self.records["value"].to_numpy(np.float64, na_value=np.nan)
        return np.where((self.records["status"] == "ok").to_numpy() & np.isfinite(value), value, np.nan)

    @cached_property
    def ok(self) -> NDArray[np.bool_]:
        """Whether each record has a value ``[N]``."""
        return np.isfinite(self.value)

    @cached_property
    def cost(self) -> Floats:
        """The value, or its negative where large values are good ``[N]``; NaN where there is none."""
        return self.value if self.smaller_is_better else -self.value

    @property
    def best(self) -> int:
        """Row of the best record; the first of equal ones. Only where `ok` has one."""
        return int(np.nanargmin(self.cost))

    def share(self, value: Floats | float, best: float) -> Floats:
        """How much of the best a value is: 1 at the best, 0.5 at twice the time or half the throughput. NaN where one
        is not positive.
        """
        some = np.asarray(value, np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = best / some if self.smaller_is_better else some / best
            return np.where((some > 0) & (best > 0), share, np.nan)

    def params(self, rows: NDArray[np.intp] | None = None) -> list[Mapping[str, Any]]:
        """Parameters of the records, or of some rows."""
        column = self.records["params"]
        return list(column if rows is None else column.iloc[rows])


def records_of(source: Source, task: str | None = None) -> pandas.DataFrame:
    """Return the records, or those of a task.

    Raises
    ------
    UsageError
        ``usage.task`` for a task that is not there; ``usage.records`` for something else than a log or its records.
    """
    found: Any = getattr(source, "records", source)
    frame: pandas.DataFrame = found
    if not {"params", "status", "value", *KEY} <= set(getattr(frame, "columns", ())):
        hint = "pass what `wb.logs.open` gives, or rows of its `records`"
        raise UsageError("usage.records", f"This is no tuning log: {type(source).__name__}", ("source",), hint)
    if task is None:
        return frame
    mine = frame["task"] == is_a("task", task, str)
    if not mine.any():
        raise UsageError("usage.task", f"The log has no task {shown(task)}", ("task",), "the tasks are in `log.tasks`")
    return frame.loc[mine]


def groups(source: Source, task: str | None = None) -> list[Group]:
    """Return the groups of a log, in the order of their first record; the labels say how they differ."""
    frame = records_of(source, task)
    keys = frame[list(KEY)].drop_duplicates() if len(frame) else frame[list(KEY)]
    differ = [name for name in KEY if keys[name].nunique(dropna=False) > 1]
    if len(keys) <= 1:
        parts = [(tuple(row), frame) for row in keys.itertuples(index=False)]
    else:
        by: Any = frame.groupby(list(KEY), sort=False, observed=True, dropna=False)
        parts = list(by)
    made = []
    for values, part in parts:
        key = {
            name: "" if value != value or value is None else str(value) for name, value in zip(KEY, values, strict=True)
        }
        shown = [key[name] for name in ("task", "device", "run", "objective", "unit", "target") if name in differ]
        made.append(Group(key, part, " · ".join(filter(None, shown)) or key["task"] or key["run"]))
    return made


def one_group(source: Source, task: str | None = None) -> Group:
    """Return the only group that is selected; an empty one where nothing is.

    Raises
    ------
    UsageError
        ``usage.one_task`` where there is more than one.
    """
    found = groups(source, task)
    if len(found) == 1:
        return found[0]
    if not found:
        return Group(dict.fromkeys(KEY, ""), records_of(source, task))
    differ = [name for name in KEY if len({group.key[name] for group in found}) > 1]
    column, values = differ[0], sorted({group.key[differ[0]] for group in found})
    some = ", ".join(map(repr, values[:5])) + (", …" if len(values) > 5 else "")
    hint = f"say `task=`: {some}" if column == "task" else f"select rows of `log.records` by `{column}`: {some}"
    raise UsageError("usage.one_task", f"The records differ in their {', '.join(differ)}", ("source",), hint)


def known_space(source: Source) -> SearchSpace | None:
    """Return the space of a log with one group; None where it is not known, or values of several tasks are in it."""
    if not hasattr(source, "records") or len(groups(source)) > 1:
        return None
    log: Any = source
    space: SearchSpace | None = log.space
    return space


def in_one_unit(found: Sequence[Group]) -> tuple[str, list[float]]:
    """Return a unit for several groups, and the factor that brings the values of each to it.

    Raises
    ------
    UsageError
        ``usage.units`` where the objectives cannot be compared.
    """
    if not found:
        return "", []
    units = list(dict.fromkeys(group.unit for group in found))
    directions = {group.key["direction"] for group in found}
    objectives = {group.key["objective"].lower() for group in found}
    if len(directions) == 1 and len(units) == 1 and (units[0] or len(objectives) == 1):
        return units[0], [1.0] * len(found)
    if len(directions) == 1 and set(units) <= SECONDS.keys():
        return units[0], [SECONDS[group.unit] / SECONDS[units[0]] for group in found]
    told = ", ".join(sorted({f"{g.key['objective']} in {g.unit or 'no unit'} ({g.key['direction']})" for g in found}))
    hint = "open the logs again with `unit=` or `direction=`, if they do not say it"
    raise UsageError("usage.units", f"These values cannot be compared: {told}", ("unit",), hint)


def sample(n: int, most: int, seed: int = 0) -> NDArray[np.intp]:
    """Return rows to look at: all, or `most` of them, drawn evenly and in their order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def noted(frame: pandas.DataFrame, finding: str, **attrs: Any) -> pandas.DataFrame:
    """Put into ``frame.attrs`` what the frame says in one sentence (`finding`), and what else belongs to it."""
    frame.attrs.update(finding=finding, **attrs)
    return frame
