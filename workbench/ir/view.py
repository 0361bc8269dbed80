"""Letting a function write (or read) its part of a larger array in place, so that joining arrays costs nothing."""

from __future__ import annotations

from dataclasses import replace

from .affine import Affine
from .expr import Load
from .func import Func
from .poly import Dim
from .stmt import Block, Stmt, map_block_loads, rewrite


def widen(func: Func, buffer: str, axis: int, extent: int, offset: int) -> Func:
    """Make `buffer` the part ``[offset, offset + its extent)`` along `axis` of an array with `extent` elements there.

    Parameters
    ----------
    func : Func
        A scheduled function; its loops stay as they are.
    buffer : str
        An input or output that no packing has touched.
    axis, extent, offset : int
        Where the part lies in the larger array.

    Returns
    -------
    Func
        The same computation on the larger array; elements outside of the part are neither read nor written.
    """
    old = func.buffer(buffer)
    assert old.role in ("input", "output"), buffer
    assert not old.layout, buffer

    def shift(index: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return tuple(x + offset if d == axis else x for d, x in enumerate(index))

    def load(ld: Load) -> Load:
        return Load(buffer, shift(ld.index)) if ld.buffer == buffer else ld

    def fn(s: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(s, Block):
            return None
        own = shift(s.index) if s.buffer == buffer else s.index
        return (replace(map_block_loads(s, load), index=own),)

    shape: list[Dim] = list(old.shape)
    shape[axis] = extent
    return replace(func.with_buffers([replace(old, shape=tuple(shape))]), body=rewrite(func.body, fn))
