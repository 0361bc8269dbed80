"""Vectors that their loop's end or a guard cuts, guarded accumulators, padding: against the interpreter.

Every operand lies at the very end of readable memory, so that a lane too many is a crash and not a lucky read.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from codegen.guarded import AVX2, HOST, PLAIN, run_guarded

from workbench import te, workloads
from workbench.ir import Func
from workbench.ir.interpreter import interp
from workbench.schedule import Schedule
from workbench.target import Target

TARGETS = pytest.mark.parametrize("target", [HOST, AVX2, PLAIN], ids=["host", "avx2", "plain"])


def check(func: Func, target: Target = HOST, rtol: float = 3e-6) -> None:
    inputs = interp.random_inputs(func)
    want = interp.run(func, inputs)
    got = run_guarded(func, target, inputs)
    for b in func.outputs:
        a, e = got[b.name].astype(np.float64), want[b.name].astype(np.float64)
        assert np.max(np.abs(a - e)) <= rtol * max(1.0, np.max(np.abs(e))), b.name


def copy(n: int, dtype: str) -> Func:
    x = te.placeholder((3, n), dtype, name="X")
    return te.func(te.compute((3, n), lambda i, j: x[i, j] + x[i, j] if dtype != "bool" else x[i, j], name="Y"))


@TARGETS
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8", "uint8", "bool"])
def test_every_extent_of_a_vector_loop(dtype, target):
    for n in (*range(1, 71, 5), 96, 131, 257):
        s = Schedule(copy(n, dtype), target)
        s.vectorize("j")
        check(s.func, target, 0)


@TARGETS
def test_every_extent_of_a_guarded_vector(target):
    for n in range(2, 71, 6):
        s = Schedule(copy(n, "float32"), target)
        _, j = s.split("j", [None, 16 if n > 16 else n - 1], tail="guard")
        s.vectorize(j)
        check(s.func, target, 0)


def odd_matmul(rng: random.Random, target: Target) -> Schedule:
    """A product of odd extents whose loops are split anywhere, in one of the orders that keep a tile in registers."""
    m, n, k = (rng.randint(2, top) for top in (17, 53, 23))
    s = Schedule(workloads.matmul(m, n, k, bias=rng.random() < 0.5), target)
    i0, i1 = s.split("i", [None, rng.randint(1, min(m, 7))], tail="guard")
    j0, j1 = s.split("j", [None, rng.randint(1, min(n, 40))], tail="guard")
    ks = s.split("k", [None, rng.randint(1, k)], tail="guard") if rng.random() < 0.7 else ("k",)
    s.reorder(*rng.choice([(i0, j0, *ks, i1, j1), (ks[0], i0, j0, *ks[1:], i1, j1), (*ks, j0, i0, i1, j1)]))
    s.unroll(i1)
    s.vectorize(j1)
    return s


@TARGETS
@pytest.mark.parametrize("seed", range(5))
def test_products_of_odd_extents(seed, target):
    rng = random.Random(seed)
    for _ in range(3):
        check(odd_matmul(rng, target).func, target)


@TARGETS
@pytest.mark.parametrize(("m", "n", "k"), [(13, 53, 11), (7, 37, 19)])
def test_padded_products(m, n, k, target):
    """All three axes are padded: what is read beyond the end is neutral, what is written there is not kept."""
    s = Schedule(workloads.matmul(m, n, k), target)
    s.pad("C", "k", 24)
    s.pad("C", "j", 64)
    copied = s.pad("C", "i", 16)
    assert copied is not None
    i0, i1 = s.split("i", [None, 4])
    j0, j1 = s.split("j", [None, 32])
    k0, k1 = s.split("k", [None, 4])
    s.reorder(i0, j0, k0, k1, i1, j1)
    s.unroll(k1)
    s.unroll(i1)
    s.vectorize(j1)
    check(s.func, target)


def windows(kind: str, size: int, stride: int, c: int) -> Func:
    """A sum or a maximum over padded 3x3 windows; what pads a maximum is its neutral element."""
    neutral = 0.0 if kind == "sum" else -np.inf if kind == "inf" else -float(np.finfo(np.float32).max)
    x, kh, kw = te.placeholder((size, size, c), name="X"), te.reduce_axis(3, "kh"), te.reduce_axis(3, "kw")

    def at(h, w, o):
        inside = (h >= 1) & (h < size + 1) & (w >= 1) & (w < size + 1)
        return te.select(inside, x[h - 1, w - 1, o], neutral)

    reduce = te.sum if kind == "sum" else te.max
    out = (size - 1) // stride + 1
    return te.func(
        te.compute(
            (out, out, c), lambda h, w, o: reduce(at(h * stride + kh, w * stride + kw, o), axis=[kh, kw]), name="Y"
        )
    )


@TARGETS
@pytest.mark.parametrize("kind", ["sum", "max", "inf"])
@pytest.mark.parametrize(
    ("size", "stride", "c", "orders"), [(4, 1, 21, "hwo who how ohw"), (5, 2, 3, "hwo"), (2, 1, 1300, "hwo")]
)
def test_padded_windows(kind, size, stride, c, orders, target):
    """The last one reaches too far for a page of what pads it."""
    for order in orders.split():
        s = Schedule(windows(kind, size, stride, c), target)
        o0, o1 = s.split("o", [None, 16], tail="guard") if c > 16 else (None, "o")
        named = {"h": "h", "w": "w", "o": o0}
        s.reorder(*(named[x] for x in order if named[x]), "kh", "kw", o1)
        s.vectorize(o1)
        check(s.func, target)
        s.unroll("kw")
        s.unroll("kh")
        check(s.func, target)


@TARGETS
@pytest.mark.parametrize("taps", [3, 37])
def test_padding_over_lanes(taps, target):
    """The padded dimension is the vectorised one; many taps are counted, so that their masks are made at run time."""
    before = taps // 2
    x, k = te.placeholder((5, 45), name="X"), te.reduce_axis(taps, "k")

    def at(i, j):
        return te.select((j + k >= before) & (j + k < 45 + before), x[i, j + k - before], 0.0)

    f = te.func(te.compute((5, 45), lambda i, j: te.sum(at(i, j), axis=k), name="Y"))
    for unrolled in (False, True):
        s = Schedule(f, target)
        s.reorder("k", "j")
        s.vectorize("j")
        if unrolled:
            s.unroll("k")
        check(s.func, target)


@TARGETS
@pytest.mark.parametrize("dtype", ["float64", "int32", "int8", "uint8"])
def test_guarded_tiles_of_other_dtypes(dtype, target):
    s = Schedule(workloads.matmul(9, 37, 13, dtype=dtype), target)
    i0, i1 = s.split("i", [None, 4], tail="guard")
    j0, j1 = s.split("j", [None, 24], tail="guard")
    s.reorder(i0, j0, "k", i1, j1)
    s.unroll(i1)
    s.vectorize(j1)
    check(s.func, target)


def test_a_guarded_tile_decides_nothing_inside():
    """Rows and columns that do not exist are accumulated all the same: one loop, without branches or stores."""
    s = Schedule(workloads.matmul(50, 100, 64), HOST)
    i0, i1 = s.split("i", [None, 4], tail="guard")
    j0, j1 = s.split("j", [None, 32], tail="guard")
    s.reorder(i0, j0, "k", i1, j1)
    s.unroll(i1)
    s.vectorize(j1)
    text = s.build().llvm
    inner = text[text.index("\nk_") :]
    inner = inner[: inner.index("br i1")]
    assert "fadd" in inner
    assert "select" not in inner
    assert "icmp" in inner
    assert inner.count("icmp") == 1
    if HOST.isa >= {"avx512bw", "avx512vl"}:
        assert "masked.load" in inner


def test_prefetches_what_later_iterations_read():
    s = Schedule(workloads.matmul(32, 64, 64), HOST)
    j0, j1 = s.split("j", [None, 16])
    s.reorder("i", j0, "k", j1)
    s.vectorize(j1)
    plain = s.build().llvm.count("@llvm.prefetch.p0(ptr %")
    s.annotate("k", "prefetch", 4)
    check(s.func)
    assert s.build().llvm.count("@llvm.prefetch.p0(ptr %") > plain


@pytest.mark.parametrize("threads", [1, 2])
def test_the_next_panel_is_fetched_evenly_while_this_one_is_read(threads):
    target = Target("llvm", cpu="sapphirerapids", threads=threads)
    s = Schedule(workloads.matmul(32, 64, 64, constant_b=True), target)
    i0, i1 = s.split("i", [None, 4])
    j0, j1 = s.split("j", [None, 16])
    s.transform_layout("B", 1, 16)
    s.reorder(j0, i0, "k", i1, j1)
    s.unroll(i1)
    s.vectorize(j1)
    if threads > 1:
        s.parallel(j0)
    ahead = re.compile(r"@llvm.prefetch.p0\(ptr %\w+, i32 0, i32 2, i32 1\)")
    assert not ahead.findall(s.build().llvm)
    s.annotate(j0, "prefetch", 1)
    check(s.func)
    text = s.build().llvm
    # A panel of 64 rows of 64 bytes, in 8 passes of 16 rounds of 4 iterations: 32 bytes a round.
    assert len(ahead.findall(text)) == 1
    assert re.search(r"getelementptr i8, ptr %\w+, i64 4096\n", text), "the next panel"
    assert re.search(r"mul nsw i64 %i\d+, 512\n", text), "an eighth of it in every pass"
    assert re.search(r"%(v\d+)\.n = add nsw i64 %\1, 32\n", text), "a share in every round"


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_fetched_where_they_are_read_last_and_written(threads):
    target = Target("llvm", cpu="sapphirerapids", threads=threads)
    for note, kind, at in (("prefetch", "i32 0", "exps"), ("prefetch_write", "i32 1", "softmax")):
        s = Schedule(workloads.softmax(12, 64), target)
        for stage in ("inverse", "total", "exps", "largest"):
            s.compute_at(stage, "softmax_i")
        for stage in ("exps", "softmax"):
            s.vectorize(f"{stage}_j")
        s.annotate("softmax_i", note, 2)
        if threads > 1:
            s.parallel("softmax_i")
        lines = s.build().llvm.splitlines()
        found = [k for k, line in enumerate(lines) if "call void @llvm.prefetch" in line]
        assert len(found) == 4, (note, at)  # one per vector of a row: the maximum reads the row too, and earlier
        assert all(kind in lines[k] for k in found)
        scaled = [k for k, line in enumerate(lines) if "avx512.mask.scalef" in line and " = call" in line]
        assert all(min(scaled) - 40 < k for k in found) if at == "exps" else all(k > max(scaled) for k in found)
        check(s.func, HOST)


def mirrored(n: int, before: int, after: int, shift: int) -> Func:
    """Rows with mirrored ends, moved by the number of the row where that is asked for."""
    x = te.placeholder((3, n), name="X")

    def at(i, j):
        inner = te.select((j >= before) & (j < n + before), x[i, j - before], 0.0)
        end = te.select(j >= n + before, x[i, 2 * n + before - 2 - j], inner)
        whole = te.select(j < before, x[i, before - j], end)
        return whole + te.select((i + j >= shift) & (i + j < n), x[i, i + j], 0.5) if shift else whole

    return te.func(te.compute((3, n + before + after), at, name="Y"))


@TARGETS
def test_long_vector_loops_in_whose_middle_conditions_are_known(target):
    rng = random.Random(3)
    for _ in range(8):
        s = Schedule(mirrored(rng.randint(60, 300), rng.randint(0, 20), rng.randint(0, 20), rng.randint(0, 40)), target)
        s.vectorize("j")
        check(s.func, target, 0)


def test_no_condition_is_asked_in_the_middle_of_a_long_vector_loop():
    s = Schedule(mirrored(250, 5, 9, 0), AVX2)
    s.vectorize("j")
    masks = re.findall(r"call <8 x float> @llvm\.masked\.load\S*\(.*?, <8 x i1> (\S+)", s.build().llvm)
    assert masks
    assert all(mask.startswith("<") for mask in masks), "known masks, of the ends"


@TARGETS
def test_long_parts_of_a_vector_loop_are_loops_each(target):
    """Where a condition holds in a half, the other half is no code for every vector."""
    parts, each = 4, 256
    xs = [te.placeholder((each,), name=f"X{k}") for k in range(parts)]

    def at(j):
        value = 0.0
        for k, x in enumerate(xs):
            value = te.select((j >= k * each) & (j < (k + 1) * each), x[j - k * each], value)
        return value

    s = Schedule(te.func(te.compute((parts * each,), at, name="Y")), target)
    s.vectorize("j")
    check(s.func, target, 0)
    assert len(re.findall(r"^ +store ", s.build().llvm, re.M)) <= 4 * parts * (1 if target is not PLAIN else 4)


def test_many_short_parts_of_a_vector_loop_are_one_loop():
    parts, each = 40, 16
    x = te.placeholder((parts,), name="X")

    def at(j):
        value = 0.0
        for k in range(parts):
            value = te.select((j >= k * each) & (j < (k + 1) * each), x[k], value)
        return value

    s = Schedule(te.func(te.compute((parts * each,), at, name="Y")), AVX2)
    s.vectorize("j")
    check(s.func, AVX2, 0)
    assert len(re.findall(r"^ +store ", s.build().llvm, re.M)) == 4
