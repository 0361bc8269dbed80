"""Small computations and the checks that every schedule of them has to pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from workbench import te, workloads
from workbench.intrinsics import registry
from workbench.ir import Func
from workbench.ir.compact_temporaries import compact
from workbench.ir.interpreter import interp
from workbench.ir.verify import verify
from workbench.schedule import Schedule, drop_unit_loops

Arrays = Mapping[str, NDArray]


def stencil() -> Func:
    """Three stages that each read neighbours of the one before."""
    a = te.placeholder((18,), name="A")
    b = te.compute((16,), lambda i: a[i] + a[i + 1] + a[i + 2], name="B")
    c = te.compute((14,), lambda i: b[i] + b[i + 2] * 2.0, name="C")
    return te.func(te.compute((12,), lambda i: c[i] + c[i + 1] - c[i + 2], name="D"), "stencil")


def two_products() -> Func:
    """A reduction over the result of a reduction, with an element-wise stage in between."""
    a, b = te.placeholder((6, 8), name="A"), te.placeholder((8, 6), name="B", constant=True)
    v = te.placeholder((6, 4), name="V")
    k, q = te.reduce_axis(8, "k"), te.reduce_axis(6, "l")
    s = te.compute((6, 6), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="S")
    e = te.compute((6, 6), lambda i, j: te.exp(s[i, j] * 0.1), name="E")
    return te.func(te.compute((6, 4), lambda i, d: te.sum(e[i, q] * v[q, d], axis=q), name="O"), "two_products")


def digits() -> Func:
    """A reshape: indices with // and %."""
    a = te.placeholder((4, 8), name="A")
    b = te.compute((32,), lambda i: a[i // 8, i % 8] * 2.0, name="B")
    return te.func(te.compute((16, 2), lambda i, j: b[i * 2 + j] + 1.0, name="C"), "digits")


def row_scale() -> Func:
    """A vector, a matrix made with it, and a reader: blocks of different rank."""
    x, y = te.placeholder((6,), name="X"), te.placeholder((6, 8), name="Y")
    z = te.compute((6,), lambda i: x[i] * 2.0, name="Z")
    p = te.compute((6, 8), lambda i, j: y[i, j] * z[i], name="P")
    return te.func(te.compute((6, 8), lambda i, j: p[i, j] + 1.0, name="Q"), "row_scale")


def row_sum() -> Func:
    """As `row_scale`, but the vector is a reduction."""
    x, y = te.placeholder((6, 4), name="X"), te.placeholder((6, 8), name="Y")
    k = te.reduce_axis(4, "k")
    z = te.compute((6,), lambda i: te.sum(x[i, k], axis=k), name="Z")
    p = te.compute((6, 8), lambda i, j: y[i, j] * z[i], name="P")
    return te.func(te.compute((6, 8), lambda i, j: p[i, j] + 1.0, name="Q"), "row_sum")


def joined_relu() -> Func:
    """A temporary with two writers."""
    parts = [te.placeholder((4, 3), name=f"X{p}") for p in range(2)]
    joined = te.concat(parts, axis=1, name="joined")
    return te.func(te.compute((4, 6), lambda i, j: te.maximum(joined[i, j], 0.0), name="R"), "joined_relu")


def epilogue() -> Func:
    """Matrix product on constant weights, bias and relu."""
    return workloads.matmul(12, 16, 8, bias=True, relu=True, constant_b=True)


WORKLOADS: dict[str, Callable[[], Func]] = {
    "matmul": epilogue,
    "conv": lambda: workloads.conv2d_nhwc(6, 6, 4, 8, bias=True, relu=True),
    "conv_strided": lambda: workloads.conv2d_nhwc(9, 9, 4, 4, stride=2, relu=True),
    "conv_grouped": lambda: workloads.conv2d_nhwc(5, 5, 8, 8, groups=2),
    "depthwise": lambda: workloads.depthwise_conv2d_nhwc(6, 6, 4),
    "pool": lambda: workloads.pool2d(8, 8, 4, "avg", kernel=3, stride=2, padding=1),
    "softmax": lambda: workloads.softmax(6, 8),
    "layer_norm": lambda: workloads.layer_norm(6, 8),
    "transpose": lambda: workloads.transpose(8, 12),
    "elementwise": lambda: workloads.elementwise(8, 12),
    "concat": lambda: workloads.concat(4, 6),
    "stencil": stencil,
    "two_products": two_products,
    "digits": digits,
    "row_sum": row_sum,
    "bytes": lambda: workloads.matmul_int8(4, 16, 8, constant_b=True),
    "joined_relu": joined_relu,
}


def inputs_and_result(func: Func, seed: int = 0) -> tuple[Arrays, Arrays]:
    """Random inputs, and what the unscheduled function makes of them."""
    given = interp.random_inputs(func, seed)
    return given, interp.run(func, given)


def check(schedule: Schedule, given: Arrays, expected: Arrays, order: interp.Order = "shuffled") -> None:
    """A concrete schedule is well-formed, gives the result, also when compacted, and writes each element once."""
    verify(schedule.func, registry.names)
    got = interp.trace_run(schedule.func, given, order)
    small = interp.run(drop_unit_loops(compact(schedule.func)), given, order)
    for name, want in expected.items():
        np.testing.assert_allclose(got.outputs[name], want, rtol=1e-4, atol=1e-5, err_msg=str(schedule.trace))
        np.testing.assert_allclose(small[name], want, rtol=1e-4, atol=1e-5, err_msg=f"compacted {schedule.trace}")
        assert (got.writes[name] == 1).all(), f"{name} is written more than once by {schedule.trace}"


def check_rows(schedule: Schedule, rows: int = 3, seed: int = 0) -> None:
    """Filled rows of a schedule are right, and filling agrees with replaying the trace with the numbers."""
    given, expected = inputs_and_result(schedule.base, seed)
    if not schedule.holes:
        check(schedule, given, expected)
        return
    verify(schedule.func)
    for row in schedule.domain.sample(rows, np.random.default_rng(seed)):
        filled = schedule.fill(row)
        check(filled, given, expected)
        again = drop_unit_loops(Schedule.from_json(schedule.base, filled.to_json()).func)
        mine = drop_unit_loops(filled.func)
        assert again.body == mine.body, f"{schedule.trace} with {row}"
        assert again.buffers == mine.buffers
