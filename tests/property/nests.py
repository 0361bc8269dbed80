"""The nests that random schedules are made of: all ready-made workloads, and a few that have what those lack."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from references import REFERENCES, conv

from property import tensors
from workbench import te, workloads
from workbench.ir import Func


def relu_conv() -> Func:
    """A computed image that is padded: reads under a condition, of elements that may not exist."""
    x, w = te.placeholder((1, 6, 6, 4), name="X"), te.placeholder((3, 3, 4, 4), name="W", constant=True)
    r = te.compute(x.shape, lambda n, h, w, c: te.maximum(x[n, h, w, c], 0.0), name="first")
    inside = te.compute(
        (1, 8, 8, 4),
        lambda n, h, w, c: te.select((h >= 1) & (h < 7) & (w >= 1) & (w < 7), r[n, h - 1, w - 1, c], 0.0),
        name="pad",
    )
    kh, kw, rc = te.reduce_axis(3, "kh"), te.reduce_axis(3, "kw"), te.reduce_axis(4, "c")
    y = te.compute(
        (1, 6, 6, 4),
        lambda n, h, w_, o: te.sum(inside[n, h + kh, w_ + kw, rc] * w[kh, kw, rc, o], axis=[kh, kw, rc]),
        name="conv",
    )
    return te.func(y, "relu_conv")


def stencils() -> Func:
    """Two element-wise stencils in a row; one result is read twice, at different places, and backwards."""
    x = te.placeholder((20,), name="X")
    a = te.compute((18,), lambda i: x[i] + x[i + 1] * 2.0 - x[i + 2], name="A")
    b = te.compute((16,), lambda i: a[i] * a[i + 2], name="B")
    return te.func(te.compute((16,), lambda i: b[15 - i] + a[i + 1], name="C"), "stencils")


def _stencils(a: dict[str, np.ndarray]) -> np.ndarray:
    x = a["X"].astype("f8")
    y = x[:-2] + x[1:-1] * 2 - x[2:]
    return (y[:-2] * y[2:])[::-1] + y[1:-1]


def pad_end() -> Func:
    """A copy that is longer than what it reads."""
    x = te.placeholder((6, 8), name="X")
    a = te.compute((6, 8), lambda i, j: te.exp(x[i, j]), name="A")
    return te.func(te.compute((9, 8), lambda i, j: te.select(i < 6, a[i, j], 1.0), name="B"), "pad_end")


def two_outputs() -> Func:
    """A result that the caller gets and that is read again, by two blocks."""
    x = te.placeholder((6, 8), name="X")
    a = te.compute((6, 8), lambda i, j: te.maximum(x[i, j], 0.0), name="A")
    k = te.reduce_axis(8, "k")
    s = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="S")
    return te.func([a, te.compute((6, 8), lambda i, j: a[i, j] / (s[i] + 1.0), name="B")], "two_outputs")


def _two_outputs(a: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    y = np.maximum(a["X"], 0)
    return {"A": y, "B": y / (y.sum(1, keepdims=True) + 1)}


def row_share() -> Func:
    """Softmax's skeleton with one more stage behind it, so that its last loops can lose their own block."""
    x, k = te.placeholder((6, 8), name="X"), te.reduce_axis(8, "k")
    total = te.compute((6,), lambda i: te.sum(te.exp(x[i, k]), axis=k), name="total")
    share = te.compute((6, 8), lambda i, j: te.exp(x[i, j]) / total[i], name="share")
    return te.func(te.compute((6, 8), lambda i, j: share[i, j] * 0.5, name="half"), "row_share")


def row_before() -> Func:
    """The sum of the row before: a reduction that is read where it does not exist."""
    x, k = te.placeholder((6, 8), name="X"), te.reduce_axis(8, "k")
    s = te.compute((6,), lambda i: te.sum(x[i, k], axis=k), name="S")
    return te.func(te.compute((6,), lambda i: te.select(i >= 1, s[i - 1], 0.0), name="T"), "row_before")


