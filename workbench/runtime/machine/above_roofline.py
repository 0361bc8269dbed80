"""Why a kernel is faster than a roof allows: what is known of it, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.ir import Func
from workbench.ir.winograd_weights import WinogradStep
from workbench.markup import percent
from workbench.runtime.results.comparison_words import factor

MARK = "*"
"""Beside a share above 1: a sentence says why."""

NARROW = 4
"""Bytes of a float32, whose multiply-adds are the peak."""


def tile_of(func: Func) -> int | None:
    """Return the outputs of a tile along each dimension where a function is Winograd's algorithm, else None."""
    return next((s.tile for b in func.params for s in b.layout if isinstance(s, WinogradStep)), None)


def tile_in(trace: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the same from the steps of a record."""
    steps = (step.get("args", {}) for step in trace if step.get("primitive") == "winograd")
    return next((m if isinstance(m := args.get("m", 4), int) and m > 0 else None for args in steps), None)


def fewer_products(tile: int | None) -> float:
    """Return how many times fewer multiplications Winograd's algorithm does with such tiles; 1 where there are none."""
    return 9 * tile**2 / (tile + 2) ** 2 if tile else 1.0


def why_above(share: float | None, tile: int | None, dtypes: Iterable[str], threads: int, products: float = 1.0) -> str:
    """Say why a kernel exceeds the peak; empty where it does not.

    Parameters
    ----------
    share : float, optional
        The speed, by the operations that the operator counts, over the peak.
    tile : int, optional
        Outputs of Winograd's tiles along each dimension, where that is the algorithm.
    dtypes : iterable of str
        What its parameters hold.
    threads : int
        Threads that the peak stands for.
    products : float
        Share of the operations that are multiply-adds.
    """
    if share is None or not share > 1.0:
        return ""
    cores = "" if threads == 1 else f" on one core and taken times {threads}"
    rough = f"The peak is an estimate: it was measured{cores}, perhaps at a lower clock or beside other programs"
    if tile:
        fewer = fewer_products(tile)
        less = f"{factor(fewer)}× fewer multiplications than are counted"
        done = f"Winograd's algorithm (tiles of {tile}×{tile}) does {less}"
        return f"{done}; these are {percent(share / fewer)} of the peak" if share <= fewer else f"{done}. {rough}"
    narrow = next((d for d in dtypes if np.dtype(d).itemsize < NARROW and d != "bool"), None)
    if products > 0.0 and products * share <= 1.0:
        beside = (
            f"{percent(1.0 - products)} of the operations that are counted are no multiply-adds and run beside these"
        )
        return f"{beside}, which are {percent(products * share)} of their peak"
    if narrow:
        return f"An instruction takes more numbers of {narrow} than of float32, whose multiply-adds the peak counts"
    return rough


def marked(share: float | None) -> str:
    """A share of a roof: one above 1 has the mark of a sentence that says why."""
    return f"{percent(share)}{MARK if share is not None and share > 1.0 else ''}"
