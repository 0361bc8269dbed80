"""Blocking for caches, tails and reductions in parts, from the first step to the compiled kernel."""

from __future__ import annotations

import numpy as np
import pytest
from schedule import nests

from workbench import te, workloads
from workbench.errors import ScheduleError
from workbench.ir.interpreter import interp
from workbench.schedule import Hole, Schedule


def compiled(s: Schedule) -> None:
    """The kernel gives what the unscheduled function gives."""
    given = interp.random_inputs(s.base, seed=3)
    want = next(iter(interp.run(s.base, given).values()))
    np.testing.assert_allclose(s.build()(**given), want, rtol=1e-4, atol=1e-5)


def blocked(holes: bool) -> Schedule:
    """Product with loops for three caches, both operands packed inside the kernel."""
    s = Schedule(workloads.matmul(24, 32, 16))

    def size(name: str, number: int) -> object:
        return Hole(name) if holes else number

    a, b = s.cache_read("C", "A"), s.cache_read("C", "B")
    s.split("j", [None, size("nc", 2), size("nr", 8)])
    s.split("i", [None, size("mc", 3), size("mr", 4)])
    s.split("k", [None, size("kc", 8)])
    s.reorder("j.0", "k.0", "i.0", "j.1", "i.1", "k.1", "i.2", "j.2")
    s.compute_at(b, "k.0")
    s.compute_at(a, "i.0")
    s.split("B.copy_j", ["nc", "nr"] if holes else [None, 8])
    s.transform_layout("B.local", 1, "nr" if holes else 8)
    s.split("A.copy_i", ["mc", "mr"] if holes else [None, 4])
    s.transform_layout("A.local", 0, "mr" if holes else 4)
    return s


def test_blocks_for_caches_with_holes():
    s = blocked(holes=True)
    nests.check_rows(s, rows=6)
    compiled(s.fill({"nc": 2, "nr": 8, "mc": 3, "mr": 4, "kc": 8}))


def test_blocks_for_caches_with_numbers():
    s = blocked(holes=False)
    s.unroll("i.2")
    s.vectorize("j.2")
    nests.check_rows(s)
    compiled(s)


@pytest.mark.parametrize("order", [("k.0", "i", "j", "k.1"), ("i", "k.0", "j", "k.1"), ("i", "k.0", "k.1", "j")])
@pytest.mark.parametrize("holes", [False, True])
def test_a_reduction_split_outside_of_its_tile_starts_once(order, holes):
    s = Schedule(workloads.matmul(6, 8, 12, bias=True))
    s.cache_write("C")
    s.split("k", [None, Hole("t") if holes else 4])
    s.reorder(*order)
    nests.check_rows(s)
    compiled(s.fill({"t": 4}) if holes else s)


def test_the_copy_cannot_follow_an_unfinished_tile():
    s = Schedule(workloads.matmul(6, 8, 12))
    copy = s.cache_write("C")
    s.split("k", [None, 4])
    s.reorder("k.0", "i", "j", "k.1")
    with pytest.raises(ScheduleError) as caught:
        s.reverse_compute_at(copy, "j")
    assert caught.value.code == "reverse_compute_at.unfinished"


def test_a_guarded_tail_skips_the_update_and_starts_once():
    s = Schedule(workloads.matmul(6, 10, 13))
    s.split("k", [None, 4], tail="guard")
    s.split("j", [None, 4], tail="guard")
    assert [str(g.form) for g in s.func.block("C")[0].guard] == ["k", "j"]
    result = interp.trace_run(s.func, interp.random_inputs(s.base))
    assert (result.writes["C"] == 1).all()
    assert (result.updates["C"] == 13).all()
    compiled(s)


def test_a_reader_follows_a_guarded_tail():
    s = Schedule(workloads.matmul(6, 10, 4, bias=True, relu=True))
    s.split("j", [None, 4], tail="guard")
    s.reverse_compute_at("bias_add", "j.0")
    s.reverse_compute_at("relu", "j.0")
    nests.check_rows(s)
    compiled(s)


def test_a_peeled_rest_is_a_nest_of_its_own():
    s = Schedule(workloads.matmul(6, 10, 13))
    s.reorder("i", "k", "j")
    assert s.split("j", [None, 4], tail="peel") == ("j.0", "j.1", "j.rest")
    s.vectorize("j.1")
    assert [(b.name, b.iters[1].extent) for b in s.blocks] == [("C", 8), ("C.rest", 2)]
    nests.check_rows(s)
    compiled(s)


def test_a_peeled_reduction_goes_on():
    s = Schedule(workloads.matmul(6, 10, 13))
    s.split("k", [None, 4], tail="peel")
    assert s.func.block("C.rest")[0].resumes
    nests.check_rows(s)
    compiled(s)


def test_a_peeled_loop_takes_its_temporaries_along():
    s = Schedule(workloads.conv2d_nhwc(7, 6, 3, 4, relu=True))
    s.compute_at("pad", "h")
    s.reverse_compute_at("relu", "h")
    s.split("h", [None, 3], tail="peel")
    assert {"pad.rest", "conv.rest"} <= {b.name for b in s.buffers}
    nests.check_rows(s)
    compiled(s)


def test_even_factors_need_no_tail():
    a, b = Schedule(workloads.matmul(12, 8, 4)), Schedule(workloads.matmul(12, 8, 4))
    a.split("i", [None, 4], tail="guard")
    b.split("i", [None, 4])
    assert a.func == b.func


