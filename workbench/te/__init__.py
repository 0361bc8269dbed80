"""Tensor expressions: say what to compute, get a loop nest.

>>> from workbench import te
>>> a, b = te.placeholder((64, 32), name="A"), te.placeholder((32, 16), name="B")
>>> k = te.reduce_axis(32, "k")
>>> c = te.compute((64, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
>>> print(te.func(c))  # doctest: +SKIP

Indices are affine in the axes, with ``//`` and ``%`` by constants on single axes, or integers that are read or computed
at run time: ``table[ids[i], j]``. Every `compute` becomes one block;
its loops are called after the parameters of the function where that name is still free, else ``stage_axis``.
"""

from __future__ import annotations

from workbench.te.expression import (
    cast,
    compute,
    concat,
    const,
    func,
    max,
    min,
    placeholder,
    prod,
    reduce_axis,
    select,
    sum,
)
from workbench.te.index import Axis, Cond
from workbench.te.math import (
    abs,
    ceil,
    elu,
    equal,
    erf,
    exp,
    floor,
    gelu,
    hard_sigmoid,
    hard_swish,
    leaky_relu,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    mish,
    not_equal,
    power,
    relu,
    round,
    rsqrt,
    sigmoid,
    silu,
    softplus,
    sqrt,
    tanh,
)
from workbench.te.tvm_words import comm_reducer, create_schedule, if_then_else, size_var, thread_axis, var
from workbench.te.value import Reduction, Tensor, Value

__all__ = [
    "Axis",
    "Cond",
    "Reduction",
    "Tensor",
    "Value",
    "abs",
    "cast",
    "ceil",
    "comm_reducer",
    "compute",
    "concat",
    "const",
    "create_schedule",
    "elu",
    "equal",
    "erf",
    "exp",
    "floor",
    "func",
    "gelu",
    "hard_sigmoid",
    "hard_swish",
    "if_then_else",
    "leaky_relu",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "max",
    "maximum",
    "min",
    "minimum",
    "mish",
    "not_equal",
    "placeholder",
    "power",
    "prod",
    "reduce_axis",
    "relu",
    "round",
    "rsqrt",
    "select",
    "sigmoid",
    "silu",
    "size_var",
    "softplus",
    "sqrt",
    "sum",
    "tanh",
    "thread_axis",
    "var",
]
