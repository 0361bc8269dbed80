"""Letting a function read or write its part of a larger array in place, so that joining arrays costs nothing."""

from __future__ import annotations

from dataclasses import replace

from workbench.ir.func import Func
from workbench.ir.poly import Dim


def widen(func: Func, buffer: str, shape: tuple[int, ...]) -> Func:
    """Let the elements of a parameter lie as far apart as in an array of `shape`.

    The parameter then stands for a part of a larger array, from its own first element on. Nothing else changes: the
    same elements are read and written by the same loops, and what lies between them is left alone.

    Parameters
    ----------
    func : Func
        A scheduled function.
    buffer : str
        An input or output that no packing has touched.
    shape : tuple of int
        At least as long in every dimension.

    Returns
    -------
    Func
    """
    old = func.buffer(buffer)
    assert old.role in ("input", "output"), buffer
    assert not old.layout, buffer
    assert len(shape) == len(old.shape), buffer
    assert all(not isinstance(a, int) or a <= b for a, b in zip(old.shape, shape, strict=True)), buffer
    wide: tuple[Dim, ...] = shape
    return func.with_buffers([replace(old, shape=wide)])
