"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from workbench import te
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array, TensorType
from workbench.graph.kernels.determinants import determinants
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import BIAS, WEIGHT, dims
from workbench.graph.ops.lowering import LEAST_HALVED, Idx, at, broadcast_shape, compute, operand

#: What is summed of two elements and the places where they were read.
Term: TypeAlias = Callable[[te.Value, te.Value, Sequence[Idx], Sequence[Idx]], te.Value]


def product_shape(c: Call, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the product of two tensors, as NumPy multiplies them; the node is named where they do not fit."""
    if not a or not b or (a[-1] != (b[-2] if len(b) > 1 else b[0])):
        raise c.error("shape_mismatch", f"cannot multiply {list(a)} by {list(b)}")
    batch = broadcast_shape(c, [a[:-2], b[:-2]])
    return (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def product_stage(c: Call, a: te.Tensor, b: te.Tensor, term: Term) -> te.Tensor:
    """Sum of `term` over the last dimension of `a` and the last but one of `b`."""
    k = te.reduce_axis(a.shape[-1], "k")
    rows, cols = min(a.ndim - 1, 1), min(b.ndim - 1, 1)

    def body(*idx: te.Axis) -> te.Reduction:
        lead = idx[: len(idx) - rows - cols]
        i = idx[len(lead) : len(lead) + rows]
        j = idx[len(lead) + rows :]
        left: list[Idx] = [*lead, *i, k]
        right: list[Idx] = [*lead, k, *j]
        return te.sum(term(at(a, left), at(b, right), left, right), axis=k)

    return compute(product_shape(c, a.shape, b.shape), body, c.name("matmul"))


@operator("Det", "opaque")
class Det(OpDef):
    """Determinant of square matrices."""

    def shape(self, c: Call) -> tuple[int, ...]:
        shape = c.shape(0)
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise c.error("shape_mismatch", f"takes square matrices, not {list(shape)}")
        return shape[:-2]

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(determinants, flops=2 * c.type(0).size * c.shape(0)[-1] // 3)

    def reference(self, c: Call, x: Array) -> Array:
        return np.asarray(np.linalg.det(x.astype(np.float64)), x.dtype)


@operator("MatMul", "complex", inputs=(WEIGHT, WEIGHT), rowwise=True, reads_through=True)
class MatMul(OpDef):
    """Matrix product of the last two dimensions; leading dimensions broadcast, vectors act as a row or a column."""

    def words(self, c: Call, out: TensorType) -> str:
        return f"matmul {dims(c.shape(0))} · {dims(c.shape(1))}"

    def product_axes(self, c: Call) -> tuple[int, int] | None:
        return (0, 1) if len(c.shape(1)) == 2 else None

    def halved(self, c: Call) -> bool:
        return c.shape(0)[-1] >= LEAST_HALVED

    def summed_axis(self, c: Call) -> int | None:
        return 0

    def shape(self, c: Call) -> tuple[int, ...]:
        return product_shape(c, c.shape(0), c.shape(1))

    def reference(self, c: Call, a: Array, b: Array) -> Array:
        return np.asarray(np.matmul(a, b), np.result_type(a, b))  # NumPy makes float32 of bfloat16

    def lower(self, c: Call, a: te.Tensor, b: te.Tensor) -> te.Tensor:
        return product_stage(c, a, b, lambda x, y, left, right: x * y)


def gemm_sizes(c: Call, left: int, right: int) -> tuple[int, int, int]:
    """Rows and columns of a product of two matrices (inputs), either of which may be transposed, and what is summed."""
    a, b = c.shape(left), c.shape(right)
    if len(a) != 2 or len(b) != 2:
        raise c.error("shape_mismatch", f"needs matrices, but has {list(a)} and {list(b)}")
    m, k = a[::-1] if c.get_int("transA", 0) else a
    k2, n = b[::-1] if c.get_int("transB", 0) else b
    if k != k2:
        raise c.error("shape_mismatch", f"cannot multiply {list(a)} by {list(b)}: {k} and {k2} differ")
    return m, n, k


@operator("Gemm", "complex", inputs=(WEIGHT, WEIGHT, BIAS), rowwise=True)
class Gemm(OpDef):
    """alpha * A' * B' + beta * C."""

    def words(self, c: Call, out: TensorType) -> str:
        m, n, k = gemm_sizes(c, 0, 1)
        return f"dense {f'{m}x' if m > 1 else ''}{k}→{n}" + (" + bias" if c.has(2) else "")

    def halved(self, c: Call) -> bool:
        return gemm_sizes(c, 0, 1)[2] >= LEAST_HALVED

    def product_axes(self, c: Call) -> tuple[int, int] | None:
        scaled = c.get_float("alpha", 1.0) != 1 or c.get_float("beta", 1.0) != 1
        into = c.get_int("transB", 0)
        return None if scaled or c.get_int("transA", 0) else (into, 1 - into)

    def summed_axis(self, c: Call) -> int | None:
        return None if c.get_int("transA", 0) or c.moving(2) else int(bool(c.get_int("transB", 0)))

    def shape(self, c: Call) -> tuple[int, ...]:
        m, n, _ = gemm_sizes(c, 0, 1)
        if c.has(2) and broadcast_shape(c, [c.shape(2), (m, n)]) != (m, n):
            raise c.error("shape_mismatch", f"cannot add {list(c.shape(2))} to {[m, n]}")
        return (m, n)

    def reference(self, c: Call, a: Array, b: Array, bias: Array | None = None) -> Array:
        y = np.matmul(a.T if c.get_int("transA", 0) else a, b.T if c.get_int("transB", 0) else b)
        y = y * np.asarray(c.get_float("alpha", 1.0), a.dtype)
        if bias is not None:
            y = y + np.asarray(c.get_float("beta", 1.0), a.dtype) * bias
        return np.asarray(y)

    def lower(self, c: Call, a: te.Tensor, b: te.Tensor, *rest: te.Tensor | None) -> te.Tensor:
        m, n, kk = gemm_sizes(c, 0, 1)
        k = te.reduce_axis(kk, "k")
        ta, tb = c.get_int("transA", 0), c.get_int("transB", 0)
        y = compute(
            (m, n),
            lambda i, j: te.sum((a[k, i] if ta else a[i, k]) * (b[j, k] if tb else b[k, j]), axis=k),
            c.name("matmul"),
        )
        alpha, beta = c.get_float("alpha", 1.0), c.get_float("beta", 1.0)
        if alpha == 1.0 and not c.has(2):
            return y
        bias = operand(c, 2, (a, b, *rest)) if c.has(2) else None

        def tail(*idx: te.Axis) -> te.Value:
            v = y[idx] if alpha == 1.0 else y[idx] * alpha
            if bias is None:
                return v
            return v + (bias(idx) if beta == 1.0 else bias(idx) * beta)

        return compute((m, n), tail, c.name("bias_add"))