def test_a_tail_does_not_go_with_holes_but_pad_does():
    with pytest.raises(ScheduleError) as caught:
        Schedule(workloads.matmul(13, 8, 4)).split("i", [None, Hole()], tail="peel")
    assert caught.value.code == "split.open"
    assert "pad(" in caught.value.hint


def test_factors_with_a_tail_must_leave_something():
    s = Schedule(workloads.matmul(13, 8, 4))
    for factors, tail in (([None, 16], "peel"), ([2, 4], "guard")):
        with pytest.raises(ScheduleError) as caught:
            s.split("i", factors, tail=tail)
        assert caught.value.code == "split.divides"


def test_tile_names_its_loops_in_order():
    s = Schedule(workloads.matmul(12, 8, 4))
    assert s.tile("i", "j", [None, 2, 3], 4) == ("i.0", "j.0", "i.1", "j.1", "i.2")
    assert [lp.name for lp in s.loops] == ["i.0", "j.0", "i.1", "j.1", "i.2", "k"]


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_a_factored_reduction_can_run_in_parallel_or_as_vectors(dim):
    s = Schedule(workloads.matmul(4, 6, 32))
    s.split("k", [None, 8])
    s.reorder("i", "j", "k.1", "k.0") if dim == 0 else None
    assert s.rfactor("k.1", dim) == "C.rf"
    assert s.func.buffer("C.rf").shape == {0: (8, 4, 6), 1: (4, 8, 6), -1: (4, 6, 8)}[dim]
    if dim == 0:
        s.reorder("k.1", "i", "j")
        s.parallel("k.1")
    else:
        s.reorder("k.0", "k.1")
        s.vectorize("k.1")
    nests.check_rows(s)
    compiled(s)


@pytest.mark.parametrize("op", ["add", "mul", "max", "min"])
def test_every_reduction_can_be_factored(op):
    from workbench import te

    x, k = te.placeholder((4, 6), name="X"), te.reduce_axis(6, "k")
    reduce = {"add": te.sum, "mul": te.prod, "max": te.max, "min": te.min}[op]
    s = Schedule(te.func(te.compute((4,), lambda i: reduce(x[i, k], axis=k), name="Y")))
    s.split("k", [None, Hole("t")])
    s.rfactor("k.0")
    nests.check_rows(s)


def test_a_decomposed_reduction_is_initialised_by_vectors():
    s = Schedule(workloads.matmul(4, 32, 8))
    s.split("j", [None, 16])
    s.reorder("i", "j.0", "k", "j.1")
    assert s.decompose_reduction("C", "k") == "C.init"
    s.vectorize("j.1.init")
    s.vectorize("j.1")
    nests.check_rows(s)
    compiled(s)


def test_bias_and_limit_go_into_the_initial_value():
    s = Schedule(workloads.matmul(6, 8, 12, bias=True))
    s.reverse_compute_inline("bias_add")
    assert [b.name for b in s.blocks] == ["C"]
    assert s.func.buffer("bias_add").role == "output"
    s.split("k", [None, Hole("t")])
    s.reorder("k.0", "i", "j", "k.1")
    nests.check_rows(s)
    compiled(s.fill({"t": 4}))


def test_a_copy_is_taken_back():
    s = Schedule(workloads.matmul(6, 8, 12))
    before = s.func
    s.reverse_compute_inline(s.cache_write("C"))
    assert s.func == before


@pytest.mark.parametrize("holes", [False, True])
def test_what_a_sum_reads_is_left_for_a_later_reader(holes):
    s = Schedule(workloads.softmax(6, 48))
    for stage in ("inverse", "total", "exps", "largest"):
        s.compute_at(stage, "softmax_i")
    outer, _ = s.split("total_k", [None, Hole("t") if holes else 16])
    s.compute_at("exps", outer)
    assert [lp.name for lp in s.func.block("exps")[1]] == ["softmax_i", "total_i", outer, "exps_i", "exps_j"]
    nests.check_rows(s)
    compiled(s.fill({"t": 16}) if holes else s)


def test_a_later_reader_must_find_everything():
    """The reader inside asks for every second element, the later one for those between, too."""
    x = te.placeholder((4, 16), name="X")
    e = te.compute((4, 16), lambda i, j: x[i, j] + 1.0, name="E")
    k = te.reduce_axis(8, "k")
    half = te.compute((4,), lambda i: te.sum(e[i, 2 * k], axis=k), name="half")
    f = te.func(te.compute((4, 15), lambda i, j: e[i, j] * half[i], name="Y"))
    for inside in (False, True):
        s = Schedule(f)
        if inside:
            for stage in ("half", "E"):
                s.compute_at(stage, "Y_i")
        with pytest.raises(ScheduleError, match="make up all of it") as caught:
            s.compute_at("E", "half_k" if inside else "k")
        assert caught.value.code == "compute_at.consumers"


def test_a_unit_in_a_peeled_rest_is_another_one():
    s = Schedule(workloads.matmul(6, 11, 13))
    s.blockize("k")
    s.split("j", [None, 4], tail="peel")
    s.split("j.rest", [None, 2], tail="peel")
    names = [lp.note("block") for lp in s.loops if lp.is_unit]
    assert len(set(names)) == len(names) > 2
    nests.check_rows(s)
    compiled(s)
