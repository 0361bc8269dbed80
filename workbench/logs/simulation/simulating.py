"""`simulate`: a search on a complete log, which answers whatever configuration is asked for."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from workbench.arguments import elements, is_a, whole
from workbench.errors import UsageError, did_you_mean
from workbench.logs.analysis.coverage import MOST
from workbench.logs.analysis.selection import Source, known_space, noted
from workbench.logs.simulation.configurations import Configurations
from workbench.logs.simulation.improvement import ImprovementSearch
from workbench.logs.simulation.table_models import make_table_model
from workbench.logs.simulation.table_space import TableSpace
from workbench.search import SEARCHES, Search, SearchOptions

if TYPE_CHECKING:
    import pandas

LARGEST_POOL = 16_384
"""Configurations that a search looks at in each step; a larger space is sampled. Chosen: hundredths of a second."""
EPSILON = 0.02
"""Share of proposals at random: a budget of hundreds is too small for more. Chosen."""
PATIENCE = 1000
"""Calls in a row that ask for nothing new before a user's strategy counts as finished. Chosen."""

Strategy: TypeAlias = "str | Callable[[ParameterSpace, Callable[[Mapping[str, Any]], float], np.random.Generator], Any]"

STRATEGIES: dict[str, type[Search]] = {"improvement": ImprovementSearch, **SEARCHES}
"""Searches that a simulation knows by name."""


