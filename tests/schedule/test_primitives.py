"""What each primitive does to a nest, where the contract tests do not look."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from schedule import nests

from workbench import te, workloads
from workbench.errors import ScheduleError
from workbench.ir.interpreter import interp
from workbench.ir.poly import hole
from workbench.schedule import Hole, Schedule


def matmul(m: int = 12, n: int = 16, k: int = 8, **options) -> Schedule:
    return Schedule(workloads.matmul(m, n, k, constant_b=True, **options))


def refused(call, *args) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        call(*args)
    return caught.value


def names(s: Schedule) -> list[str]:
    return [lp.name for lp in s.loops]


def test_split_by_numbers():
    s = matmul()
    assert s.split("i", [None, 3, 2]) == ("i.0", "i.1", "i.2")
    assert [lp.extent for lp in s.loops[:3]] == [2, 3, 2]
    assert str(s.blocks[0].binds[0]) == "i.0 * 6 + i.1 * 2 + i.2"
    assert s.split("j", 4) == ("j.0", "j.1")


def test_split_says_which_divisors_are_near():
    e = refused(matmul().split, "i", [None, 5])
    assert e.message == "5 does not divide the extent 12 of loop 'i'."
    assert e.hint.startswith("the nearest divisors of 12 are 4 and 6; ")
    assert 'the tail "guard"' in e.hint
    assert 'the tail "peel"' in e.hint
    both = refused(matmul().split, "i", [4, 2])
    assert "4 * 2 = 8" in both.message
    assert both.hint.startswith("each number is the extent of one loop, and their product has to divide; the nearest")


def test_split_by_holes_states_a_relation():
    s = matmul()
    s.split("i", [None, Hole("t"), 2])
    assert [str(r) for r in s.func.relations] == ["i_0*t = 6"]
    assert [h.name for h in s.holes] == ["i_0", "t"]
    assert s.trace[0].to_json()["args"]["factors"] == [None, {"hole": "t"}, 2]


def test_splitting_a_hole_replaces_it_and_keeps_its_name():
    s = matmul()
    s.split("i", [None, Hole("t")])
    s.split("i.1", [Hole("a"), Hole("b")])
    assert [str(r) for r in s.func.relations] == ["i_0*a*b = 12"]
    assert s.func.aliases == (("t", hole("a") * hole("b")),)
    nests.check_rows(s)


def test_an_epilogue_is_split_by_the_holes_of_the_main_loop():
    s = matmul(relu=True)
    s.split("i", [None, Hole(), Hole("x")])
    s.split("j", [None, Hole(), Hole("y")])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1", "i.2", "j.2")
    assert s.reverse_compute_at("relu", "j.0") == ("relu_i", "relu_j")
    assert refused(s.split, "relu_j", [None, Hole()]).code == "split.product"
    s.split("relu_j", [None, "y"])
    assert str(s.loops[-1].extent) == "y"
    nests.check_rows(s)


def test_fuse_and_split_on_the_boundary():
    s = matmul()
    f = s.fuse("i", "j")
    assert f == "i.j"
    assert refused(s.split, f, [32, 6]).code == "split.digit"
    assert "boundaries of the parts first: 16" in refused(s.split, f, [32, 6]).hint
    s.split(f, [12, 16])
    nests.check_rows(s)
    s.undo().split(f, [12, 4, 4])
    nests.check_rows(s)


@pytest.mark.parametrize("factors", [[24, 8], [6, 32], [6, 2, 16], [3, 2, 2, 8, 2], [2, 96], [48, 4]])
def test_parts_may_hold_several_digits_or_a_share_of_one(factors):
    """The fused loop's digits are 12 and 16 long; what each part is to them is told by counting."""
    s = matmul()
    s.split(s.fuse("i", "j"), factors)
    block, path = s.func.block("C")
    for at in itertools.product(*(range(f) for f in factors)):
        whole = functools.reduce(lambda n, digit: n * digit[1] + digit[0], zip(at, factors, strict=True), 0)
        values = {lp.name: v for lp, v in zip(path, at, strict=False)}
        found = [sum(_digit(d, values) * c for d, c in x.terms) + x.const for x in block.binds[:2]]
        assert found == [whole // 16, whole % 16]
    nests.check_rows(s)


def _digit(d, values):
    n = values[d.var] // d.lower
    return n if d.extent is None else n % d.extent


def test_fuse_three_loops():
    s = Schedule(workloads.conv2d_nhwc(6, 6, 4, 4))
    assert s.fuse("n", "h", "w") == "n.h.w"
    assert s.loops[-1].name == "c"
    nests.check_rows(s)


def test_reorder_keeps_the_places_of_other_loops():
    s = matmul()
    s.split("i", [None, 2])
    assert names(s.reorder("k", "i.0")) == ["k", "i.1", "j", "i.0"]


def test_split_of_a_reshape_splits_the_axis():
    s = Schedule(nests.digits())
    s.split("i", [None, 4])
    nests.check_rows(s)
    s.undo().split("i", [4, 8])
    nests.check_rows(s)
    s.split("i.1", [None, 2])
    nests.check_rows(s)


def test_parallel_takes_several_loops_and_says_who_conflicts():
    s = matmul()
    assert [lp.kind for lp in s.parallel("i", "j").loops] == ["parallel", "parallel", "serial"]
    t = matmul().reorder("k", "i", "j")
    e = refused(t.parallel, "k")
    assert e.code == "parallel.reduction"
    assert str(e.witness) == "(k = 0, i = 0, j = 0) and (k = 1, i = 0, j = 0) both write C[0, 0]"


def test_a_temporary_inside_a_parallel_loop_is_private():
    s = Schedule(workloads.conv2d_nhwc(6, 6, 4, 4))
    s.compute_at("pad", "w")
    s.parallel("n", "h")
    nests.check_rows(s)


def test_marks_put_limits_on_holes():
    s = Schedule(workloads.matmul(4, 4096, 4))
    s.split("j", [None, Hole("v")])
    s.reorder("k", "j.1").vectorize("j.1")
    s.split("k", [None, Hole("u")])
    s.unroll("k.1")
    assert [c.label for c in s.func.constraints] == ["vectorize(j.1) <= 1024", "unroll(k.1) <= 512"]
    assert s.domain.all_rows()[:, 1].max() == 1024
    assert refused(s.fill, {"v": 2048, "u": 1}).code == "hole.limit"


def test_compute_at_computes_the_halo():
    s = Schedule(workloads.conv2d_nhwc(9, 9, 4, 4, stride=2))
    s.split("h", [None, 5])
    assert s.compute_at("pad", "h.0") == ("pad_n", "pad_h", "pad_w", "pad_c")
    assert [lp.extent for lp in s.loops if lp.name.startswith("pad")] == [1, 11, 11, 4]
    nests.check_rows(s)


def test_compute_at_of_a_reduction_runs_it_whole():
    s = Schedule(nests.two_products())
    s.compute_inline("E")
    s.compute_at("S", "O_i")
    nests.check_rows(s)
    s.parallel("O_i")
    nests.check_rows(s)


def test_stencil_chain_in_one_loop():
    s = Schedule(nests.stencil())
    s.split("D_i", [None, Hole("t")])
    s.compute_at("C", "D_i.0")
    s.compute_at("B", "D_i.0")
    assert [str(lp.extent) for lp in s.loops] == ["D_i_0", "4 + t", "2 + t", "t"]
    nests.check_rows(s, rows=6)
    s.parallel("D_i.0")
    nests.check_rows(s, rows=6)


def test_reverse_compute_at_waits_for_all_that_it_reads():
    s = Schedule(workloads.layer_norm(6, 8))
    assert refused(s.reverse_compute_at, "norm", s.loops[0].name).code == "reverse_compute_at.producer"
    s.reverse_compute_at("scale", "square_i")
    s.reverse_compute_at("norm", "square_i")
    nests.check_rows(s)


def test_cache_write_then_follow():
    s = matmul()
    s.split("i", [None, Hole()])
    s.split("j", [None, Hole()])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1")
    copy = s.cache_write("C")
    assert copy == "C.copy"
    assert s.reverse_compute_at(copy, "j.0") == ("C.copy_i", "C.copy_j")
    assert s.func.buffer("C.local").role == "temp"
    nests.check_rows(s)


def test_a_copy_of_a_packed_constant_has_axes_of_different_names():
    """The packed axis is split into c0 and c1, and an index that is no axis has a name of its own, too."""
    s = Schedule(workloads.conv2d_transpose_nhwc(4, 4, 3, 8))
    s.transform_layout("W", 2, 1)
    copy = s.cache_read("conv", "W")
    axes = [it.name for it in s.func.block(copy)[0].iters]
    assert len(set(axes)) == len(axes), axes
    inputs = interp.random_inputs(s.func)
    want = interp.run(Schedule(workloads.conv2d_transpose_nhwc(4, 4, 3, 8)).func, inputs)
    np.testing.assert_allclose(interp.run(s.func, inputs)["conv"], want["conv"], rtol=1e-5, atol=1e-5)


def test_packing_a_constant():
    s = matmul()
    assert "split('j', [None, 4]) first" in refused(s.transform_layout, "B", 1, 4).hint
    s.split("j", [None, 4])
    s.transform_layout("B", 1, 4)
    assert s.func.buffer("B").shape == (4, 8, 4)
    assert s.func.buffer("B").logical_shape() == (8, 16)
    assert "B[j0, k, j1]" in str(s.func)
    nests.check_rows(s)


def test_packing_by_a_product_of_holes():
    s = matmul()
    s.split("j", [None, Hole("a"), Hole("b"), Hole("c")])
    assert refused(s.transform_layout, "B", 1, ["a", "c"]).code == "transform_layout.access"
    s.transform_layout("B", -1, ["b", "c"])
    assert [str(d) for d in s.func.buffer("B").shape] == ["a*j_0", "8", "b*c"]
    nests.check_rows(s)


def test_packing_a_temporary_splits_the_loop_that_computes_it():
    s = Schedule(nests.two_products())
    s.split("l", [None, 3])
    s.transform_layout("E", 1, 3)
    assert s.func.buffer("E").shape == (2, 6, 3)
    assert s.func.buffer("E").layout == ()
    assert [n for n in names(s) if n.startswith("E_j")] == ["E_j.0", "E_j.1"]
    nests.check_rows(s)


def test_inlining_a_guarded_read():
    s = Schedule(workloads.conv2d_nhwc(6, 6, 4, 4))
    s.compute_inline("pad")
    assert [b.name for b in s.func.buffers] == ["X", "W", "conv"]
    nests.check_rows(s)


def test_a_block_that_lost_its_reader_stays_in_the_old_loops():
    s = Schedule(nests.row_sum())
    s.compute_at("Z", "j")
    s.compute_at("P", "Q_j")
    nests.check_rows(s)


def test_undecided_union_names_the_place():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    s = Schedule(te.func(te.compute((8,), lambda i: b[i] + b[7 - i], name="C")))
    assert refused(s.compute_at, "B", "C_i").where == ("B", "C_i", "B")


def test_the_whole_sketch_of_a_convolution():
    """Multi-level tiles with all sizes open, fused epilogue, halo, packed weights."""
    s = Schedule(workloads.conv2d_nhwc(6, 6, 4, 8, bias=True, relu=True))
    s.compute_inline("bias_add")
    for axis in "nhwo":
        s.split(axis, [None, Hole(), Hole(), Hole()])
    for axis in ("kh", "kw", "c"):
        s.split(axis, [None, Hole()])
    order = [f"{a}.{k}" for k in (0, 1) for a in "nhwo"] + ["kh.0", "kw.0", "c.0"] + [f"{a}.2" for a in "nhwo"]
    s.reorder(*order, "kh.1", "kw.1", "c.1", *(f"{a}.3" for a in "nhwo"))
    s.reverse_compute_at("relu", "o.1")
    s.split("relu_o", [None, "o_3"])
    s.compute_at("pad", "c.0")
    s.transform_layout("W", 3, "o_3")
    s.vectorize("o.3").vectorize("relu_o.1").unroll("w.3").parallel("n.0", "h.0", "w.0", "o.0")
    nests.check_rows(s, rows=6)


def test_what_is_read_backwards_is_placed_with_holes():
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] * 2.0, name="B")
    s = Schedule(te.func(te.compute((16,), lambda i: b[15 - i] + 1.0, name="C")))
    s.split("C_i", [Hole("a"), Hole("b"), Hole("c")])
    s.compute_at("B", "C_i.0")
    assert s.func.loop("B_i")[0].extent == hole("b") * hole("c")
    nests.check_rows(s)