def both_given() -> Func:
    """A result that the caller gets, and what is made of it element by element."""
    x = te.placeholder((6, 8), name="X")
    a = te.compute((6, 8), lambda i, j: te.exp(x[i, j]), name="A")
    return te.func([a, te.compute((6, 8), lambda i, j: a[i, j] * 2.0, name="B")], "both_given")


def late_factor() -> Func:
    """A product whose second factor is made after the first, and is used again."""
    x = te.placeholder((6, 8), name="X")
    t = te.compute((6, 8), lambda i, j: te.exp(x[i, j]), name="T")
    u = te.compute((6, 8), lambda i, j: x[i, j] + 1.0, name="U")
    q = te.compute((6, 8), lambda i, j: t[i, j] * u[i, j], name="Q")
    return te.func([q, te.compute((6, 8), lambda i, j: u[i, j] * 2.0, name="V")], "late_factor")


def lookup() -> Func:
    """Rows of a computed table, found by numbers that are read: clean ones, computed ones, some that lie outside."""
    x, ids = te.placeholder((6, 8), name="X"), te.placeholder((6,), "int64", name="ids")
    at = te.placeholder((6, 8), "int32", name="at")
    table = te.compute((6, 8), lambda i, j: te.exp(x[i, j]), name="table")
    row = te.compute((6,), lambda i: te.select(ids[i] < 0, ids[i] + 6, ids[i]), name="row")
    part = te.compute((6, 8), lambda i, j: table[row[i], j] * 0.5, name="part")
    k = te.reduce_axis(8, "k")
    total = te.compute((6,), lambda i: te.sum(part[i, k] * table[ids[i] * 2, k], axis=k), name="total")
    return te.func(te.compute((6, 8), lambda i, j: total[i] + part[row[i], at[i, j]], name="Y"), "lookup")


def _lookup(a: dict[str, np.ndarray]) -> np.ndarray:
    table, ids = np.exp(a["X"]), a["ids"]
    row = np.where(ids < 0, ids + 6, ids)
    part = table[np.clip(row, 0, 5)] * 0.5
    total = (part * table[np.clip(ids * 2, 0, 5)]).sum(1, keepdims=True)
    return total + part[np.clip(row, 0, 5)[:, None], np.clip(a["at"], 0, 7)]


NESTS: dict[str, Callable[[], Func]] = {
    **workloads.ALL,
    **tensors.NESTS,
    "relu_conv": relu_conv,
    "stencils": stencils,
    "pad_end": pad_end,
    "two_outputs": two_outputs,
    "row_share": row_share,
    "row_before": row_before,
    "both_given": both_given,
    "late_factor": late_factor,
    "lookup": lookup,
}
EXPECTED: dict[str, Callable[..., np.ndarray | dict[str, np.ndarray]]] = {
    **REFERENCES,
    **dict.fromkeys(tensors.NESTS, REFERENCES["matmul_int8"]),
    "tiles_bf16": REFERENCES["matmul_bfloat16"],
    "relu_conv": lambda a: conv({"X": np.maximum(a["X"], 0), "W": a["W"]}),
    "stencils": _stencils,
    "pad_end": lambda a: np.concatenate([np.exp(a["X"]), np.ones((3, 8))]),
    "two_outputs": _two_outputs,
    "late_factor": lambda a: {"Q": np.exp(a["X"]) * (a["X"] + 1), "V": 2 * (a["X"] + 1)},
    "both_given": lambda a: {"A": np.exp(a["X"]), "B": 2 * np.exp(a["X"])},
    "row_before": lambda a: np.concatenate([[0], a["X"].sum(1)[:-1]]),
    "lookup": _lookup,
    "row_share": lambda a: 0.5 * np.exp(a["X"]) / np.exp(a["X"]).sum(1, keepdims=True),
}
