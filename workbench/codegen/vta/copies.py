"""Copies between memory and the accelerator's memories as rectangles, with zeros around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.codegen.vta.addresses import Inner, by_rows, row_of, value
from workbench.codegen.vta.instructions import Transfer
from workbench.errors import BuildError
from workbench.ir import Bound
from workbench.ir.affine import Affine
from workbench.ir.poly import concrete

Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Copy:
    """A statement that copies.

    Attributes
    ----------
    op : str
        "load" or "store".
    memory : str
        The accelerator's memory.
    tensor : int
    sram, dram : Affine
        Addresses in elements, over loops.
    inside : tuple of Bound
        Where something is copied; zeros are written elsewhere.
    what : str
        The block.
    """

    op: str
    memory: str
    tensor: int
    sram: Affine
    dram: Affine
    inside: tuple[Bound, ...]
    what: str


def transfers(
    copy: Copy, loops: Sequence[Inner], elements: int, first: int, at: Mapping[str, int]
) -> Iterator[Transfer]:
    """Yield the rectangles of a copy.

    Parameters
    ----------
    copy : Copy
    loops : sequence of Inner
        With steps of the accelerator's memory and of memory, in elements, and of what the conditions look at.
    elements : int
        Elements of one row of the accelerator's memory.
    first : int
        Where the buffer begins there, in rows.
    at : mapping
        Values of the loops outside.
    """
    rows = sorted(by_rows(loops, elements, copy.what, copy.memory), key=lambda lp: -lp.moves[0])
    size = [lp.extent for lp in rows]
    sram = first + row_of(value(copy.sram, at), elements, copy.what, copy.memory) + _grid(rows, 0)
    # In a frame of zeros an address may lie before the tensor.
    dram = row_of(value(copy.dram, at), elements, copy.what, copy.memory) + _grid(rows, 1)
    here = np.ones(size, bool)
    for k, b in enumerate(copy.inside):
        form = value(b.form, at) + _grid(rows, k, also=True)
        here &= (form >= concrete(b.lo)) & (form < concrete(b.hi))
    shape = -1, *_rectangle(rows)
    for parts in zip(sram.reshape(shape), dram.reshape(shape), here.reshape(shape), strict=True):
        yield _transfer(copy, *parts)


def _grid(rows: Sequence[Inner], which: int, also: bool = False) -> Numbers:
    """What the loops over rows add to an address, or to another form."""
    total = np.zeros([lp.extent for lp in rows], np.int64)
    for k, lp in enumerate(rows):
        step = lp.also[which] if also else lp.moves[which]
        total += (np.arange(lp.extent) * step).reshape([-1 if d == k else 1 for d in range(len(rows))])
    return total


def _rectangle(rows: Sequence[Inner]) -> tuple[int, int]:
    """Height and width of the rectangles that the innermost loops are."""
    width, k = 1, len(rows)
    while k and rows[k - 1].moves == (width, width):
        k -= 1
        width *= rows[k].extent
    height, stride = 1, rows[k - 1].moves[1] if k else 0
    while k and rows[k - 1].moves == (width * height, stride * height):
        k -= 1
        height *= rows[k].extent
    return height, width


def _transfer(copy: Copy, sram: Numbers, dram: Numbers, here: NDArray[np.bool_]) -> Transfer:
    """One rectangle; its frame is where nothing is copied."""
    (height, width), start = here.shape, int(sram[0, 0])
    stride = int(dram[1, 0] - dram[0, 0]) if height > 1 else width
    y, x = np.flatnonzero(here.any(1)), np.flatnonzero(here.any(0))
    if not y.size:
        return Transfer(copy.op, copy.memory, start, copy.tensor, 0, 0, 0, stride, (height, 0, width, 0))
    if not here[y[0] : y[-1] + 1, x[0] : x[-1] + 1].all():
        raise BuildError(
            "vta.copy", f"What {copy.what!r} copies is no rectangle.", (copy.what,), "a frame of zeros around it is one"
        )
    pad = int(y[0]), int(height - 1 - y[-1]), int(x[0]), int(width - 1 - x[-1])
    at = int(dram[y[0], x[0]])
    return Transfer(copy.op, copy.memory, start, copy.tensor, at, len(y), len(x), stride, pad)
