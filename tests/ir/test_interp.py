from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workbench import te, workloads
from workbench.errors import InputError, RunError, ShapeError
from workbench.ir import Affine, Block, Bound, Buffer, Const, Digit, For, Func, HoleInfo, Iter, LayoutStep, Load
from workbench.ir.interpreter import interp
from workbench.ir.stmt import UNORDERED_KINDS


def var(name):
    return Affine.var(name)


def copy_func(binds, loops, extent=8, guard=(), kind="serial", shape=None):
    """Y[i] = X[i] under the given loops."""
    block = Block("Y", (Iter("i", extent, "S"),), (binds,), "Y", (var("i"),), Load("X", (var("i"),)), None, guard)
    body = (block,)
    for name, n in reversed(loops):
        body = (For(name, n, body, kind),)
    n = shape or extent
    return Func("copy", (Buffer("X", (n,), role="input"), Buffer("Y", (n,), role="output")), body)


X = np.arange(8, dtype="float32")


def test_what_is_not_written_stays_nan():
    out = interp.run(copy_func(var("a"), [("a", 5)]), {"X": X})["Y"]
    np.testing.assert_array_equal(out[:5], X[:5])
    assert np.isnan(out[5:]).all()


def test_counts_writes():
    twice = copy_func(var("b"), [("a", 2), ("b", 8)])
    assert (interp.trace_run(twice, {"X": X}).writes["Y"] == 2).all()
    fused = copy_func(Affine(((Digit("f", 4, 2), 4),)) + Affine(((Digit("f", 1, 4), 1),)), [("f", 8)])
    assert (interp.trace_run(fused, {"X": X}).writes["Y"] == 1).all()


def test_counts_initialisations_and_updates_of_a_reduction():
    func = workloads.matmul(4, 3, 5)
    result = interp.trace_run(func, interp.random_inputs(func))
    assert (result.writes["C"] == 1).all()
    assert (result.updates["C"] == 5).all()


def test_an_axis_that_leaves_its_extent_is_an_error():
    with pytest.raises(RunError) as e:
        interp.run(copy_func(var("a") * 2, [("a", 8)]), {"X": X})
    assert e.value.code == "interp.axis"


def test_an_index_that_leaves_its_buffer_is_an_error():
    with pytest.raises(RunError) as e:
        interp.run(copy_func(var("a"), [("a", 9)], extent=9, shape=8), {"X": X})
    assert e.value.code == "interp.index"


def test_a_guard_keeps_points_out():
    form = var("a") * 3 + var("b")
    out = interp.trace_run(copy_func(form, [("a", 3), ("b", 3)], guard=(Bound(var("i"), 0, 8),)), {"X": X})
    np.testing.assert_array_equal(out.outputs["Y"], X)
    assert (out.writes["Y"] == 1).all()


def test_select_does_not_load_the_branch_that_is_not_taken():
    x = te.placeholder((4,), name="X")
    y = te.compute((6,), lambda i: te.select((i >= 1) & (i < 5), x[i - 1], 7.0), name="Y")
    out = interp.run(te.func(y), {"X": X[:4]})["Y"]
    np.testing.assert_array_equal(out, [7, 0, 1, 2, 3, 7])


def test_more_loops_than_python_can_nest():
    n = 40
    form = Affine()
    for k in range(3):
        form = form + var(f"l{k}") * 2**k
    loops = [(f"l{k}", 2 if k < 3 else 1) for k in range(n)]
    np.testing.assert_array_equal(interp.run(copy_func(form, loops), {"X": X})["Y"], X)


def test_a_deep_imperfect_nest_continues_in_functions():
    """30 loops of 2, each with a statement beside the next loop (only the innermost few vary the index)."""
    block = Block("Y0", (Iter("i", 1, "S"),), (Affine(),), "Y", (var("i"),), Load("X", (var("i"),)))
    body = (replace(block, name="deep"),)
    for k in reversed(range(30)):
        body = (For(f"l{k}", 1 if k % 3 else 2, (*body, replace(block, name=f"b{k}"))),)
    func = Func("deep", (Buffer("X", (1,), role="input"), Buffer("Y", (1,), role="output")), body)
    result = interp.trace_run(func, {"X": X[5:6]})
    assert result.outputs["Y"][0] == 5
    assert result.writes["Y"][0] > 2**10


