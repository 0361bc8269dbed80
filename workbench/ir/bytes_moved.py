"""How many bytes a computation has to move at least."""

from __future__ import annotations

import math

import numpy as np

from workbench.ir.func import Func
from workbench.ir.poly import concrete
from workbench.ir.stmt import Block, blocks


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


def vector_reads(func: Func) -> dict[str, int]:
    """Input -> how many elements of a result each of its vectors goes into, in an unscheduled, concrete function.

    A vector lies along the last axis of the result, as the second operand of a matrix product has them. Inputs without
    such vectors, or outside of reductions, are not listed.
    """
    inputs = {b.name for b in func.params if b.role == "input"}
    uses: dict[str, int] = {}
    for block, _ in blocks(func.body):
        axes = {a.name: concrete(a.extent) for a in block.iters if a.kind == "S"}
        last = block.index[-1].vars if block.index and len(axes) < len(block.iters) else set[str]()
        for ld in block.loads():
            if ld.buffer in inputs and ld.index and ld.index[-1].vars & last:
                used = set[str]().union(*(form.vars for form in ld.index))
                count = math.prod(n for name, n in axes.items() if name not in used)
                uses[ld.buffer] = max(uses.get(ld.buffer, 0), count)
    return uses


def _elements(block: Block) -> dict[str, int]:
    """Buffer -> elements that a block touches at most, as if different accesses never met."""
    extents = {axis.name: concrete(axis.extent) for axis in block.iters}
    touched: dict[str, int] = {}
    for buffer, index in {(ld.buffer, ld.index) for ld in block.loads()} | {(block.buffer, block.index)}:
        names = {digit.var for form in index for digit, _ in form.terms}
        # An index that is read at run time may follow any of the axes.
        axes = names if names <= extents.keys() else extents.keys()
        touched[buffer] = touched.get(buffer, 0) + math.prod(extents[a] for a in axes)
    return touched
