"""Loads at numbers that are read at run time: ``table[ids[i], j]``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from codegen.running import TARGET, compiled, marked

from workbench import te
from workbench.codegen.backend import build_func
from workbench.errors import ExpressionError, ScheduleError
from workbench.graph.structural_key import structural_key
from workbench.ir import Affine, Block, Bound, Cast, Const, Digit, Func, Load, Pick, Select
from workbench.ir.expr import free_digit, tidy
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.stmt import rewrite
from workbench.ir.text.parser import parse
from workbench.ir.verify import verify
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.target import Target

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TABLE = np.arange(7 * 20, dtype=np.float32).reshape(7, 20)


def rows(dtype: str = "int64", count: int = 6) -> Func:
    table, ids = te.placeholder((7, 20), name="T"), te.placeholder((count,), dtype, name="ids")
    return te.func(te.compute((count, 20), lambda i, j: table[ids[i], j] * 2.0, name="Y"))


def cells() -> Func:
    """Every lane reads somewhere else."""
    table, at = te.placeholder((7, 20), name="T"), te.placeholder((6, 20), "int32", name="at")
    return te.func(te.compute((6, 20), lambda i, j: table[at[i, j], j] + table[i, at[i, j]], name="Y"))


def edges(dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.array([0, 6, 7, info.max, info.min, 3], dtype)


def change(func: Func, fn) -> Func:
    return replace(func, body=rewrite(func.body, lambda s: (fn(s),) if isinstance(s, Block) else None))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_what_lies_outside_is_the_nearest_row_everywhere(dtype):
    func, ids = rows(dtype), edges(dtype)
    want = TABLE[np.clip(ids.astype(object), 0, 6).astype(int)] * 2
    feeds = {"T": TABLE, "ids": ids}
    np.testing.assert_array_equal(interp.run(func, feeds)["Y"], want)
    np.testing.assert_array_equal(evaluate(func, feeds)["Y"], want)
    np.testing.assert_array_equal(compiled(func, **feeds), want)
    np.testing.assert_array_equal(compiled(marked(func, j="vectorize"), **feeds), want)
    c = Target("c", threads=1)
    np.testing.assert_array_equal(Kernel(func, build_func(func, c), c)(**feeds), want)


@pytest.mark.parametrize("kinds", [{}, {"j": "vectorize"}, {"j": "unroll"}, {"i": "parallel", "j": "vectorize"}])
def test_lanes_that_read_anywhere(kinds):
    at = np.random.default_rng(0).integers(-9, 30, (6, 20)).astype(np.int32)
    want = TABLE[np.clip(at, 0, 6), np.arange(20)] + TABLE[np.arange(6)[:, None], np.clip(at, 0, 19)]
    np.testing.assert_array_equal(compiled(marked(cells(), **kinds), T=TABLE, at=at), want)


def test_a_guard_keeps_the_numbers_from_being_read_too():
    """Behind the end of both tensors there is nothing (a page that must not be touched)."""
    s = Schedule(cells())
    for loop in ("i", "j"):
        s.split(loop, [None, 8 if loop == "j" else 4], "guard")
    s.reorder("i.0", "j.0", "i.1", "j.1")
    s.vectorize("j.1")
    at = np.random.default_rng(1).integers(-9, 30, (6, 20)).astype(np.int32)
    want = TABLE[np.clip(at, 0, 6), np.arange(20)] + TABLE[np.arange(6)[:, None], np.clip(at, 0, 19)]
    for func in (s.func, marked(s.func, **{"i.1": "unroll"})):
        got = Kernel(func, build_func(func, TARGET, poison=True), TARGET, poison=True)(T=TABLE, at=at)
        np.testing.assert_array_equal(got, want)


def test_the_text_is_read_back_and_says_what_is_picked():
    table, ids = te.placeholder((7, 20), name="T"), te.placeholder((6,), name="ids", dtype="int64")
    func = te.func(te.compute((6,), lambda i: table[ids[i], ids[ids[i]]] + table[i, ids[i]], name="Y"))
    assert "T[at(ids[i], 7), at(ids[at(ids[i], 6)], 20)] + T[i, at(ids[i], 20)]" in str(func)
    assert parse(str(func)) == func
    s = Schedule(rows())
    s.cache_read("Y", "T")
    s.transform_layout("T.local", 0, 7)
    assert parse(str(s.func)) == s.func
    feeds = {"T": TABLE, "ids": edges("int64")}
    np.testing.assert_array_equal(interp.run(s.func, feeds)["Y"], interp.run(rows(), feeds)["Y"])


def test_parts_of_a_number_stay_apart():
    """A table that is packed by its rows: quotient and remainder of what was read."""
    table, ids = te.placeholder((8, 5), name="X"), te.placeholder((6,), "int64", name="ids")
    t = te.compute((8, 5), lambda i, j: table[i, j] + 1.0, name="T")
    func = te.func(te.compute((6, 5), lambda i, j: t[ids[i], j], name="Y"))
    s = Schedule(func)
    s.transform_layout("T", 0, 4)
    assert "T[(at(ids[i], 8) // 4 % 2), j, (at(ids[i], 8) % 4)]" in str(s.func)
    assert parse(str(s.func)) == s.func
    feeds = {"X": np.arange(40, dtype=np.float32).reshape(8, 5), "ids": np.array([7, 0, -3, 12, 4, 3])}
    want = feeds["X"][np.clip(feeds["ids"], 0, 7)] + 1
    np.testing.assert_array_equal(interp.run(s.func, feeds)["Y"], want)
    np.testing.assert_array_equal(compiled(s.func, **feeds), want)
    np.testing.assert_array_equal(Kernel(s.func, build_func(s.func, Target("c")), Target("c"))(**feeds), want)


def test_a_number_and_what_reads_by_it_become_one_block():
    x, ids = te.placeholder((7, 20), name="T"), te.placeholder((6,), "int64", name="ids")
    wrapped = te.compute((6,), lambda i: te.select(ids[i] < 0, ids[i] + 7, ids[i]), name="wrapped")
    turned = te.compute((20, 7), lambda j, i: x[i, j], name="turned")
    func = te.func(te.compute((6, 20), lambda i, j: turned[j, wrapped[i]], name="Y"))
    s = Schedule(func)
    s.compute_inline("wrapped")
    s.compute_inline("turned")
    assert "T[at(where(ids[i] < 0, ids[i] + 7, ids[i]), 7), j]" in str(s.func)
    ids_ = np.array([-1, 0, 6, -7, 3, 2])
    np.testing.assert_array_equal(interp.run(s.func, {"T": TABLE, "ids": ids_})["Y"], TABLE[ids_])


def test_what_looks_at_the_place_itself_is_not_put_into_a_reader_by_number():
    x, ids = te.placeholder((6,), name="X"), te.placeholder((4,), "int64", name="ids")
    padded = te.compute((8,), lambda i: te.select((i >= 1) & (i < 7), x[i - 1], 0.0), name="padded")
    s = Schedule(te.func(te.compute((4,), lambda i: padded[ids[i]], name="Y")))
    with pytest.raises(ScheduleError) as e:
        s.compute_inline("padded")
    assert e.value.code == "compute_inline.affine"


def test_a_reader_by_number_needs_everything():
    x, ids = te.placeholder((7, 20), name="X"), te.placeholder((6,), "int64", name="ids")
    t = te.compute((7, 20), lambda i, j: x[i, j] * 2.0, name="T")
    func = te.func(te.compute((6, 20), lambda i, j: t[ids[i], j], name="Y"))
    s = Schedule(func)
    s.compute_at("T", "Y_i")
    assert [s.func.loop(n)[0].extent for n in ("Y_i", "T_i", "T_j")] == [6, 7, 20]  # all rows, in each iteration
    feeds = {"X": TABLE, "ids": np.array([6, 0, 3, 3, -1, 9])}
    np.testing.assert_array_equal(interp.run(s.func, feeds)["Y"], interp.run(func, feeds)["Y"])
    moved = Schedule(func)
    with pytest.raises(ScheduleError) as e:
        moved.reverse_compute_at("Y", "i")
    assert e.value.code == "reverse_compute_at.stencil"


def test_functions_that_read_by_other_numbers_differ():
    table, ids = te.placeholder((7, 20), name="T"), te.placeholder((6,), "int64", name="ids")

    def key(fn) -> str:
        return structural_key(te.func(te.compute((6, 20), fn, name="Y")))

    same = key(lambda i, j: table[ids[i], j])
    assert same == key(lambda a, b: table[ids[a], b])
    assert same != key(lambda i, j: table[ids[i] + 1, j])
    assert same != key(lambda i, j: table[ids[5 - i], j])


def test_numbers_are_kept_once_and_in_order():
    i, n = Affine.var("i"), Load("n", (Affine.var("i"),))
    m = Load("m", (i,))
    one, two = Pick(n, 4), Pick(m, 4)
    turned = Load("T", (Affine(((free_digit(1, 4), 1),)), Affine(((free_digit(0, 4), 1),))), (one, two))
    assert tidy(turned) == Load("T", (Affine(((free_digit(0, 4), 1),)), Affine(((free_digit(1, 4), 1),))), (two, one))
    twice = Load("T", (Affine(((free_digit(0, 4), 1),)), Affine(((free_digit(1, 4), 1),))), (one, one))
    assert tidy(twice).at == (one,)
    assert tidy(Load("T", (i, i), (one,))).at == ()


@pytest.mark.parametrize("index", ["float32", "bool"])
def test_only_whole_numbers_are_indices(index):
    table, ids = te.placeholder((7,), name="T"), te.placeholder((6,), index, name="ids")
    with pytest.raises(ExpressionError) as e:
        te.compute((6,), lambda i: table[ids[i]], name="Y")
    assert e.value.code == "te.index"


ANY = Bound(Affine(((free_digit(0, 7), 1),)), 0, 3)


def _load(b: Block, **kw) -> Block:
    return replace(b, value=replace(b.value.a, **kw))


@pytest.mark.parametrize(
    ("spoil", "code"),
    {
        "no number": (lambda b: _load(b, at=()), "verify.pick"),
        "a fraction": (
            lambda b: _load(b, at=(Pick(Cast("float32", b.value.a.at[0].value), 7),)),
            "verify.pick",
        ),
        "too many values": (
            lambda b: _load(b, index=(Affine(((free_digit(0, 8), 1),)), b.value.a.index[1])),
            "verify.index_range",
        ),
        "in a condition": (
            lambda b: replace(b, value=Select((ANY,), b.value, Const(0.0))),
            "verify.pick",
        ),
        "a number from outside": (
            lambda b: _load(b, at=(Pick(Load("ids", (Affine.var("i") + 1,)), 7),)),
            "verify.index_range",
        ),
        "where it is stored": (
            lambda b: replace(b, index=(Affine(((Digit("@0", 1, 6), 1),)), b.index[1])),
            "verify.pick",
        ),
    }.values(),
    ids=["no number", "a fraction", "too many values", "in a condition", "a number from outside", "where it is stored"],
)
def test_nests_that_make_no_sense_are_found(spoil, code):
    func = rows()
    verify(func)
    with pytest.raises(ScheduleError) as e:
        verify(change(func, spoil))
    assert e.value.code == code