@pytest.mark.parametrize("order", ["reversed", "shuffled"])
@pytest.mark.parametrize("kind", sorted(UNORDERED_KINDS))
def test_another_order_shows_a_loop_that_must_not_be_parallel(kind, order):
    """Y[0] = X[i] for all i: the last one wins."""
    block = Block("Y", (Iter("i", 8, "S"),), (var("a"),), "Y", (Affine(),), Load("X", (var("i"),)))
    func = Func(
        "race",
        (Buffer("X", (8,), role="input"), Buffer("Y", (1,), role="output")),
        (For("a", 8, (block,), kind),),
    )
    assert interp.run(func, {"X": X})["Y"][0] == 7
    assert interp.run(func, {"X": X}, order=order, seed=1)["Y"][0] != 7


def test_packed_constants_are_packed_from_the_shape_the_user_gives():
    block = Block(
        "Y",
        (Iter("i", 4, "S"), Iter("j", 6, "S")),
        (var("i"), var("j")),
        "Y",
        (var("i"), var("j")),
        Load("W", (Affine(((Digit("j", 3), 1),)), var("i"), Affine(((Digit("j", 1, 3), 1),)))),
    )
    w = Buffer("W", (2, 4, 3), role="const", layout=(LayoutStep(1, 3),))
    func = Func("unpack", (w, Buffer("Y", (4, 6), role="output")), (For("i", 4, (For("j", 6, (block,)),)),))
    x = np.arange(24, dtype="float32").reshape(4, 6)
    np.testing.assert_array_equal(interp.run(func, {"W": x})["Y"], x)


def test_arithmetic_follows_ieee_and_integers_wrap():
    x = te.placeholder((6,), name="X")
    y = te.compute((6,), lambda i: te.log(x[i]) + te.exp(x[i] * 1000.0) + te.const(1.0) / x[i], name="Y")
    values = np.array([0, -1, 1, np.inf, np.nan, 2], "float32")
    with np.errstate(all="ignore"):
        want = np.log(values) + np.exp(values * 1000) + 1 / values
    np.testing.assert_allclose(interp.run(te.func(y), {"X": values})["Y"], want, rtol=1e-6)
    n = te.placeholder((2,), "int8", name="N")
    z = te.compute((2,), lambda i: n[i] * 2, name="Z")
    np.testing.assert_array_equal(
        interp.run(te.func(z), {"N": np.array([100, -100], "int8")})["Z"], np.array([-56, 56], "int8")
    )


def test_maximum_keeps_nan():
    x = te.placeholder((3,), name="X")
    r = te.reduce_axis(3, "k")
    y = te.compute((1,), lambda i: te.max(x[r + i], axis=r), name="Y")
    assert np.isnan(interp.run(te.func(y), {"X": np.array([1, np.nan, 2], "float32")})["Y"][0])


def test_errors_name_what_is_missing():
    func = copy_func(var("a"), [("a", 8)])
    with pytest.raises(ShapeError, match="X"):
        interp.run(func, {})
    with pytest.raises(ShapeError, match="shape"):
        interp.run(func, {"X": X[:3]})
    with pytest.raises(InputError, match="holes"):
        interp.run(replace(func, holes=(HoleInfo("h"),)), {"X": X})
    with pytest.raises(InputError, match="order"):
        interp.run(func, {"X": X}, order="sideways")


def test_integer_temporaries_start_as_a_pattern():
    block = Block("Y", (Iter("i", 2, "S"),), (var("a"),), "Y", (var("i"),), Const(1, "int32"))
    func = Func("ints", (Buffer("Y", (2,), "int32", "output"),), (For("a", 1, (block,)),))
    assert interp.run(func, {})["Y"].tolist() == [1, 0x5A]
