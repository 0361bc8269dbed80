"""Expressions in TVM's words, for functions of `te.compute`."""

from __future__ import annotations

import functools
from typing import Any

from workbench.te import (
    abs,
    ceil,
    const,
    erf,
    exp,
    floor,
    if_then_else,
    log,
    max,
    min,
    power,
    round,
    rsqrt,
    sigmoid,
    sqrt,
    tanh,
)  # fmt: skip
from workbench.te import logical_and as _both
from workbench.te import logical_or as _either
from workbench.te.index import Cond

__all__ = [
    "Select", "abs", "all", "any", "ceil", "const", "erf", "exp", "floor", "floordiv", "floormod", "if_then_else",
    "indexdiv", "indexmod", "log", "max", "min", "power", "round", "rsqrt", "sigmoid", "sqrt", "tanh", "truncdiv",
    "truncmod",
]  # fmt: skip

Select = if_then_else


def all(*conditions: Any) -> Any:
    """Whether all conditions hold; of indices, what guards loads."""
    bounds = isinstance(conditions[0], Cond)
    return functools.reduce(lambda a, b: a & b if bounds else _both(a, b), conditions)


def any(*conditions: Any) -> Any:
    """Whether one of several conditions holds."""
    return functools.reduce(_either, conditions)


def floordiv(a: Any, b: Any) -> Any:
    """Quotient, rounded down."""
    return a // b


def floormod(a: Any, b: Any) -> Any:
    """What is left of `a` after division by `b`."""
    return a % b


indexdiv = truncdiv = floordiv  # the same for indices, which are not negative
indexmod = truncmod = floormod
