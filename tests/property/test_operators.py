"""Every scalar operator on hard values: interpreter, NumPy reference and compiled code agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from workbench.ir import Affine, Binary, Block, Buffer, For, Func, Iter, Load, Unary
from workbench.ir.expr import COMPARE_OPS, UNARY_OPS
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference.evaluate import evaluate

ARITHMETIC = ("add", "sub", "mul", "div", "max", "min", "mod")
HARD = (-7.5, -2.0, -0.0, 0.0, 1.5, 3.0, np.nan, np.inf, -np.inf)
WIDE = (-200.0, -88.0, -3.7, -1.0, -0.5, 0.0, 0.3, 1.0, 2.5, 10.0, 88.0, 200.0, np.nan, np.inf, -np.inf)
WHOLE = {"int8": (-100, -7, -1, 1, 3, 100), "int32": (-100, -7, -1, 1, 3, 100), "int64": (-(2**40), -7, -1, 1, 3, 100),
         "uint8": (1, 3, 100, 200, 255)}  # fmt: skip


def operator(op: str, dtype: str, kind: str, *operands: np.ndarray) -> tuple[Func, dict[str, np.ndarray]]:
    i, n = Affine.var("i"), len(operands[0])
    args = [Load(name, (i,)) for name in "AB"[: len(operands)]]
    value = Binary(op, *args) if len(args) == 2 else Unary(op, *args)
    block = Block("Y", (Iter("i", n, "S"),), (Affine.var("l"),), "Y", (i,), value)
    inputs = dict(zip("AB", operands, strict=False))
    buffers = [Buffer(name, (n,), dtype, "input") for name in inputs]
    buffers.append(Buffer("Y", (n,), "bool" if op in COMPARE_OPS else dtype, "output"))
    return Func("operator", tuple(buffers), (For("l", n, (block,), kind),)), inputs


def check(op: str, dtype: str, *operands: np.ndarray) -> None:
    from workbench.codegen.backend import build_func
    from workbench.runtime.kernel import Kernel
    from workbench.target import Target

    target = Target.host(threads=1)
    for kind in ("serial", "vectorize"):
        func, inputs = operator(op, dtype, kind, *operands)
        want = interp.run(func, inputs)["Y"].astype("f8")
        with np.errstate(all="ignore"):
            (reference,) = evaluate(func, inputs).values()
        compiled = Kernel(func, build_func(func, target), target)(**inputs)
        np.testing.assert_allclose(reference.astype("f8"), want, rtol=1e-5, atol=1e-6, err_msg=f"{op} {dtype}: NumPy")
        np.testing.assert_allclose(compiled.astype("f8"), want, rtol=1e-5, atol=1e-6, err_msg=f"{op} {dtype} {kind}")


def pairs(values, dtype):
    p = np.array(list(itertools.product(values, repeat=2)), dtype)
    return p[:, 0].copy(), p[:, 1].copy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [*ARITHMETIC, "pow", *COMPARE_OPS])
def test_binary_on_floats(op, dtype):
    a, b = pairs(HARD, dtype)
    if op in ("max", "min"):
        # Compiled code keeps the NaN of its first operand only, which is what the hardware's instruction does.
        a, b = a[~np.isnan(b)], b[~np.isnan(b)]
    check(op, dtype, a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [op for op in UNARY_OPS if op != "not"])
def test_unary_on_floats(op, dtype):
    check(op, dtype, np.array(WIDE, dtype))


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARE_OPS])
def test_binary_on_integers(op, dtype):
    check(op, dtype, *pairs(WHOLE[dtype], dtype))


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("op", ["neg", "abs"])
def test_unary_on_integers(op, dtype):
    check(op, dtype, np.array(WHOLE[dtype], dtype))
