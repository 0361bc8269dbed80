"""What is done to the rows, columns and elements of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench import te
from workbench.errors import ExpressionError
from workbench.ir import Func
from workbench.workloads.stages import checked, relu_of


@checked
def softmax(m: int, n: int) -> Func:
    """Softmax of each row of ``X[m, n]`` (stages ``largest``, ``exps``, ``total``, ``inverse``, ``softmax``)."""
    x = te.placeholder((m, n), name="X")
    r, q = te.reduce_axis(n, "k"), te.reduce_axis(n, "k")
    largest = te.compute((m,), lambda i: te.max(x[i, r], axis=r), name="largest")
    exps = te.compute((m, n), lambda i, j: te.exp(x[i, j] - largest[i]), name="exps")
    total = te.compute((m,), lambda i: te.sum(exps[i, q], axis=q), name="total")
    inverse = te.compute((m,), lambda i: 1.0 / total[i], name="inverse")
    return te.func(te.compute((m, n), lambda i, j: exps[i, j] * inverse[i], name="softmax"), "softmax")


@checked
def layer_norm(m: int, n: int, epsilon: float = 1e-5) -> Func:
    """Normalise each row of ``X[m, n]``, scale by ``G``, shift by ``B``.

    Stages: ``total``, ``mean``, ``square`` (of the deviations, summed up), ``scale`` (one over their root), ``norm``.
    """
    x = te.placeholder((m, n), name="X")
    g, b = te.placeholder((n,), name="G", constant=True), te.placeholder((n,), name="B", constant=True)
    r, q = te.reduce_axis(n, "k"), te.reduce_axis(n, "k")
    total = te.compute((m,), lambda i: te.sum(x[i, r], axis=r), name="total")
    mean = te.compute((m,), lambda i: total[i] * (1.0 / n), name="mean")
    square = te.compute((m,), lambda i: te.sum((x[i, q] - mean[i]) * (x[i, q] - mean[i]), axis=q), name="square")
    scale = te.compute((m,), lambda i: te.rsqrt(square[i] * (1.0 / n) + epsilon), name="scale")
    norm = te.compute((m, n), lambda i, j: (x[i, j] - mean[i]) * scale[i] * g[j] + b[j], name="norm")
    return te.func(norm, "layer_norm")


@checked
def reduce(m: int, n: int, op: str = "sum", axis: int = 1) -> Func:
    """Reduce ``X[m, n]`` along `axis` by "sum", "max", "min" or "prod" (stage ``Y``)."""
    ops: dict[str, Callable[..., Any]] = {"sum": te.sum, "prod": te.prod, "max": te.max, "min": te.min}
    if op not in ops:
        raise ExpressionError("te.value", f"There is no reduction {op!r}.", (), f"one of: {', '.join(ops)}")
    if axis not in (0, 1):
        raise ExpressionError("te.value", f"A matrix has no axis {axis!r}.", (), "one of: 0, 1")
    x, r = te.placeholder((m, n), name="X"), te.reduce_axis((m, n)[axis], "k")
    return te.func(
        te.compute(((m, n)[1 - axis],), lambda i: ops[op](x[i, r] if axis == 1 else x[r, i], axis=r), name="Y"),
        f"reduce_{op}",
    )


@checked
def transpose(m: int, n: int) -> Func:
    """``Y[j, i] = X[i, j]``."""
    x = te.placeholder((m, n), name="X")
    return te.func(te.compute((n, m), lambda j, i: x[i, j], name="Y"), "transpose")


@checked
def elementwise(m: int, n: int) -> Func:
    """A chain over ``X[m, n]`` and ``Z[m, n]`` (stages ``scale``, ``tanh``, ``add``, ``relu``)."""
    x, z = te.placeholder((m, n), name="X"), te.placeholder((m, n), name="Z")
    scaled = te.compute((m, n), lambda i, j: x[i, j] * 0.5 + 1.0, name="scale")
    curved = te.compute((m, n), lambda i, j: te.tanh(scaled[i, j]), name="tanh")
    added = te.compute((m, n), lambda i, j: curved[i, j] + z[i, j], name="add")
    return te.func(te.compute((m, n), lambda i, j: te.maximum(added[i, j], 0.0), name="relu"), "elementwise")


@checked
def gelu(m: int, n: int) -> Func:
    """``X * (1 + erf(X / sqrt(2))) / 2`` of ``X[m, n]`` (stage ``gelu``)."""
    x = te.placeholder((m, n), name="X")
    y = te.compute((m, n), lambda i, j: te.gelu(x[i, j]), name="gelu")
    return te.func(y, "gelu")


@checked
def concat(m: int, n: int, parts: int = 2) -> Func:
    """Relu of ``X0, X1, … [m, n]``, joined along the columns (stages ``Y0, …`` and ``joined_0, …``)."""
    xs = [te.placeholder((m, n), name=f"X{p}") for p in range(parts)]
    ys = [relu_of(x, f"Y{p}") for p, x in enumerate(xs)]
    return te.func(te.concat(ys, axis=1, name="joined"), "concat")
