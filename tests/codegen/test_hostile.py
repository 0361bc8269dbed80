"""What a code generator gets wrong when nobody looks: hoisting, lanes, arithmetic."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from workbench.codegen import build_func
from workbench.errors import BuildError
from workbench.ir import interp, te
from workbench.ir.affine import Affine
from workbench.ir.expr import Binary, Bound, Const, Load
from workbench.ir.func import Buffer, Func
from workbench.ir.stmt import Block, For, Iter, rewrite
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.target import Target

TARGET = Target.host(threads=2)
V = Affine.var


def marked(func: Func, **kinds: str) -> Func:
    """Set loop kinds by name, without asking whether that is legal."""

    def fn(s):
        return (replace(s, kind=kinds[s.name]),) if isinstance(s, For) and s.name in kinds else None

    return replace(func, body=rewrite(func.body, fn))


def compiled(func: Func, *arrays: np.ndarray, **named: np.ndarray) -> np.ndarray:
    return Kernel(func, build_func(func, TARGET, poison=True), TARGET, poison=True)(*arrays, **named)


def check(func: Func, inputs: dict[str, np.ndarray] | None = None, rtol: float = 1e-6) -> None:
    inputs = interp.random_inputs(func) if inputs is None else inputs
    want = interp.run(func, inputs)
    got = compiled(func, **inputs)
    for b, y in zip(func.outputs, got if isinstance(got, tuple) else (got,), strict=True):
        np.testing.assert_allclose(y, want[b.name], rtol=rtol, atol=1e-6, err_msg=b.name)


# ---- guarded loads ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool"])
@pytest.mark.parametrize("width", [20, 37, 150, 300])
def test_padding_decided_in_a_vector_loop_and_outside_of_it(dtype, width):
    """The vectorised axis is inside of its bounds for whole vectors while another axis still decides."""
    x = te.placeholder((9, width), dtype, name="X")
    zero = False if dtype == "bool" else 0

    def pad(h, w):
        return te.select((h >= 1) & (h < 10) & (w >= 2) & (w < width + 2), x[h - 1, w - 2], zero)

    check(marked(te.func(te.compute((11, width + 4), pad, name="Y")), w="vectorize"))


@pytest.mark.parametrize("step", [-3, -1, 2, 3])
def test_padded_steps_over_lanes(step):
    """Lanes that move backwards or in steps must not leave the zeros that a failed guard reads."""
    n = 70
    x = te.placeholder((5, n * abs(step)), name="X")

    def at(w):
        return w * step if step > 0 else (n - 1) * -step + w * step

    f = te.func(te.compute((7, n), lambda h, w: te.select((h >= 1) & (h < 6), x[h - 1, at(w)], 0.0), name="Y"))
    check(marked(f, w="vectorize"))
    check(marked(f, h="unroll", w="vectorize"))


def test_guard_and_lanes_reach_beyond_the_zeros():
    x = te.placeholder((3, 2, 40_000), name="X")
    f = te.func(te.compute((5, 40_000), lambda h, w: te.select((h >= 1) & (h < 4), x[h - 1, 1, w], 0.0), name="Y"))
    check(marked(f, w="vectorize"))


def test_guard_that_never_holds():
    x = te.placeholder((40,), name="X")
    f = te.func(te.compute((40,), lambda i: te.select((i >= 20) & (i < 10), x[i], -1.0), name="Y"))
    assert (compiled(f, np.zeros(40, np.float32)) == -1).all()
    check(marked(f, i="vectorize"))


def test_guard_on_digits_under_lanes():
    x = te.placeholder((48,), name="X")
    for low, high in itertools.product(range(4), range(4)):
        f = te.func(
            te.compute((48,), lambda i, a=low, b=high: te.select((i % 3 >= a) & (i % 3 < b), x[i], 7.0), name="Y")
        )
        check(marked(f, i="vectorize"))


def test_index_digits_as_data_under_lanes():
    x = te.placeholder((77,), name="X")
    f = te.func(te.compute((77,), lambda i: x[i] + te.cast(i % 7, "float32") * 100 + te.cast(i // 7, "float32")))
    check(marked(f, i="vectorize"))


def test_nested_guards_with_other_values():
    x = te.placeholder((6, 21), name="X")

    def value(h, w):
        inner = te.select((w >= 1) & (w < 22), x[h - 1, w - 1] * 2.0 + 1.0, 3.0)
        return te.select((h >= 1) & (h < 7), inner, te.select(w >= 11, 5.0, 6.0))

    f = te.func(te.compute((8, 23), value, name="Y"))
    for kinds in ({}, {"w": "vectorize"}, {"h": "unroll", "w": "vectorize"}, {"h": "parallel", "w": "unroll"}):
        check(marked(f, **kinds))


# ---- guards of blocks ------------------------------------------------------------------------------------------------


def guarded(reduce: bool, kinds: tuple[str, str, str] = ("serial", "serial", "serial")) -> Func:
    """``Y[i] = X[i] (+ ...)`` with ``i = a * 4 + b`` cut to 10 of 12, as an imperfect split would leave it."""
    bind = V("a") * 4 + V("b")
    guard = (Bound(V("i"), 0, 10),)
    if reduce:
        own = Load("Y", (V("i"),))
        value = Binary("add", own, Load("X", (V("i"), V("k"))))
        block = Block(
            "Y", (Iter("i", 10, "S"), Iter("k", 6, "R")), (bind, V("k")), "Y", (V("i"),), value, Const(0.0), guard
        )
        body = For("a", 3, (For("k", 6, (For("b", 4, (block,), kinds[2]),), kinds[1]),), kinds[0])
        return Func("f", (Buffer("X", (10, 6), "float32", "input"), Buffer("Y", (10,), "float32", "output")), (body,))
    block = Block("Y", (Iter("i", 10, "S"),), (bind,), "Y", (V("i"),), Load("X", (V("i"),)), None, guard)
    body = For("a", 3, (For("b", 4, (block,), kinds[2]),), kinds[0])
    return Func("f", (Buffer("X", (10,), "float32", "input"), Buffer("Y", (10,), "float32", "output")), (body,))


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize("a", ["serial", "unroll", "parallel"])
@pytest.mark.parametrize("b", ["serial", "unroll", "vectorize"])
def test_guarded_blocks_stay_within_their_buffers(reduce, a, b):
    func = guarded(reduce, (a, "serial", b))
    inputs = interp.random_inputs(func)
    want = interp.run(func, inputs)["Y"]
    kernel = Kernel(func, build_func(func, TARGET, poison=True), TARGET)
    from workbench.runtime.buffers import pointer_table

    room = np.full(64, 12345.0, np.float32)
    kernel._around.call(kernel._loaded.address, pointer_table([inputs["X"].ctypes.data, room.ctypes.data]))
    np.testing.assert_allclose(room[:10], want, rtol=1e-6)
    assert (room[10:] == 12345.0).all()


@pytest.mark.parametrize("b", ["serial", "unroll", "vectorize"])
def test_no_load_leaves_the_guard(b):
    """The input ends at the end of a page: a load before its guard would be a fault."""
    import mmap

    func = guarded(False, ("serial", "serial", b))
    kernel = Kernel(func, build_func(func, TARGET), TARGET)
    from workbench.runtime.buffers import pointer_table

    page = mmap.PAGESIZE
    area = mmap.mmap(-1, 2 * page)
    base = np.frombuffer(area, np.uint8).ctypes.data
    _no_access(base + page, page)
    x = np.frombuffer(area, np.float32, 10, page - 40)
    x[:] = np.arange(10)
    y = np.zeros(16, np.float32)
    kernel._around.call(kernel._loaded.address, pointer_table([x.ctypes.data, y.ctypes.data]))
    assert (y[:10] == x).all()


def _no_access(address: int, nbytes: int) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(nbytes), 0) == 0


# ---- integers --------------------------------------------------------------------------------------------------------

INTEGERS = ["int8", "int32", "int64", "uint8", "uint32"]


@pytest.mark.parametrize("op", ["__truediv__", "__mod__"])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("kind", ["serial", "vectorize"])
def test_integer_quotients_of_all_signs_and_by_zero(op, dtype, kind):
    """A zero divisor gives 0 and must not trap, and neither may the smallest number by -1."""
    info = np.iinfo(dtype)
    values = np.array([0, 1, 2, 3, 7, 100, info.min, info.min + 1, info.max], dtype)
    if info.min < 0:
        values = np.concatenate([values, np.array([-1, -2, -3, -7, -100], dtype)])
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    n = len(a)
    ta, tb = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    f = marked(te.func(te.compute((n,), lambda i: getattr(ta[i], op)(tb[i]), name="Y")), i=kind)
    check(f, {"A": a, "B": b}, rtol=0)


def test_quotient_is_safe_in_a_branch_that_is_not_taken():
    a = te.placeholder((33,), "int32", name="A")
    f = te.func(te.compute((33,), lambda i: te.select(a[i] > 0, 100 / a[i], -1), name="Y"))
    values = np.arange(-16, 17, dtype=np.int32)
    check(marked(f, i="vectorize"), {"A": values}, rtol=0)
    f = te.func(te.compute((35,), lambda i: te.select((i >= 1) & (i < 34), 100 / a[i - 1], -1), name="Y"))
    check(marked(f, i="vectorize"), {"A": np.ones(33, np.int32)}, rtol=0)


def test_signedness_is_part_of_an_operation():
    """Equal text on signed and unsigned views of one value must not be one value."""
    x = te.placeholder((40,), "uint8", name="X")
    z = te.placeholder((40,), "uint8", name="Z")

    def value(i):
        unsigned = te.cast(x[i] + z[i], "float32")
        signed = te.cast(te.cast(x[i], "int8") + te.cast(z[i], "int8"), "float32")
        return unsigned * 1000 + signed

    f = te.func(te.compute((40,), value, name="Y"))
    inputs = {"X": np.arange(40, dtype=np.uint8) * 3, "Z": np.arange(40, dtype=np.uint8)}
    want = (inputs["X"] + inputs["Z"]).astype(np.float32) * 1000 + (
        inputs["X"].astype(np.int8) + inputs["Z"].astype(np.int8)
    ).astype(np.float32)
    np.testing.assert_array_equal(compiled(f, **inputs), want)
    check(f, inputs)


def test_narrow_integers_wrap_before_they_are_used():
    x = te.placeholder((16,), "uint8", name="X")
    f = te.func(te.compute((16,), lambda i: te.cast(x[i] - 5, "float32"), name="Y"))
    check(f, {"X": np.arange(16, dtype=np.uint8)})


@pytest.mark.parametrize("kind", ["serial", "vectorize"])
def test_truth_values(kind):
    a, b = te.placeholder((40,), "bool", name="A"), te.placeholder((40,), "bool", name="B")
    va, vb = np.arange(40) % 2 == 1, np.arange(40) // 2 % 2 == 1
    for op, want in [
        (te.maximum, va | vb),
        (te.minimum, va & vb),
        (lambda p, q: p < q, ~va & vb),
        (lambda p, q: p >= q, va | ~vb),
        (lambda p, q: p + q, va | vb),
        (lambda p, q: p * q, va & vb),
    ]:
        f = marked(te.func(te.compute((40,), lambda i, op=op: op(a[i], b[i]), name="Y")), i=kind)
        got = compiled(f, va, vb)
        assert (got == want).all(), op
        assert (interp.run(f, {"A": va, "B": vb})["Y"] == want).all(), op


# ---- lanes -----------------------------------------------------------------------------------------------------------


def test_mixed_widths_in_one_vector_loop():
    x, i8 = te.placeholder((3, 83), name="X"), te.placeholder((3, 83), "int8", name="I")
    d = te.placeholder((3, 83), "float64", name="D")

    def value(r, i):
        wide = te.cast(x[r, i], "float64") * d[r, i] + te.cast(i8[r, i], "float64")
        return te.select(i8[r, i] > 0, wide, te.cast(i + r, "float64"))

    f = te.func(te.compute((3, 83), value, name="Y"))
    check(marked(f, i="vectorize"))
    g = te.func(te.compute((3, 83), lambda r, i: te.cast(x[r, 82 - i] * 3.0, "int8"), name="Y"))
    check(marked(g, i="vectorize"))


def test_init_nest_does_not_answer_for_its_block():
    """The init of a vectorised reduction fits lanes where the reduction itself, which reads digits, does not."""
    x, k = te.placeholder((13, 40), name="X"), te.reduce_axis(5, "k")
    r = te.reduce_axis(3, "r")

    def term(i, j):
        return te.sum(te.select(j + k >= 4, x[j // 4 + k // 5 + r * 0, (j % 4) * 9 + k], 0.5) * (r + 1), axis=[k, r])

    f = te.func(te.compute((2, 40), lambda i, j: term(i, j), name="Y"))
    block, _ = f.block("Y")
    for order in itertools.permutations("ikr"):
        nest = For("j", 40, (block,), "vectorize")
        for name in reversed(order):
            nest = For(name, {"i": 2, "k": 5, "r": 3}[name], (nest,))
        check(replace(f, body=(nest,)))


@pytest.mark.parametrize("kinds", [("unroll", "serial"), ("unroll", "unroll"), ("serial", "unroll")])
def test_padding_differs_between_lanes_of_an_accumulator(kinds):
    """Some taps of a reduction fit vectors and others do not: they must still share one accumulator."""
    x, kw, c = te.placeholder((40, 3), name="X"), te.reduce_axis(3, "kw"), te.reduce_axis(3, "c")

    def term(w):
        return te.sum(te.select((w + kw >= 1) & (w + kw < 41), x[w + kw - 1, c], 0.25) * 2.0, axis=[kw, c])

    f = te.func(te.compute((40,), lambda w: term(w), name="Y"))
    block, _ = f.block("Y")
    nest = For("w", 40, (block,), "vectorize")
    for name, kind in zip(("kw", "c"), kinds, strict=True):
        nest = For(name, 3, (nest,), kind)
    check(replace(f, body=(nest,)))
    check(replace(f, body=(For("w0", 1, (nest,)),)))


@pytest.mark.parametrize("kind", ["serial", "unroll"])
def test_truth_values_are_accumulated(kind):
    x, k = te.placeholder((40, 5), "bool", name="X"), te.reduce_axis(5, "k")
    for reduce, want in ((te.sum, np.any), (te.prod, np.all), (te.max, np.any), (te.min, np.all)):
        f = te.func(te.compute((40,), lambda i, r=reduce: r(x[i, k], axis=k), name="Y"))
        values = np.random.default_rng(0).random((40, 5)) < 0.4
        for order in ("ik", "ki"):
            inner = "vectorize" if order == "ki" else kind
            sizes = {"i": 40, "k": 5}
            nest = For(order[1], sizes[order[1]], (f.block("Y")[0],), inner)
            g = replace(f, body=(For(order[0], sizes[order[0]], (nest,), kind),))
            assert (compiled(g, values) == want(values, axis=1)).all()
            assert (interp.run(g, {"X": values})["Y"] == want(values, axis=1)).all()


def test_vector_loop_around_more_than_one_block_is_refused():
    x = te.placeholder((4, 40), name="X")
    t = te.compute((4, 40), lambda i, j: x[i, j] * 2.0, name="T")
    f = te.func(te.compute((4, 40), lambda i, j: t[i, j] + 1.0, name="Y"))
    s = Schedule(f)
    name = f.block("Y")[1][-1].name
    s.compute_at("T", name)
    with pytest.raises(BuildError) as e:
        build_func(marked(s.func, **{name: "vectorize"}), TARGET)
    assert e.value.code == "build.vector_body"


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_buffers_that_several_nests_change_in_place():
    """Loads of one nest do not answer for those of the next, where everything is unrolled into one scope."""
    own = Load("Y", (V("i"),))

    def nest(name: str, value) -> For:
        return For(f"{name}_i", 1, (Block(name, (Iter("i", 1, "S"),), (V(f"{name}_i"),), "Y", (V("i"),), value),))

    body = (
        nest("first", Load("X", (V("i"),))),
        nest("twice", Binary("mul", own, Const(2.0))),
        nest("thrice", Binary("mul", own, Const(3.0))),
        nest("more", Binary("mul", own, Const(5.0))),
    )
    f = Func("f", (Buffer("X", (1,), "float32", "input"), Buffer("Y", (1,), "float32", "output")), body)
    check(f, {"X": np.array([7.0], np.float32)})


@pytest.mark.parametrize("inner", [40, 9000])
def test_temporaries_of_parallel_tasks(inner):
    """Small ones live on the stack, large ones in the thread's own part of the workspace; both are private."""
    x = te.placeholder((37, inner), name="X")
    t = te.compute((37, inner), lambda i, j: x[i, j] * 2.0, name="T")
    u = te.compute((37, inner), lambda i, j: t[i, inner - 1 - j] + 1.0, name="U")
    k = te.reduce_axis(inner, "k")
    f = te.func(te.compute((37,), lambda i: te.sum(u[i, k] * t[i, k], axis=k), name="Y"))
    s = Schedule(f)
    outer = next(lp.name for lp in s.loops if lp.name in ("i", "Y_i"))
    s.compute_at("U", outer)
    s.compute_at("T", outer)
    s.parallel(outer)
    values = np.random.default_rng(0).integers(-3, 4, (37, inner)).astype(np.float32)
    t_ = values * 2
    want = ((t_[:, ::-1] + 1) * t_).sum(1)
    for _ in range(5):
        np.testing.assert_allclose(compiled(s.func, values), want)


