"""What a cost model is, and the table of those that exist."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UsageError
from workbench.tune.machine import Machine

Matrix: TypeAlias = NDArray[np.float32]
Scores: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = Mapping[str, tuple[Matrix, Scores]]


class CostModel(Protocol):
    """What a search needs from a model, and what people ask of it.

    Scores are log2 of arithmetic operations per cycle as far as the model knows: higher is faster, and differences
    mean the same for every task. The same calls in the same order give the same scores.
    """

    @property
    def version(self) -> str:
        """Names the model and everything that its scores depend on, for the log."""

    @property
    def trained(self) -> bool:
        """Whether measurements have changed the scores."""

    @property
    def bias(self) -> float:
        """Score of a candidate that no feature speaks for or against; see `contributions`."""

    def predict(self, x: Matrix) -> Scores:
        """Score feature rows ``[N, F]`` -> ``[N]``."""

    def update(self, task: str, x: Matrix, speed: Scores) -> None:
        """Take measurements of one task: log2 of operations per second, NaN for a failed trial."""

    def warm_start(self, rows: Rows) -> None:
        """Take measurements of other runs: task -> features and speeds as for `update`. They count less than own ones,
        and are compared with each other only, so they may come from another machine.
        """

    def contributions(self, x: Matrix) -> Scores:
        """Say what each feature adds to the scores: ``[N, F]``, whose rows and `bias` sum to `predict`."""

    def prepare(self) -> None:
        """Load in the background what the first `update` will need; returns at once."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON; `load` reads it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of model: how to make one from a seed and a machine, and how to read one back."""

    name: str
    doc: str
    make: Callable[[int, Machine | None], CostModel]
    restore: Callable[[Mapping[str, Any]], CostModel]


#: Kinds of cost models by name, in the order of their declaration.
MODELS: dict[str, Kind] = {}


class _Declared(Protocol):
    @classmethod
    def from_json(cls, data: Mapping[str, Any], /) -> CostModel: ...


_M = TypeVar("_M", bound=type[_Declared])


def cost_model(name: str) -> Callable[[_M], _M]:
    """Declare a class as the cost model of that name.

    It is made by ``cls(seed=..., machine=...)``, and read back by ``cls.from_json(data)`` from what its ``to_json()``
    returned; its docstring's first line is what `MODELS` says about it.
    """

    def register(cls: _M) -> _M:
        doc = (cls.__doc__ or "").strip().splitlines()[0]
        MODELS[name] = Kind(name, doc, partial(_make, cls), cls.from_json)
        return cls

    return register


def _make(cls: Any, seed: int, machine: Machine | None) -> CostModel:
    model: CostModel = cls(seed=seed, machine=machine)
    return model


def make_model(name: str, seed: int = 0, machine: Machine | None = None) -> CostModel:
    """Make a model by name.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    seed : int
    machine : Machine, optional
        What the features were computed for; this machine when left out.

    Raises
    ------
    UsageError
        "usage.model" for a name that is not known.
    """
    if name not in MODELS:
        raise UsageError("usage.model", f"There is no cost model {name!r}.", (name,), f"known: {', '.join(MODELS)}")
    return MODELS[name].make(seed, machine)
