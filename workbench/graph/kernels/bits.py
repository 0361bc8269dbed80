"""Functions of the bits of each element."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np

from workbench.codegen.runtime_kernels.language import Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter

#: Elements that one thread takes at once.
_BLOCK = 4096
_OF_TWO: dict[str, Callable[[Number, Number], Number]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "left": lambda x, by: _moved(x, by, operator.lshift),
    "right": lambda x, by: _moved(x, by, operator.rshift),
}


def _moved(x: Number, by: Number, shift: Callable[[Number, Number], Number]) -> Number:
    """A shift; of all bits and more nothing is left, to the right the sign."""
    last = 8 * np.dtype(x.dtype).itemsize - 1
    inside = (by >= 0) & (by <= last)
    near = shift(x, inside.select(by, last))
    gone = x >> x.code.like(last, x) if shift is operator.rshift and not x.dtype.startswith("u") else x.code.like(0, x)
    return inside.select(near, gone)


def of_bits(k: KernelEmitter, what: str) -> None:
    """Logic or a shift of two integers at each place; "not", or "same" as another type, of one."""
    size, dtype = math.prod(k.shape("out0")), k.dtype("out0")

    def vector(code: Code, at: Number, lanes: int) -> None:
        x = code.array("in0").load(at, lanes)
        if what in _OF_TWO:
            x = _OF_TWO[what](x, code.array("in1").load(at, lanes))
        code.array("out0").store(at, x ^ -1 if what == "not" else x.bits(dtype))

    def block(code: Code, number: Number) -> None:
        code.along(_BLOCK, dtype, lambda at, lanes: vector(code, number * _BLOCK + at, lanes))

    if size >= _BLOCK:
        k.rows(size // _BLOCK, block, _BLOCK)
    first = size // _BLOCK * _BLOCK
    k.once(lambda code: code.along(size - first, dtype, lambda at, lanes: vector(code, at + first, lanes)))
