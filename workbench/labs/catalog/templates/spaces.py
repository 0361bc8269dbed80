"""Spaces of a student's template, and their configurations with what each one loads; nothing is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import TemplateError
from workbench.labs.counting import Counts, count
from workbench.labs.exercise import Setting
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.space import Space
from workbench.space.template import Knobs, Template
from workbench.space.template.patterns import PATTERNS
from workbench.space.variant import Variant
from workbench.workloads import matmul

if TYPE_CHECKING:
    import pandas

#: Rows, columns and depth of the product; divisible by 3, so that powers of two are not all.
SIZES = {"n": (384, 576, 768)}
#: Another size, to which a configuration is carried.
OTHER = 400
#: Registers that are left for what is loaded.
SPARE = 4
#: Configurations that are looked at.
MOST = 3000


@dataclass(frozen=True, slots=True)
class Configuration:
    """One configuration of a space.

    Attributes
    ----------
    variant : int
    values : dict
        Knob -> value.
    schedule : Schedule
        Without open numbers.
    counts : Counts
        What it loads and keeps.
    """

    variant: int
    values: dict[str, Any]
    schedule: Schedule
    counts: Counts

    @property
    def tile(self) -> tuple[int, int]:
        """Innermost factors of tile_i and tile_j: rows and columns."""
        return self.values["tile_i"][-1], self.values["tile_j"][-1]


def space_of(function: Callable[..., Any], n: int, target: Any) -> Space:
    """Return the space that a template's function makes of a product of n x n matrices."""
    name = getattr(function, "__name__", "yours")
    template: Any = Template(name, "", function, PATTERNS["matmul"])  # type: ignore[arg-type]
    machine = Machine.of(target)
    try:
        found = template.expand(matmul(n, n, n), target, machine)
    except TemplateError as error:
        if error.code == "template.failed" and error.__cause__ is not None:
            raise error.__cause__ from None  # the function's own, such as NotImplementedError
        raise
    drafts = enumerate(found.drafts)
    variants = tuple(Variant(k, d.schedule, machine, limits=d.limits, wishes=d.wishes) for k, d in drafts)
    return Space(name, variants, _knobs=Knobs.of(name, found))


def allowed(space: Space) -> int:
    """Return how many configurations the limits leave."""
    return sum(len(_rows(v)) for v in space.variants)


def configurations(space: Space, lanes: int) -> Iterator[Configuration]:
    """Yield the configurations that the limits leave; ValueError where they are more than 3,000."""
    many = allowed(space)
    if many > MOST:
        raise ValueError(f"the space has {many:,} configurations, and at most {MOST:,} are looked at here")
    for v in space.variants:
        for picks in _rows(v):
            row = v.sampler.row(picks) if picks.size else {}
            schedule = v.schedule.fill(row) if row else v.schedule
            yield Configuration(v.index, space.knobs().values(v.index, row), schedule, count(schedule.func, lanes))


def _rows(variant: Variant) -> Any:
    return variant.sampler.draw(2 * variant.sampler.size, np.random.default_rng(0))


def best(space: Space, lanes: int) -> Configuration:
    """Return the configuration with the most multiply-adds per load; of equal ones that with the most rows."""
    return max(configurations(space, lanes), key=lambda c: (round(c.counts.adds_per_load, 9), c.counts.rows))


def table(space: Space, target: Any) -> pandas.DataFrame:
    """Return a row per configuration: its knobs, vector registers for C, multiply-adds per load."""
    import pandas as pd

    rows = [
        {
            "variant": c.variant,
            **c.values,
            "registers": c.counts.accumulators,
            "adds per load": round(c.counts.adds_per_load, 3),
        }
        for c in configurations(space, target.lanes("float32"))
    ]
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------------ oracles


@cache
def divisors(n: int) -> list[int]:
    """Return what divides n."""
    return [d for d in range(1, n + 1) if n % d == 0]


def room(at: Setting) -> int:
    """Return the vectors that a tile may have."""
    return at.registers - SPARE


def tiles(n: int, at: Setting, most: int | None = None) -> set[tuple[int, int]]:
    """Return all tiles (rows, columns) of whole vectors that fit the registers; `most` is another limit, in vectors."""
    lanes, limit = at.lanes, (room(at) if most is None else most) * at.lanes
    return {(i, j) for j in divisors(n) if j % lanes == 0 for i in divisors(n) if i * j <= limit}


def adds_per_load(tile: tuple[int, int], lanes: int) -> float:
    """Return the vector multiply-adds per load of a tile in registers."""
    rows, vectors = tile[0], tile[1] // lanes
    return rows * vectors / (rows + vectors)


def best_tile(n: int, at: Setting) -> tuple[int, int]:
    """Return the tile with the most multiply-adds per load; of equal ones that with the most rows."""
    lanes = at.lanes
    return max(tiles(n, at), key=lambda t: (round(adds_per_load(t, lanes), 9), t[0]))
