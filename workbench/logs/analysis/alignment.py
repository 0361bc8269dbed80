"""The same configurations in several groups: which record of each group has tried which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import is_a, shown
from workbench.errors import UsageError
from workbench.logs.analysis.parameters import Parameters, combined, said
from workbench.logs.analysis.selection import Floats, Group, Source, groups, in_one_unit, records_of


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
        spelt = _names(params)
        own = [{name.lower() for one in some for name in one} for some in params]
        shared = [name for name in spelt if all(name in names for names in own)]
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
        each = [{spelt[name]: v for name, v in table.at(int(row)).items()} for row in some_row]
        only = [[spelt[n] for n in spelt if n in names and n not in shared] for names in own]
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


@dataclass(frozen=True, eq=False)
class Pairs:
    """Groups of two logs that are of the same task, and those that have none in the other log.

    Attributes
    ----------
    common : list of (Group, Group)
    alone : list of list of Group
    """

    common: list[tuple[Group, Group]]
    alone: list[list[Group]]


def paired(first: Source, second: Source, task: str | None = None, tasks: Mapping[str, str] | None = None) -> Pairs:
    """Match the groups of two logs: the only ones of each, else by their task, and where a log has a task several times
    by device, target and objective, too.

    Parameters
    ----------
    task : str, optional
        This task only.
    tasks : mapping, optional
        Names of tasks in the second, and what the first calls them.

    Raises
    ------
    UsageError
        ``usage.task``; ``usage.one_task`` where a log has a task several times and nothing of these tells them apart.
    """
    sides = [groups(first), groups(with_tasks(second, tasks))]
    if all(len(side) == 1 for side in sides):
        return Pairs([(sides[0][0], sides[1][0])], [[], []])
    by_task = [_by(side, ("task",)) for side in sides]
    if task is not None and not all((task.lower(),) in side for side in by_task):
        shared = [side[0].key["task"] for name, side in by_task[0].items() if name in by_task[1]]
        hint = "both have: " + (", ".join(shared[:5]) or "none")
        raise UsageError("usage.task", f"The logs do not share a task {shown(task)}", ("task",), hint)
    found = Pairs([], [[], []])
    for name in dict.fromkeys([*by_task[0], *by_task[1]]):
        if task is not None and name != (task.lower(),):
            continue
        here = [side.get(name, []) for side in by_task]
        if all(len(part) == 1 for part in here):
            found.common.append((here[0][0], here[1][0]))
            continue
        apart = [_by(part, ("device", "target", "objective")) for part in here]
        for key in dict.fromkeys([*apart[0], *apart[1]]):
            if all(key in part for part in apart):
                found.common.append((_only(apart[0][key]), _only(apart[1][key])))
            else:
                found.alone[key not in apart[0]] += [g for part in apart for g in part.get(key, ())]
    return found


def _by(found: Sequence[Group], names: Sequence[str]) -> dict[tuple[str, ...], list[Group]]:
    out: dict[tuple[str, ...], list[Group]] = {}
    for group in found:
        out.setdefault(tuple(group.key[name].lower() for name in names), []).append(group)
    return out


def _only(found: Sequence[Group]) -> Group:
    if len(found) > 1:
        differ = [k for k, v in found[0].key.items() if v != found[1].key[k]]
        message = f"A log has the task {shown(found[0].key['task'])} more than once: their {', '.join(differ)} differ"
        raise UsageError("usage.one_task", message, ("source",), f"select rows of `log.records` by `{differ[0]}`")
    return found[0]


def with_tasks(source: Source, tasks: Mapping[str, str] | None) -> Source:
    """Return the records with other names of tasks, or what was given where there are none.

    Raises
    ------
    UsageError
        ``usage.task`` for a task that is not there.
    """
    if tasks is None:
        return source
    records = records_of(source)
    named, had = records["task"].astype(object), set(records["task"])
    for name, new in is_a("tasks", tasks, Mapping).items():
        is_a("tasks", new, str)
        if name not in had:
            raise UsageError("usage.task", f"The log has no task {shown(name)}", ("tasks",), "they are in `log.tasks`")
    return records.assign(task=named.replace(dict(tasks)).astype("category"))


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
