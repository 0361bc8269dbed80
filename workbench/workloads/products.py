"""Products of matrices and vectors."""

from __future__ import annotations

from workbench import te
from workbench.ir import Func
from workbench.te import Tensor
from workbench.workloads.stages import checked, epilogue, narrow


@checked
def matmul(
    m: int, n: int, k: int, bias: bool = False, relu: bool = False, dtype: str = "float32", constant_b: bool = False
) -> Func:
    """``C[i, j] = sum(A[i, k] * B[k, j])``, then ``+ bias[j]`` (stage ``bias_add``) and ``max(_, 0)`` (stage ``relu``).

    Parameters
    ----------
    m, n, k : int
        ``A`` is ``[m, k]``, ``B`` is ``[k, n]``, the result ``[m, n]``.
    bias, relu : bool
        Whether to append these stages.
    dtype : str
        Of the operands. Products of bfloat16 are summed in float32, which is also the type of the result.
    constant_b : bool
        Whether ``B`` holds weights, which may be packed ahead of time.
    """
    a = te.placeholder((m, k), dtype, "A")
    b = te.placeholder((k, n), dtype, "B", constant=constant_b)
    c = _product(a, b, "float32") if dtype == "bfloat16" else _product(a, b)
    return te.func(epilogue(c, n if bias else None, relu), "matmul")


@checked
def matmul_int8(
    m: int, n: int, k: int, signed: bool = False, constant_b: bool = False, shift: int | None = None
) -> Func:
    """``C[i, j] = sum(A[i, k] * B[k, j])`` in int32, of uint8 (int8 if `signed`) ``A[m, k]`` and int8 ``B[k, n]``.

    With `shift`, stage ``narrow`` makes int8 of the sums: ``min(max(C, 0) / 2**shift, 127)``.
    """
    a = te.placeholder((m, k), "int8" if signed else "uint8", "A")
    b = te.placeholder((k, n), "int8", "B", constant=constant_b)
    return te.func(narrow(_product(a, b, "int32"), shift), "matmul_int8")


def _product(a: Tensor, b: Tensor, accumulate: str | None = None) -> Tensor:
    """Matrix product (stage ``C``), its factors cast to the type to accumulate in."""
    r = te.reduce_axis(a.shape[1], "k")

    def wide(x: te.Value) -> te.Value:
        return x if accumulate is None else te.cast(x, accumulate)

    return te.compute((a.shape[0], b.shape[1]), lambda i, j: te.sum(wide(a[i, r]) * wide(b[r, j]), axis=r), name="C")


@checked
def dense(m: int, n: int, k: int, bias: bool = True, relu: bool = False) -> Func:
    """Fully connected layer on constant weights ``W[k, n]``: ``Y[i, j] = sum(X[i, k] * W[k, j])`` (stage ``dense``)."""
    x, w = te.placeholder((m, k), name="X"), te.placeholder((k, n), name="W", constant=True)
    r = te.reduce_axis(k, "k")
    y = te.compute((m, n), lambda i, j: te.sum(x[i, r] * w[r, j], axis=r), name="dense")
    return te.func(epilogue(y, n if bias else None, relu), "dense")


@checked
def batch_matmul(batch: int, m: int, n: int, k: int) -> Func:
    """``C[b, i, j] = sum(A[b, i, k] * B[b, k, j])``."""
    x, y = te.placeholder((batch, m, k), name="A"), te.placeholder((batch, k, n), name="B")
    r = te.reduce_axis(k, "k")
    return te.func(
        te.compute((batch, m, n), lambda b, i, j: te.sum(x[b, i, r] * y[b, r, j], axis=r), name="C"), "batch_matmul"
    )


@checked
def matvec(n: int, k: int, transposed: bool = False, constant_b: bool = False) -> Func:
    """``Y[j] = sum(B[k, j] * V[k])``; with `transposed`, ``B`` is ``[n, k]`` and its rows are reduced."""
    b = te.placeholder((n, k) if transposed else (k, n), name="B", constant=constant_b)
    v, r = te.placeholder((k,), name="V"), te.reduce_axis(k, "k")
    y = te.compute((n,), lambda j: te.sum((b[j, r] if transposed else b[r, j]) * v[r], axis=r), name="Y")
    return te.func(y, "matvec")
