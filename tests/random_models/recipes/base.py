"""Where recipes are kept, and what several of them need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from random_models.draft import Draft

Recipe: TypeAlias = Callable[[Draft, str], Any]
RECIPES: dict[str, Recipe] = {}


def recipe(names: str) -> Callable[[Recipe], Recipe]:
    """Register a function for operators."""

    def wrap(made: Recipe) -> Recipe:
        for name in names.split():
            assert name not in RECIPES, name
            RECIPES[name] = made
        return made

    return wrap


def broadcast(d: Draft, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts with another one: fewer or more dimensions, ones on either side."""
    draw = d.whole(0, 5)
    if draw == 0:
        return shape
    if draw == 1:
        return d.choice((), (1,), (1, 1, 1), (1,) * len(shape))
    dims = [1 if d.flip(0.3) else n for n in shape][d.whole(0, len(shape)) :]
    if draw == 2 and len(shape) < 4:
        return (d.whole(1, 3), *(1 if d.flip(0.3) else n for n in shape))
    return tuple(d.whole(1, 4) if n == 1 and d.flip(0.3) else n for n in dims)


def operand_like(d: Draft, x: str, kind: str = "usual") -> str:
    """An operand of the same type whose shape broadcasts with that of another."""
    return d.tensor(d.dtype_of(x), shape=broadcast(d, d.shape(x)), kind=kind)


def either_way(d: Draft, a: str, b: str) -> tuple[str, str]:
    return (a, b) if d.flip(0.7) else (b, a)


def safe_cast(x: np.ndarray, to: str) -> bool:
    """Whether the standard says what casting gives."""
    kind = np.dtype(to).kind
    if x.dtype.kind != "f" or kind not in "iu":
        return True
    info = np.iinfo(to)
    with np.errstate(all="ignore"):
        inside = np.isfinite(x) & (x.astype("f8") > max(float(info.min), -(2.0**62)) - 0.5)
        return bool((inside & (x.astype("f8") < min(float(info.max), 2.0**62))).all())