def test_more_parallel_iterations_than_tasks():
    x = te.placeholder((7, 11, 13, 5), name="X")
    f = te.func(te.compute((7, 11, 13, 5), lambda a, b, c, d: x[a, b, c, d] + te.cast(a * 100 + b, "float32")))
    check(marked(f, a="parallel", b="parallel", c="parallel", d="vectorize"))
    check(marked(f, a="parallel", b="parallel", c="parallel", d="parallel"))


def test_everything_of_extent_one():
    x = te.placeholder((1, 1, 1), name="X")
    k = te.reduce_axis(1, "k")
    p = te.compute((1, 1, 1), lambda a, b, c: x[a, b, c] * 3.0, name="P")
    q = te.compute((1, 1), lambda a, b: te.sum(p[a, b, k], axis=k), name="Q")
    check(te.func(te.compute((1, 1, 1), lambda a, b, c: te.exp(q[a, b]) + p[a, b, c], name="Y")))


def test_unrolled_reduction_that_is_too_large_to_keep_in_registers():
    x, k = te.placeholder((90, 4), name="X"), te.reduce_axis(4, "k")
    f = te.func(te.compute((90,), lambda i: te.sum(x[i, k], axis=k), name="Y"))
    block, _ = f.block("Y")
    nest = For("k", 4, (For("i", 90, (block,), "unroll"),), "unroll")
    check(replace(f, body=(nest,)))