class ParameterSpace:
    """What a strategy of one's own sees of a log: the configurations that exist, not what measuring them gives."""

    def __init__(self, configurations: Configurations) -> None:
        self._table = configurations
        self._codes = configurations.parameters.codes

    def __len__(self) -> int:
        return len(self._table)

    @property
    def params(self) -> dict[str, list[Any]]:
        """Name of each parameter -> the values that occur, in their order."""
        parameters = self._table.parameters
        return {name: copy.deepcopy(levels) for name, levels in zip(parameters.names, parameters.levels, strict=True)}

    def __getitem__(self, number: int) -> dict[str, Any]:
        """Return the configuration of a number from 0 to ``len(space) - 1``."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        found = self._table.parameters.at(number)
        return {name: copy.deepcopy(v) if isinstance(v, list | dict) else v for name, v in found.items()}

    def __contains__(self, params: object) -> bool:
        return isinstance(params, Mapping) and self._table.find(params) is not None

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return a configuration drawn at random."""
        return self[int(rng.integers(len(self)))]

    def neighbours(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the configurations that differ in one parameter.

        Raises
        ------
        UsageError
            ``usage.configuration`` for parameters that no configuration has.
        """
        number = self._table.find(params)
        if number is None:
            message = "The log has no configuration with these parameters"
            raise UsageError("usage.configuration", message, (), "`params in space` says whether it has")
        changed = (self._codes != self._codes[number]).sum(axis=1)
        return [self[int(k)] for k in np.flatnonzero(changed == 1)]


def simulate(
    log: Source,
    task: str | None = None,
    strategy: Strategy = "evolutionary",
    budget: int = 200,
    seeds: int | Sequence[int] = 25,
    *,
    model: str = "gaussian_process",
    batch: int = 1,
) -> pandas.DataFrame:
    """Run a search on a complete log: what it asks for is looked up, not measured.

    Parameters
    ----------
    log : TuningLog or DataFrame
        What `wb.logs.open` returned, or rows of its `records`: of one task, device and objective.
    task : str, optional
        Which task, where there are several.
    strategy : str or function
        ``"evolutionary"``, ``"descent"``, ``"random"``, ``"improvement"`` (see `STRATEGIES`), or a function
        ``strategy(space, measure, rng)`` of one's own. ``measure(params)`` returns the cost of a configuration: its
        `cost_s`, or its value (negative where large values are good) where the objective is no time; infinite for one
        that failed or does not exist. The function is ended when the budget is spent.
    budget : int
        Different configurations that are measured. Those that the log does not have cost nothing, and neither does
        asking again.
    seeds : int or sequence of int
        How many runs, or their seeds.
    model : str
        Cost model of the workbench's searches: ``"gaussian_process"``, ``"xgboost"`` or ``"random"``.
    batch : int
        How many configurations a search of the workbench proposes at a time.

    Returns
    -------
    pandas.DataFrame
        A row per evaluation: ``seed``, ``evaluation`` (from 1), ``cost_s`` (infinite where the configuration failed,
        NaN where the objective is no time), ``value`` (in the unit of the log, NaN where it failed), ``record`` (number
        in `TuningLog.records`). ``attrs`` has `strategy`, `unit`, `direction` and `configurations` (how many there
        are).

    Raises
    ------
    UsageError
        ``usage.search``, ``usage.cost_model``, ``usage.number``, ``usage.task``, ``usage.one_task``,
        ``usage.no_space``.

    Examples
    --------
    A strategy of one's own:

    >>> def at_random(space, measure, rng):
    ...     while True:
    ...         measure(space.draw(rng))
    """
    configurations = Configurations.of(log, task)
    budget = min(whole("budget", budget), len(configurations))
    some = elements(seeds)
    numbers = range(whole("seeds", seeds)) if some is None else [whole("seeds", seed, least=0) for seed in some]
    if len(set(numbers)) < len(numbers):
        raise UsageError("usage.number", "seeds has a number twice", ("seeds",), "each run has a seed of its own")
    run = _runner(configurations, strategy, model, whole("batch", batch))
    told = [(seed, run(seed, budget)) for seed in numbers]
    name = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", "own")
    return _frame(configurations, told, name, _of_how_many(log, configurations))


def _runner(
    configurations: Configurations, strategy: Strategy, model: str, batch: int
) -> Callable[[int, int], list[int]]:
    """Return what runs a strategy once, for a seed and a budget."""
    if isinstance(strategy, str):
        if strategy not in STRATEGIES:
            message = f"There is no search strategy {strategy!r}"
            raise UsageError("usage.search", message, ("strategy",), did_you_mean(strategy, STRATEGIES, "strategies"))
        found, space = STRATEGIES[strategy], TableSpace.of(configurations)
        make_table_model(model, 0)  # an unknown name is told before anything runs
        return lambda seed, budget: _search(configurations, space, found, model, batch, seed, budget)
    own: Any = is_a("strategy", strategy, Callable, "a name, or a function (space, measure, rng)")  # type: ignore[arg-type]
    return lambda seed, budget: _Lookup(configurations, budget).run(own, seed)


def _search(
    configurations: Configurations,
    space: TableSpace,
    strategy: type[Search],
    model: str,
    batch: int,
    seed: int,
    budget: int,
) -> list[int]:
    """Run one of the workbench's searches; return the configurations that it measured, in order."""
    options = SearchOptions(pool=LARGEST_POOL, children=64, epsilon=EPSILON)
    task: Any = SimpleNamespace(key="table", flops=1)
    search = strategy(task, space, make_table_model(model, seed), seed, options)  # type: ignore[arg-type]
    milliseconds = np.exp2(-configurations.merits) * 1e-6  # one operation in so many ns has that speed
    measured: list[int] = []
    while len(measured) < budget:
        asked = search.ask(min(batch, budget - len(measured)))
        if not asked:
            break
        told = []
        for candidate in asked:
            place = int(candidate.key, 16) - 1
            ok = math.isfinite(milliseconds[place])
            told.append((candidate, SimpleNamespace(status="ok" if ok else "run_error", ms=float(milliseconds[place]))))
            measured.append(place)
        search.tell(told)
    return measured


class _Spent(BaseException):
    """The budget of a run is spent; no `except Exception` of a strategy stops it."""


@dataclass(eq=False)
class _Lookup:
    """Answers what a strategy of somebody else asks."""

    configurations: Configurations
    budget: int
    measured: dict[int, None] = field(default_factory=dict)  # numbers of configurations, in order
    idle: int = 0  # calls in a row that asked for nothing new

    def run(self, strategy: Callable[..., Any], seed: int) -> list[int]:
        """Run a strategy until its end, or until the budget is spent."""
        with contextlib.suppress(_Spent):
            strategy(ParameterSpace(self.configurations), self.measure, np.random.default_rng(seed))
        return list(self.measured)

    def measure(self, params: Mapping[str, Any]) -> float:
        """Return the cost of a configuration."""
        number = self.configurations.find(is_a("params", params, Mapping, "name of a parameter -> its value"))
        if number is None or number in self.measured:
            self.idle += 1
            if self.idle >= PATIENCE:
                raise _Spent
            return math.inf if number is None else float(self.configurations.costs[number])
        if len(self.measured) >= self.budget:
            raise _Spent
        self.idle = 0
        self.measured[number] = None
        return float(self.configurations.costs[number])


def _of_how_many(log: Source, configurations: Configurations) -> str:
    """Say how much of the space the log has: what it lacks does not exist for a search."""
    space, count = known_space(log), len(configurations)
    if space is not None and space.restrictions is not None and space.combinations <= MOST:
        return f"{count:,} of the {len(space):,} configurations that the space allows"
    combinations = math.prod(map(len, configurations.parameters.levels))
    return f"{count:,} of {combinations:,} combinations of the values that occur"


def _frame(
    configurations: Configurations, told: Sequence[tuple[int, list[int]]], name: str, known: str
) -> pandas.DataFrame:
    import pandas

    places = np.array([k for _, run in told for k in run], np.int64)
    costs = configurations.costs[places]
    seconds = costs if configurations.is_time else np.where(np.isfinite(costs), np.nan, np.inf)
    frame = pandas.DataFrame(
        {
            "seed": [seed for seed, run in told for _ in run],
            "evaluation": [k + 1 for _, run in told for k in range(len(run))],
            "cost_s": seconds,
            "value": configurations.values[places],
            "record": configurations.records[places],
        }
    )
    key = configurations.group.key
    most = max((len(run) for _, run in told), default=0)
    found = f"{name}: {len(told)} runs of up to {most} evaluations. The log has {known}."
    return noted(
        frame,
        found,
        strategy=name,
        unit=key["unit"],
        direction=key["direction"],
        configurations=len(configurations),
    )
