"""The configurations of a log as a space that the workbench's own searches run over.

A row is one code per parameter. Legal rows are the configurations of the log: what else the parameters could be was
ruled out by restrictions, or was never measured, so asking for it costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.cost_model import Matrix
from workbench.logs.analysis.parameters import Features
from workbench.logs.simulation.configurations import Configurations
from workbench.machine_model.features import COLUMNS
from workbench.schedule.hole_domain import Domain, Group
from workbench.space.program_keys import Keys
from workbench.space.sampling import Picks, Sampler

ABSENT = -0.5
"""Coordinate of a parameter that a configuration does not have; the others are from 0 to 1."""

MOST_TEXTS = 64
"""Values of a text that have a column each; of more, as of names that are never the same, the column is their rank."""


@dataclass(frozen=True, slots=True)
class TableSampler(Sampler):
    """Draws rows of a table ``[N, P]``; only those that are in it are legal."""

    table: NDArray[np.int64]
    places: Mapping[bytes, int]

    @staticmethod
    def over(rows: NDArray[np.int64], names: Sequence[str]) -> TableSampler:
        """Make one of codes ``[N, P]``, from 0."""
        groups = tuple(
            Group((name,), np.arange(int(column.max()) + 1, dtype=np.int64)[:, None], None)
            for name, column in zip(names, rows.T, strict=True)
        )
        places = {row.tobytes(): k for k, row in enumerate(rows)}
        return TableSampler(Domain(tuple(names), groups, ()), rows, places)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.table)

    def numbers(self, picks: Picks) -> NDArray[np.int64]:
        """Numbers of rows in the table ``[N]``; -1 for those that are not in it."""
        rows = np.ascontiguousarray(picks, np.int64)
        return np.array([self.places.get(row.tobytes(), -1) for row in rows], np.int64)

    def mask(self, picks: Picks) -> NDArray[np.bool_]:
        """Which rows are in the table."""
        return self.numbers(picks) >= 0

    def draw(self, n: int, rng: np.random.Generator) -> Picks:
        """Draw rows without replacement; all of them, in order, where there are no more."""
        table = self.table
        return table if len(table) <= n else table[np.sort(rng.choice(len(table), n, replace=False))]

    def legal_share(self, probes: int, rng: np.random.Generator) -> float:
        """All rows of the table are legal."""
        return 1.0


@dataclass(eq=False)
class TableVariant:
    """The one variant of such a space, with the interface of `workbench.space.variant.Variant`."""

    sampler: TableSampler
    x: Matrix
    index: int = 0
    origin: str = "table"
    label: str = "parameters"

    @property
    def feature_count(self) -> int:
        """Columns of `features`."""
        return int(self.x.shape[1])

    def features(self, picks: Picks) -> Matrix:
        """Coordinates ``[N, F]`` of rows, from 0 to 1."""
        if picks is self.sampler.table:
            return self.x
        return self.x[self.sampler.numbers(picks)]

    def keys(self, picks: Picks) -> Keys:
        """Numbers of rows, from 1: 0 is nobody's key."""
        return (self.sampler.numbers(picks) + 1).astype(np.uint64)


@dataclass(eq=False)
class TableSpace:
    """A space with the interface that searches ask for."""

    id: str
    variants: tuple[TableVariant, ...]

    @staticmethod
    def of(configurations: Configurations) -> TableSpace:
        """Make one; parameters with a single value are left out."""
        parameters = configurations.parameters
        varying = parameters.varying
        codes = parameters.codes[:, varying].astype(np.int64)
        codes += (codes.min(axis=0) < 0)[None]  # a parameter that some do not have has one more level
        sampler = TableSampler.over(np.ascontiguousarray(codes), [parameters.names[k] for k in varying])
        return TableSpace("parameters", (TableVariant(sampler, coordinates(parameters.features)),))


def coordinates(features: Features) -> Matrix:
    """Return parameters as coordinates from 0 to 1 ``[N, F]``: the rank of a number among the values that occur.

    Tile sizes double and block sizes grow by steps; ranks suit both. Text is a column for each of its values, if there
    are at most `MOST_TEXTS`.
    """
    columns: list[NDArray[np.float64]] = []
    for k, categorical in enumerate(features.categorical):
        codes = features.codes[:, k]
        if categorical and 2 < len(features.levels[k]) <= MOST_TEXTS:
            columns += [np.where(codes == c, np.sqrt(0.5), 0.0) for c in range(len(features.levels[k]))]
        else:
            columns.append(np.where(codes < 0, ABSENT, codes / max(1, int(codes.max()))))
    out = np.stack(columns, axis=1) if columns else np.zeros((len(features.x), 1))
    if out.shape[1] == len(COLUMNS):  # a matrix of this width would be taken for features of programs
        out = np.hstack([out, np.zeros((len(out), 1))])
    return np.ascontiguousarray(out, np.float32)
