"""Products with sparse matrices whose entries are padded to as many for every row, which a loop nest can go over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench import te
from workbench.ir import Func
from workbench.te import Tensor
from workbench.workloads.stages import checked, epilogue


def block_products(x: Tensor, columns: Tensor, blocks: Tensor, at: Sequence[Any], j: Any) -> te.Reduction:
    """Sum of row `at` of `x` times the blocks of the strip of column `j`, see `sparse_dense`."""
    _, count, rows, width = blocks.shape
    b = te.reduce_axis(count, "k")
    strip, s = (j, 0) if width == 1 else (j // width, j % width)
    if rows == 1:
        return te.sum(x[(*at, columns[strip, b])] * blocks[strip, b, 0, s], axis=b)
    q = te.reduce_axis(rows, "kr")
    return te.sum(x[(*at, columns[strip, b] + q)] * blocks[strip, b, q, s], axis=[b, q])


@checked
def sparse_dense(
    m: int, n: int, k: int, blocks: int, width: int = 16, rows: int = 1, bias: bool = False, relu: bool = False
) -> Func:
    """Dense layer whose weights ``[k, n]`` are kept in blocks of `rows` by `width` (a BSR matrix, transposed).

    ``Y[i, j] = sum(X[i, columns[j // width, b] + q] * W[j // width, b, q, j % width])``: every strip of `width` columns
    has the same number of blocks; fewer are padded with blocks of zeros. Which rows of the weights a block has says
    `columns`, int32, at run time: they are columns of ``X``.

    Parameters
    ----------
    m, n, k : int
        ``X`` is ``[m, k]``, the result ``[m, n]``; `width` divides `n`.
    blocks : int
        Blocks of each strip.
    width, rows : int
        Size of a block. A register's lanes are a good `width`.
    bias, relu : bool
        Whether to append these stages.
    """
    x = te.placeholder((m, k), name="X")
    columns = te.placeholder((n // width, blocks), "int32", "columns", constant=True)
    w = te.placeholder((n // width, blocks, rows, width), name="W", constant=True)
    y = te.compute((m, n // width * width), lambda i, j: block_products(x, columns, w, (i,), j), name="dense")
    return te.func(epilogue(y, n if bias else None, relu), "sparse_dense")


@checked
def spmm(m: int, n: int, k: int, entries: int) -> Func:
    """Sparse matrix ``[m, k]`` times a dense one: ``Y[i, j] = sum(V[i, e] * X[columns[i, e], j])``.

    Every row has as many `entries` (a CSR matrix, padded with zeros): a nest's loops have fixed lengths. Where rows
    differ much, as in graphs, networks use a runtime kernel instead.

    Parameters
    ----------
    m, n, k : int
        ``X`` is ``[k, n]``, the result ``[m, n]``.
    entries : int
        Entries of each row.
    """
    x = te.placeholder((k, n), name="X")
    columns = te.placeholder((m, entries), "int32", "columns", constant=True)
    v = te.placeholder((m, entries), name="V", constant=True)
    e = te.reduce_axis(entries, "e")
    y = te.compute((m, n), lambda i, j: te.sum(v[i, e] * x[columns[i, e], j], axis=e), name="Y")
    return te.func(y, "spmm")
