"""How many bytes a computation has to move at least."""

from __future__ import annotations

import math

import numpy as np

from .func import Func
from .poly import concrete
from .stmt import Block, blocks


def least_traffic(func: Func) -> int:
    """Bytes that one call of an unscheduled, concrete function reads and writes when every element is moved once.

    Inputs, constants and outputs count, temporaries do not. Of a buffer of which only a part is touched (a strided
    convolution, a slice, rows of a table) that part counts, as far as the axes of the indices tell it.
    """
    touched = {b.name: 0 for b in func.params}
    for block, _ in blocks(func.body):
        for buffer, elements in _elements(block).items():
            if buffer in touched:
                touched[buffer] += elements
    return sum(
        min(touched[b.name], math.prod(map(concrete, b.shape))) * np.dtype(b.dtype).itemsize for b in func.params
    )


def _elements(block: Block) -> dict[str, int]:
    """Buffer -> elements that a block touches at most, as if different accesses never met."""
    extents = {axis.name: concrete(axis.extent) for axis in block.iters}
    found: dict[str, int] = {}
    for buffer, index in {(ld.buffer, ld.index) for ld in block.loads()} | {(block.buffer, block.index)}:
        names = {digit.var for form in index for digit, _ in form.terms}
        # An index that is read at run time may follow any of the axes.
        axes = names if names <= extents.keys() else extents.keys()
        found[buffer] = found.get(buffer, 0) + math.prod(extents[a] for a in axes)
    return found
