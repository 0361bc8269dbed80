"""What a cost model is, and the table of those that exist."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import whole
from workbench.machine_model.machine_parameters import Machine
from workbench.registry import Registry

Matrix: TypeAlias = NDArray[np.float32]
Scores: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
_M = TypeVar("_M", bound=Any)
Rows: TypeAlias = Mapping[str, tuple[Matrix, Scores]]


class Scorer(Protocol):
    """What a search needs from a model.

    One that knows how unsure it is may also have ``hope(x)``, ``[N, F]`` -> ``[N]``: what a row is worth measuring for,
    in the place of its score, for searches that measure few rows at a time.
    """

    @property
    def version(self) -> str:
        """Names the model and everything that its scores depend on, for the log."""

    def predict(self, x: Matrix) -> Scores:
        """Score feature rows ``[N, F]`` -> ``[N]``."""

    def update(self, task: str, x: Matrix, speed: Scores) -> None:
        """Take measurements of one task: log2 of operations per second, NaN for a failed trial."""

    def seen(self, x: Matrix) -> Flags:
        """Say of feature rows ``[N, F]`` which of them `warm_start` took ``[N]``: their predictions prove nothing."""


class CostModel(Scorer, Protocol):
    """What a search needs from a model, and what people ask of it.

    Scores are log2 of arithmetic operations per cycle as far as the model knows: higher is faster, and differences
    mean the same for every task. The same calls in the same order give the same scores. The searches of a session share
    a model, and a display may ask it while they do.
    """

    @property
    def kind(self) -> str:
        """The name that it was declared by."""

    @property
    def trained(self) -> bool:
        """Whether measurements have changed the scores."""

    @property
    def bias(self) -> float:
        """Score of a candidate that no feature speaks for or against; see `contributions`."""

    def warm_start(self, rows: Rows) -> None:
        """Take measurements of other runs: task -> features and speeds as for `update`. They count less than own ones,
        and are compared with each other only, so they may come from another machine.
        """

    def measured(self) -> Rows:
        """Return all measurements that were taken, as the `warm_start` of another model takes them."""

    def contributions(self, x: Matrix) -> Scores:
        """Say what each feature adds to the scores: ``[N, F]``, whose rows and `bias` sum to `predict`."""

    def prepare(self) -> None:
        """Load in the background what the first `update` will need; returns at once."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON; `load` reads it."""


class DeclaredModel(Protocol):
    """The class of a cost model."""

    def __call__(self, *, seed: int, machine: Machine | None) -> CostModel:
        """Make one from a seed and a machine."""

    def from_json(self, data: Mapping[str, Any], /) -> CostModel:
        """Read one back from what its ``to_json()`` returned."""


#: Cost models by name, in the order of their declaration.
MODELS: Registry[DeclaredModel] = Registry("cost model", "cost models", "usage.cost_model")


def cost_model(name: str) -> Callable[[_M], _M]:
    """Declare a class as the cost model of that name.

    It is made by ``cls(seed=..., machine=...)``, and read back by ``cls.from_json(data)`` from what its ``to_json()``
    returned; its docstring's first line says what it is, and its ``kind`` becomes `name`.
    """

    def register(cls: _M) -> _M:
        MODELS[name] = cls
        setattr(cls, "kind", name)  # noqa: B010  # else a class made from another one would be saved as that
        return cls

    return register


def seed_of(seed: int) -> int:
    """Seed as the generators of random numbers take it: any whole number, also a negative one, is one of 2**31."""
    return whole("seed", seed, least=None) & 0x7FFFFFFF
