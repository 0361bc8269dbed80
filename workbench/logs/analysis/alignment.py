"""The same configurations in several groups: which record of each group has tried which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import is_a
from workbench.errors import UsageError
from workbench.logs.analysis.parameters import Parameters, combined, said
from workbench.logs.analysis.selection import Floats, Group, Source, groups, in_one_unit


@dataclass(frozen=True, eq=False)
class Alignment:
    """Configurations that occur in any of several groups.

    Attributes
    ----------
    groups : list of Group
        The groups; names of their parameters are compared without regard to upper and lower case.
    unit : str
        Unit of `value`.
    rows : array ``[C, G]``
        Row of the best record of each configuration in each group; -1 where it was not tried there.
    value : array ``[C, G]``
        Its value in `unit`; NaN where it failed or was not tried.
    params : list of dict
        Parameters of each configuration ``[C]``, by the names of the first group that has them.
    only : list of list of str
        Parameters that each group has and another has not; they are not compared.
    """

    groups: list[Group]
    unit: str
    rows: NDArray[np.intp]
    value: Floats
    params: list[dict[str, Any]]
    only: list[list[str]]

    @classmethod
    def of(cls, found: list[Group], renames: Sequence[Mapping[str, str]] = ()) -> Alignment:
        """Match the configurations of groups; `renames` are, per group, names of parameters and what to call them."""
        unit, factors = in_one_unit(found)
        params = [_renamed(g.params(), r) for g, r in zip(found, renames or [{}] * len(found), strict=True)]
        shown = _names(params)
        own = [{name.lower() for one in some for name in one} for some in params]
        shared = [name for name in shown if all(name in names for names in own)]
        if not shared and any(own):
            told = "; ".join(", ".join(sorted(names)[:6]) or "none" for names in own)
            hint = "say `rename=` with names of the second and what the first calls them"
            raise UsageError("usage.parameters", f"No parameter has the same name in both: {told}", ("rename",), hint)
        lower = [{name.lower(): value for name, value in one.items()} for some in params for one in some]
        table = Parameters.of(lower, shared)
        number = combined(table.codes)
        count = int(number.max(initial=-1)) + 1
        rows = np.full((count, len(found)), -1, np.intp)
        value = np.full((count, len(found)), np.nan)
        start = 0
        for k, group in enumerate(found):
            mine = number[start : start + len(group.records)]
            order = np.argsort(np.where(group.ok, group.cost, np.inf), kind="stable")
            first, at = np.unique(mine[order], return_index=True)  # the best record, a failure only where all failed
            rows[first, k] = order[at]
            value[first, k] = factors[k] * group.value[order[at]]
            start += len(group.records)
        _, some_row = np.unique(number, return_index=True)
        each = [{shown[name]: v for name, v in table.at(int(row)).items()} for row in some_row]
        only = [[shown[n] for n in shown if n in names and n not in shared] for names in own]
        return cls(found, unit, rows, value, each, only)

    @property
    def tried(self) -> NDArray[np.bool_]:
        """Which configuration was tried in which group ``[C, G]``."""
        return self.rows >= 0

    @property
    def smaller_is_better(self) -> bool:
        """Whether the objective is minimised."""
        return self.groups[0].smaller_is_better

    def best(self, k: int) -> int | None:
        """Return the configuration that is the best of a group; None where nothing has a value."""
        column = self.value[:, k]
        if not np.isfinite(column).any():
            return None
        return int(np.nanargmin(column) if self.smaller_is_better else np.nanargmax(column))

    def shares(self) -> Floats:
        """Return how much of each group's best each configuration reaches there ``[C, G]``: 0 where it failed."""
        out = np.full(self.value.shape, np.nan)
        for k, group in enumerate(self.groups):
            best = self.best(k)
            if best is not None:
                out[:, k] = group.share(self.value[:, k], float(self.value[best, k]))
        return np.where(self.tried & np.isnan(out), 0.0, out)

    def record(self, configuration: int, k: int) -> int | None:
        """Return the number of the record of a configuration in a group."""
        row = int(self.rows[configuration, k])
        return int(self.groups[k].records["record"].iloc[row]) if row >= 0 else None


def difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Return how two configurations differ: ``tile_x 8 → 16; unroll 0 → 1``."""
    both = dict.fromkeys([*first, *second])
    return "; ".join(
        f"{name} {said(first.get(name, '—'))} → {said(second.get(name, '—'))}"
        for name in both
        if first.get(name) != second.get(name)
    )


def paired(first: Source, second: Source, task: str | None = None) -> list[tuple[Group, Group]]:
    """Return the groups of two logs that are of the same task: by name, or the only ones of each.

    Raises
    ------
    UsageError
        ``usage.task``; ``usage.one_task`` where a log has a task several times.
    """
    sides = [_by_task(source) for source in (first, second)]
    if all(len(side) == 1 for side in sides):
        (a,), (b,) = (side.values() for side in sides)
        return [(a, b)]
    names = [name for name in sides[0] if name in sides[1]]
    if task is not None:
        if task.lower() not in names:
            hint = "both have: " + (", ".join(names[:5]) or "none")
            raise UsageError("usage.task", f"The logs do not share a task {task!r}", ("task",), hint)
        names = [task.lower()]
    return [(sides[0][name], sides[1][name]) for name in names]


def _by_task(source: Source) -> dict[str, Group]:
    out: dict[str, Group] = {}
    for group in groups(source):
        name = group.key["task"].lower()
        if name in out:
            differ = [k for k, v in group.key.items() if v != out[name].key[k]]
            message = f"A log has the task {group.key['task']!r} more than once: their {', '.join(differ)} differ"
            raise UsageError("usage.one_task", message, ("source",), f"select rows of `log.records` by `{differ[0]}`")
        out[name] = group
    return out


def _renamed(params: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    new = is_a("rename", names, Mapping)
    return [{new.get(name, name): value for name, value in one.items()} for one in params]


def _names(params: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, str]:
    """Names of parameters in lower case, and as the first group that has them writes them."""
    shown: dict[str, str] = {}
    for some in params:
        for name in dict.fromkeys(name for one in some for name in one):
            shown.setdefault(name.lower(), name)
    return shown
