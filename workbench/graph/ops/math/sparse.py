"""Products with sparse matrices, and what sorts the edges of a graph for them. Passes and `wb.sparsify` write them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench import te
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array, TensorType
from workbench.graph.kernels.sparse import edge_order, sparse_product
from workbench.graph.node_steps import OWN
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import DATA, WEIGHT, Input, dims
from workbench.graph.ops.lowering import compute
from workbench.workloads.sparse import block_products

#: Element types that are summed.
SUMMED = ("float32", "float64", "int32", "int64")


@operator("EdgeOrder", "opaque", domain=OWN, multi=True)
class EdgeOrder(OpDef):
    """Edges sorted by the row (of `rows`) that each goes to, in their order within a row: where the edges of each row
    begin, ``[rows + 1]``, and the numbers of the edges. Edges to rows that do not exist are left out; 0 fills the rest.
    """

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return (TensorType((c.get_int("rows", 0) + 1,), "int32"), TensorType((c.type(0).size,), "int32"))

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(edge_order)

    def reference(self, c: Call, places: Array) -> tuple[Array, ...]:
        rows, at = c.get_int("rows", 0), places.reshape(-1).astype(np.int64)
        at = np.where(at < 0, at + rows, at)
        inside = (at >= 0) & (at < rows)
        first = np.concatenate([[0], np.cumsum(np.bincount(at[inside], minlength=rows))])
        order = np.zeros(len(at), np.int32)
        order[: first[-1]] = np.argsort(np.where(inside, at, rows), kind="stable")[: first[-1]]
        return first.astype(np.int32), order


@operator("SparseProduct", "opaque", domain=OWN)
class SparseProduct(OpDef):
    """A sparse matrix by rows times rows of a tensor ``[n, ...]``: inputs are that tensor, where each row's entries
    begin, the column of each entry, and, where they are not all 1, their values.
    """

    inputs = (DATA, Input("data"), Input("data"), Input("data"))

    def words(self, c: Call, out: TensorType) -> str:
        return f"sparse product {c.type(2).size} of {dims((out.shape[0], c.shape(0)[0]))} · {dims(c.shape(0))}"

    def shape(self, c: Call) -> tuple[int, ...]:
        return (c.shape(1)[0] - 1, *c.shape(0)[1:])

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(sparse_product, flops=2 * c.type(2).size * math.prod(c.shape(0)[1:]))

    def reference(self, c: Call, x: Array, first: Array, columns: Array, values: Array | None = None) -> Array:
        y = np.zeros(self.shape(c), x.dtype)
        count, at = int(first[-1]), columns.astype(np.int64)
        at = np.clip(np.where(at < 0, at + len(x), at), 0, len(x) - 1)[:count]
        new = x[at]
        if values is not None:
            new = new * values[:count].reshape(-1, *[1] * (x.ndim - 1))
        np.add.at(y, np.repeat(np.arange(len(y)), np.diff(first)), new)
        return y


@operator("SparseDense", "complex", domain=OWN, inputs=(DATA, Input("data", "columns"), WEIGHT), rowwise=True)
class SparseDense(OpDef):
    """Rows times weights that are kept in blocks: input 1 has the first row of each block, ``[strips, blocks]``, input
    2 the blocks, ``[strips, blocks, rows, columns]``. A strip is what goes into neighbouring columns of the result.
    """

    tensors = (1, 2)

    def words(self, c: Call, out: TensorType) -> str:
        strips, blocks, rows, columns = c.shape(2)
        inner, outer = c.shape(0)[-1], strips * columns
        kept = 100 * blocks * rows * strips * columns / (inner * outer)
        return f"block-sparse dense {dims((c.type(0).size // inner,))}x{inner}→{outer} ({kept:.0f} % kept)"

    def shape(self, c: Call) -> tuple[int, ...]:
        return (*c.shape(0)[:-1], c.shape(2)[0] * c.shape(2)[3])

    def reference(self, c: Call, x: Array, columns: Array, blocks: Array) -> Array:
        strips = [
            x[..., (at[:, None] + np.arange(w.shape[1])).reshape(-1)] @ w.reshape(-1, w.shape[2])
            for at, w in zip(columns, blocks, strict=True)
        ]
        return np.asarray(np.concatenate(strips, axis=-1), x.dtype)

    def lower(self, c: Call, x: te.Tensor, columns: te.Tensor, blocks: te.Tensor) -> te.Tensor:
        def body(*at: Any) -> te.Reduction:
            return block_products(x, columns, blocks, at[:-1], at[-1])

        return compute(self.shape(c), body, c.name("dense"))


def turned_weights(c: Call) -> Array | None:
    """Constant weights ``[k, n]`` of a product that is nothing but rows times them, and a bias; None for others."""
    w = c.values[1]
    if w is None or w.ndim != 2 or c.has(0) is False or c.values[0] is not None or not w.size:
        return None
    if w.dtype.name not in ("float32", "float64") or not c.shape(0) or c.type(0).dtype != w.dtype.name:
        return None
    scaled = c.get_float("alpha", 1.0) != 1 or c.get_float("beta", 1.0) != 1
    if c.node.op == "Gemm" and (scaled or c.get_int("transA", 0)):
        return None
    return w.T if c.node.op == "Gemm" and c.get_int("transB", 0) else w


def block_weights(weights: Array, block: tuple[int, int]) -> tuple[Array, Array]:
    """Weights ``[k, n]`` as `SparseDense` has them: first rows of the blocks that are not zero, and these blocks.

    Strips with fewer blocks than others get blocks of zeros.
    """
    (k, n), (width, rows) = weights.shape, block
    blocks = weights.reshape(k // rows, rows, n // width, width).transpose(2, 0, 1, 3)
    kept = blocks.any((2, 3))
    count = max(1, int(kept.sum(1).max()))
    at = np.argsort(~kept, axis=1, kind="stable")[:, :count]
    return (at * rows).astype(np.int32), np.ascontiguousarray(np.take_along_axis(blocks, at[:, :, None, None], 1))
