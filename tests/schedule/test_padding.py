"""What padding makes of a nest, and that the padded nest is the one that code generation makes fast."""

from __future__ import annotations

import numpy as np
import pytest
from schedule import nests

from workbench import te, workloads
from workbench.errors import ScheduleError
from workbench.ir import Select
from workbench.ir.expr import walk
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.schedule import Hole, Schedule


def conditions(s: Schedule, block: str) -> list[str]:
    """Conditions that a block asks at its reads."""
    b, _ = s.func.block(block)
    return [str(c.form) for e in walk(b.value) if isinstance(e, Select) for c in e.conds]


def compiled(s: Schedule) -> None:
    given = {b.name: np.random.default_rng(0).random(b.shape).astype(b.dtype) for b in s.base.inputs}
    from workbench.ir.interpreter import interp

    want = interp.run(s.base, given)
    got = s.build()(**given)
    np.testing.assert_allclose(got, next(iter(want.values())), rtol=1e-5)


def test_a_copied_operand_leaves_no_condition_in_the_product():
    s = Schedule(workloads.matmul(13, 11, 9))
    s.cache_read("C", "A")
    s.cache_read("C", "B")
    assert [s.pad("C", a, 16) for a in "ijk"] == [("C.copy",), (), ()]
    assert conditions(s, "C") == []
    assert conditions(s, "B.copy") == ["j", "k"]
    nests.check_rows(s)


def test_a_row_is_guarded_by_its_own_axis_alone():
    s = Schedule(workloads.matmul(13, 11, 9))
    s.cache_read("C", "B")
    s.pad("C", "i", 16)
    s.pad("C", "j", 16)
    assert conditions(s, "C") == ["i"]


def test_padded_loops_take_holes_to_the_end():
    s = Schedule(workloads.matmul(13, 11, 9, bias=True, relu=True))
    s.cache_read("C", "B")
    s.pad("C", "i", 16)
    s.pad("C", "j", 16)
    s.split("i", [None, Hole("ti")])
    s.split("j", [None, Hole("tj")])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1")
    s.transform_layout("B.local", 1, "tj")
    s.reverse_compute_at("bias_add", "j.0")
    s.reverse_compute_at("relu", "j.0")
    assert [str(g.form) for g in s.func.block("relu")[0].guard] == ["i", "j"]
    nests.check_rows(s, rows=6)
    compiled(s.fill({"ti": 4, "tj": 8}))


def test_a_reduction_keeps_its_sum():
    s = Schedule(workloads.softmax(5, 7))
    for block in [b.name for b in s.blocks if b.is_reduction]:
        s.pad(block, next(it.name for it in s.func.block(block)[0].iters if it.kind == "R"), 8)
    nests.check_rows(s)
    compiled(s)


def test_zeros_only_where_the_whole_product_vanishes():
    a, v, k = te.placeholder((6, 5), name="A"), te.placeholder((6,), name="V"), te.reduce_axis(5, "k")
    s = Schedule(te.func(te.compute((6,), lambda i: te.sum(a[i, k] * v[i], axis=k), name="S")))
    s.pad("S", "k", 8)
    given = {"A": np.ones((6, 5), "f4"), "V": np.full(6, np.inf, "f4")}
    from workbench.ir.interpreter import interp

    assert (interp.run(s.func, given)["S"] == np.inf).all()


def test_a_convolution_pads_the_stage_before_it():
    s = Schedule(workloads.conv2d_nhwc(6, 6, 4, 8))
    s.pad("conv", "h", 8)
    assert s.func.buffer("pad").shape[1] == 10
    assert conditions(s, "conv") == []
    nests.check_rows(s)


def test_a_split_loop_is_padded_too_late():
    s = Schedule(workloads.matmul(13, 11, 9))
    s.split("i", [None, Hole()])
    with pytest.raises(ScheduleError) as caught:
        s.pad("C", "i", 16)
    assert caught.value.code == "pad.loop"
    assert "before splitting" in caught.value.hint


def test_constants_are_padded_ahead_of_time():
    s = Schedule(workloads.matmul(13, 11, 9, constant_b=True))
    s.cache_read("C", "A")
    for axis in "ijk":
        s.pad("C", axis, 16)
    assert s.func.buffer("B").shape == (16, 16)
    assert s.func.buffer("B").logical_shape() == (9, 11)
    assert conditions(s, "C") == []
    s.split("j", [None, Hole("t")])
    s.transform_layout("B", 1, "t")
    assert parse(to_text(s.func)) == s.func
    nests.check_rows(s)
    compiled(s.fill({"t": 8}))


def test_a_maximum_over_padding_asks():
    s = Schedule(workloads.softmax(5, 7))
    s.pad("largest", "k", 8)
    assert conditions(s, "largest") == ["k"]
    nests.check_rows(s)


@pytest.mark.parametrize("at", ["h.0", "h.1"])
def test_a_copy_of_what_is_read_under_a_condition_moves_with_a_guard(at):
    s = Schedule(workloads.conv2d_nhwc(7, 7, 3, 5))
    s.compute_inline("pad")
    copy = s.cache_read("conv", "X")
    s.split("h", [None, Hole("t")])
    s.compute_at(copy, at)
    block, path = s.func.block(copy)
    assert [str(g.form) for g in block.guard] == ["c1"], "only the axis that moves is guarded"
    assert [lp.extent for lp in path][-2:] == [7, 3]
    nests.check_rows(s)
    compiled(s.fill({"t": 7}))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32"])
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
def test_reductions_of_any_type_have_a_neutral_element(op, dtype):
    """What the interpreter starts partial results and padding with changes nothing."""
    a, k = te.placeholder((5, 6), dtype, name="A"), te.reduce_axis(6, "k")
    func = te.func(te.compute((5,), lambda i: getattr(te, op)(a[i, k], axis=k), name="R"))
    for steps in (
        [("rfactor", "k")],
        [("pad", "R", "k", 8)],
        [("pad", "R", "k", 8), ("split", "k", [None, 4]), ("rfactor", "k.1")],
    ):
        s = Schedule(func)
        for name, *args in steps:
            getattr(s, name)(*args)
        nests.check_rows(s)
