"""Uses of operators: what each is given, and in which opsets it means the same."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RNG = np.random.default_rng(7)


@dataclass(frozen=True)
class Use:
    """One use of an operator: arrays (None = absent), attributes, opsets, constant inputs, number of outputs."""

    inputs: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    opsets: tuple[int, ...] = (18,)
    const: tuple[int, ...] = ()
    outputs: int = 1


def use(*inputs: Any, opsets: Sequence[int] = (18,), const: Sequence[int] = (), outputs: int = 1, **attrs: Any) -> Use:
    """A use whose attributes are given as keywords."""
    return Use(inputs, attrs, tuple(opsets), tuple(const), outputs)


def f(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Floats between two numbers."""
    return RNG.uniform(low, high, shape).astype(np.float32)


def whole(*shape: int, low: int = -9, high: int = 10, dtype: Any = np.int64) -> np.ndarray:
    """Integers from `low` up to below `high`."""
    return RNG.integers(low, high, shape).astype(dtype)


def v(*values: Any, dtype: Any = np.int64) -> np.ndarray:
    """A vector."""
    return np.array(values, dtype)


def n(value: Any, dtype: Any = np.int64) -> np.ndarray:
    """A scalar."""
    return np.array(value, dtype)


def grid(**choices: Sequence[Any]) -> list[dict[str, Any]]:
    """All combinations of attributes; None leaves one out."""
    rows = itertools.product(*choices.values())
    return [{k: x for k, x in zip(choices, row, strict=True) if x is not None} for row in rows]


HARD = v(0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -3.5, 30.0, -30.0, np.inf, -np.inf, np.nan, dtype=np.float32)
NONE = np.zeros((0, 3), np.float32)
ONE = n(0.7, np.float32)