# ---- floating point --------------------------------------------------------------------------------------------------

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 100.0, -100.0, 1e30, -1e30, 1e-40], np.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["serial", "vectorize"])
def test_nan_survives_maximum_and_minimum(dtype, kind):
    a, b = (x.ravel().astype(dtype) for x in np.meshgrid(SPECIAL, SPECIAL))
    n = len(a)
    ta, tb = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    for op, want in [
        (lambda i: te.maximum(ta[i], tb[i]), np.maximum(a, b)),
        (lambda i: te.minimum(ta[i], tb[i]), np.minimum(a, b)),
        (lambda i: te.maximum(ta[i], 0.0), np.maximum(a, 0)),
        (lambda i: te.maximum(0.0, ta[i]), np.maximum(0, a)),
        (lambda i: te.minimum(6.0, te.maximum(0.0, ta[i])), np.clip(a, 0, 6)),
    ]:
        f = marked(te.func(te.compute((n,), op, name="Y")), i=kind)
        given = {x.name: {"A": a, "B": b}[x.name] for x in f.inputs}
        np.testing.assert_array_equal(compiled(f, **given), want)


@pytest.mark.parametrize("place", [0, 3, 17, 32])
@pytest.mark.parametrize("kind", ["serial", "vectorize"])
def test_nan_survives_a_largest_element(place, kind):
    x, k = te.placeholder((33, 20), name="X"), te.reduce_axis(33, "k")
    f = te.func(te.compute((20,), lambda i: te.max(x[k, i], axis=k), name="Y"))
    f = replace(f, body=(For("k", 33, (For("i", 20, (f.block("Y")[0],), kind),)),))
    values = np.random.default_rng(0).standard_normal((33, 20)).astype(np.float32)
    values[place, 5] = np.nan
    np.testing.assert_array_equal(compiled(f, values), values.max(0))
    np.testing.assert_array_equal(interp.run(f, {"X": values})["Y"], values.max(0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["exp", "tanh", "sigmoid", "erf", "abs", "sqrt", "floor", "ceil", "rsqrt", "log"])
def test_special_values_through_functions(op, dtype):
    import math

    own = {
        "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "erf": np.vectorize(math.erf, otypes=[np.float64]),
        "rsqrt": lambda v: 1 / np.sqrt(v),
    }
    x = te.placeholder((len(SPECIAL),), dtype, name="X")
    f = te.func(te.compute((len(SPECIAL),), lambda i: getattr(te, op)(x[i]), name="Y"))
    values = SPECIAL.astype(dtype)
    with np.errstate(all="ignore"):
        want = own.get(op, getattr(np, op, None))(values.astype(np.float64))
        want = want.astype(dtype)
    for kind in ("serial", "vectorize"):
        got = compiled(marked(f, i=kind), values)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-37, err_msg=kind)
    np.testing.assert_allclose(interp.run(f, {"X": values})["Y"], want, rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainder_has_the_sign_of_the_divisor(dtype):
    values = np.array([0.0, 0.5, -0.5, 1.5, -1.5, 7.25, -7.25, 3.0, -3.0], dtype)
    a, b = (x.ravel() for x in np.meshgrid(values, values[1:]))
    ta, tb = te.placeholder(a.shape, dtype, name="A"), te.placeholder(a.shape, dtype, name="B")
    f = te.func(te.compute(a.shape, lambda i: ta[i] % tb[i], name="Y"))
    for kind in ("serial", "vectorize"):
        np.testing.assert_allclose(compiled(marked(f, i=kind), a, b), np.mod(a, b))


def test_casts_of_values_in_range():
    x = np.array([-127.9, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 126.9, 3.0] * 5, np.float32)
    for dtype in ("int8", "int32", "int64", "bool", "float64"):
        t = te.placeholder(x.shape, name="X")
        f = te.func(te.compute(x.shape, lambda i, t=t, d=dtype: te.cast(t[i], d), name="Y"))
        for kind in ("serial", "vectorize"):
            np.testing.assert_array_equal(compiled(marked(f, i=kind), x), x.astype(dtype))
    t = te.placeholder(x.shape, name="X")
    f = te.func(te.compute(x.shape, lambda i: te.cast(t[i], "uint8"), name="Y"))
    np.testing.assert_array_equal(compiled(marked(f, i="vectorize"), abs(x) * 2), (abs(x) * 2).astype("uint8"))
