"""What a code generator gets wrong when nobody looks: hoisting, lanes, memory."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from codegen.running import TARGET, check, compiled, marked

from workbench import te
from workbench.codegen.backend import build_func
from workbench.errors import BuildError
from workbench.ir import Affine, Binary, Block, Bound, Buffer, Const, For, Func, Iter, Load
from workbench.ir.interpreter import interp
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule

V = Affine.var


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


@pytest.mark.parametrize("columns", [7, 5000])
@pytest.mark.parametrize("back", [False, True])
def test_no_lane_reads_beyond_the_zeros(columns, back):
    """Lanes far apart in memory, or backwards, whose index is mixed with what the condition looks at."""
    x = te.placeholder((64, columns), name="X")

    def at(h, w):
        row = (h - 1) * 16 + w
        return te.select((h >= 1) & (h < 5), x[63 - row if back else row, 3] * 2.0, 1.0)

    f = marked(te.func(te.compute((6, 16), at, name="Y")), w="vectorize")
    text = build_func(f, TARGET).source
    chosen = set(re.findall(r"(%\w+) = select i1 [^,]+, ptr [^,]+, ptr @wb.zeros", text))
    moved = re.findall(r"getelementptr float, ptr (%\w+), i64 (-?\d+)", text)
    assert chosen
    assert all(0 <= 4 * int(by) < 1 << 16 for base, by in moved if base in chosen)
    check(f)


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


def test_zeros_are_there_where_they_are_read():
    x = te.placeholder((8, 8), name="X")
    plain = te.func(te.compute((8, 8), lambda i, j: x[i, j] * 2.0, name="Y"))
    padded = te.func(te.compute((9, 8), lambda i, j: te.select(i >= 1, x[i - 1, j], 0.0), name="Y"))
    sizes = [build_func(f, TARGET).source.count("zeroinitializer, align 64") for f in (plain, padded)]
    assert sizes == [0, 1]


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
