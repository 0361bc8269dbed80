"""Code generation against the interpreter: loop kinds, padding, vector tails, dtypes, accumulators."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from workbench import te
from workbench.codegen.backend import build_func
from workbench.codegen.llvm.module import emit_module
from workbench.errors import BuildError
from workbench.ir import For, Func, HoleInfo
from workbench.ir.interpreter import interp
from workbench.ir.stmt import rewrite
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.target import Target

TARGET = Target.host(threads=2)


def marked(func: Func, **kinds: str) -> Func:
    """Set loop kinds by name, without asking whether that is legal."""

    def fn(s):
        return (replace(s, kind=kinds[s.name]),) if isinstance(s, For) and s.name in kinds else None

    return replace(func, body=rewrite(func.body, fn))


def check(func: Func, rtol: float = 2e-6) -> None:
    """Compile with poisoned temporaries and compare with the interpreter."""
    inputs = interp.random_inputs(func)
    expected = interp.run(func, inputs)
    kernel = Kernel(func, build_func(func, TARGET, poison=True), TARGET)
    got = kernel(**inputs)
    outputs = got if isinstance(got, tuple) else (got,)
    for b, y in zip(func.outputs, outputs, strict=True):
        want = expected[b.name]
        scale = max(1e-30, float(np.max(np.abs(want.astype(np.float64)))))
        assert np.all(np.isfinite(y)) if b.dtype.startswith("float") else True
        assert np.max(np.abs(y.astype(np.float64) - want.astype(np.float64))) <= rtol * scale


def conv(size: int, ci: int, co: int, stride: int = 1, inline: bool = False) -> Func:
    x, w = te.placeholder((size, size, ci), name="X"), te.placeholder((3, 3, ci, co), name="W", constant=True)

    def padded(h, v, c):
        return te.select((h >= 1) & (h < size + 1) & (v >= 1) & (v < size + 1), x[h - 1, v - 1, c], 0.0)

    pad = te.compute((size + 2, size + 2, ci), lambda ph, pw, pc: padded(ph, pw, pc), name="pad")
    read = padded if inline else lambda h, v, c: pad[h, v, c]
    kh, kw, c = te.reduce_axis(3, "kh"), te.reduce_axis(3, "kw"), te.reduce_axis(ci, "c")
    out = (size - 1) // stride + 1
    y = te.compute(
        (out, out, co),
        lambda h, w_, o: te.sum(read(h * stride + kh, w_ * stride + kw, c) * w[kh, kw, c, o], axis=[kh, kw, c]),
        name="conv",
    )
    return te.func(te.compute((out, out, co), lambda i, j, o: te.maximum(y[i, j, o], 0.0), name="relu"))


def matmul(order: str, **kinds: str) -> Func:
    a, b, k = te.placeholder((12, 9), name="A"), te.placeholder((9, 40), name="B"), te.reduce_axis(9, "k")
    f = te.func(te.compute((12, 40), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C"))
    nest, _ = f.block("C")
    for name in reversed(order):
        nest = For(name, {"i": 12, "j": 40, "k": 9}[name], (nest,), kinds.get(name, "serial"))
    return replace(f, body=(nest,))


def test_plain_nests():
    check(conv(6, 5, 7))
    check(conv(7, 3, 20, stride=2))


@pytest.mark.parametrize("inline", [False, True])
def test_conv_marked(inline):
    check(marked(conv(7, 5, 37, 2, inline), relu_o="vectorize", pc="vectorize", i="parallel", ph="parallel"))


@pytest.mark.parametrize(
    ("order", "kinds"),
    [
        ("ijk", {}),
        ("kij", {}),
        ("ikj", {"j": "vectorize"}),
        ("kij", {"i": "unroll", "j": "vectorize"}),
        ("kji", {"k": "unroll", "i": "unroll"}),
        ("jki", {"i": "vectorize", "k": "unroll"}),
        ("jik", {"j": "parallel", "k": "unroll"}),
    ],
)
def test_accumulation_orders(order, kinds):
    check(matmul(order, **kinds))


def test_softmax_rows():
    x, k, k2 = te.placeholder((5, 33), name="X"), te.reduce_axis(33, "k"), te.reduce_axis(33, "k2")
    top = te.compute((5,), lambda i: te.max(x[i, k], axis=k), name="top")
    e = te.compute((5, 33), lambda i, j: te.exp(x[i, j] - top[i]), name="e")
    s = te.compute((5,), lambda i: te.sum(e[i, k2], axis=k2), name="s")
    f = te.func(te.compute((5, 33), lambda i, j: e[i, j] / s[i], name="y"))
    check(f)
    check(marked(f, j="vectorize", e_j="vectorize", y_j="vectorize", top_i="vectorize"))


@pytest.mark.parametrize(
    "op", ["exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "floor", "ceil", "round", "abs"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_math(op, dtype):
    x = te.placeholder((6, 40), dtype, name="X")
    f = te.func(te.compute((6, 40), lambda i, j: getattr(te, op)(te.abs(x[i, j]) + 0.25), name="Y"))
    check(marked(f, j="vectorize"), rtol=1e-6)


def test_tanh_erf_exp_over_their_range():
    x = te.placeholder((4096,), name="X")
    values = np.concatenate(
        [np.linspace(-100, 100, 4000), [0.0, 1e-30, -1e-30, 88.72, -87.3, 89.0, 1e30, -1e30]]
    ).astype(np.float32)
    values = np.resize(values, 4096)
    from math import erf

    for op, want in [
        ("exp", np.exp),
        ("tanh", np.tanh),
        ("erf", np.vectorize(erf)),
        ("sigmoid", lambda v: 1 / (1 + np.exp(-v))),
    ]:
        f = marked(te.func(te.compute((4096,), lambda i, op=op: getattr(te, op)(x[i]), name="Y")), i="vectorize")
        got = Kernel(f, build_func(f, TARGET), TARGET)(values)
        with np.errstate(over="ignore"):
            ref = want(values.astype(np.float64)).astype(np.float32)
        # Below four times the smallest normal number, exp may be 0.
        same = (got == ref) | ((np.abs(ref) < 4.8e-38) & (got == 0))
        error = np.abs(got[~same].astype(np.float64) - ref[~same]) / np.maximum(
            np.abs(ref[~same]), 1.0 if op == "erf" else 1e-38
        )
        assert error.max(initial=0.0) < 4e-7, op


def test_indices_that_are_not_contiguous():
    x = te.placeholder((6, 40), name="X")
    check(marked(te.func(te.compute((40, 6), lambda i, j: x[j, i], name="Y")), j="vectorize"))
    check(marked(te.func(te.compute((240,), lambda i: x[i // 40, i % 40], name="Y")), i="vectorize"))


def test_dtypes():
    i32, x = te.placeholder((6, 40), "int32", name="I"), te.placeholder((6, 40), name="X")
    check(
        marked(te.func(te.compute((6, 40), lambda i, j: te.cast(i32[i, j] * 3 + i, "int32"), name="Y")), j="vectorize")
    )
    big = te.compute((6, 40), lambda i, j: x[i, j] > 0.5, name="big")
    f = te.func(
        te.compute((6, 40), lambda i, j: te.select(big[i, j], x[i, j], te.cast(i32[i, j], "float32")), name="Y")
    )
    check(marked(f, j="vectorize", Y_j="vectorize"))


def test_concat_writes_parts_of_one_buffer():
    x, z = te.placeholder((6, 40), name="X"), te.placeholder((6, 24), name="Z")
    check(te.func(te.concat([x, z], 1, "Y")))


def test_register_tile_has_no_memory_traffic_inside():
    """An 8 x 2-vector tile is 16 accumulators: four steps of the reduction, loads and multiply-adds, and no store."""
    a, b, k = te.placeholder((64, 64), name="A"), te.placeholder((64, 32), name="B"), te.reduce_axis(64, "k")
    f = te.func(te.compute((64, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C"))
    block, _ = f.block("C")
    from workbench.ir import Affine

    v = Affine.var
    block = replace(block, binds=(v("i0") * 8 + v("i1"), v("j"), v("k")))
    nest = block
    for name, extent, kind in [("j", 32, "vectorize"), ("i1", 8, "unroll"), ("k", 64, "serial"), ("i0", 8, "serial")]:
        nest = For(name, extent, (nest,), kind)
    f = replace(f, body=(nest,))
    check(f)
    from workbench.codegen.llvm.llvmlite_binding import optimised_ir

    text = optimised_ir(emit_module(f, TARGET, "kernel")[0], TARGET)
    inner = next(
        part for part in text.split("\n\n") if part.lstrip().startswith("k_") and "fadd" in part.split("br ")[0]
    )
    assert "store" not in inner
    assert "mul nsw i64" not in inner, "addresses are counted, not computed"
    per_step = 8 * 32 * 4 // TARGET.vector_bytes
    assert inner.count("fadd contract") == min(4, max(1, 64 // per_step)) * per_step


def test_open_holes_are_refused():
    f = replace(matmul("ijk"), holes=(HoleInfo("h"),))
    with pytest.raises(BuildError) as e:
        build_func(f, TARGET)
    assert e.value.code == "build.holes"


def test_endless_unrolling_is_refused():
    x = te.placeholder((400, 400), name="X")
    f = te.func(te.compute((400, 400), lambda i, j: x[i, j] + 1.0, name="Y"))
    with pytest.raises(BuildError) as e:
        build_func(marked(f, i="unroll", j="unroll"), TARGET)
    assert e.value.code == "build.too_large"


@pytest.mark.parametrize(("triple", "line"), [("x86_64-unknown-linux-gnu", True), ("aarch64-unknown-linux-gnu", False)])
def test_an_innermost_loop_begins_a_line_of_code_on_x86(triple, line):
    """Loops of few instructions took up to four times as long where chance laid them across two lines."""
    target = Target(f"llvm -mtriple={triple} -mcpu=generic -threads=1")
    for _ in range(2):
        begins = re.findall(r"\.p2align\t(\d+)\n\.LBB", Schedule(matmul("ikj"), target).build().asm)
        assert ("6" in begins) is line
        assert ("4" in begins) is line, "outer loops are laid as ever"
