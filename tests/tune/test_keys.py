"""Structural keys: equal for one program however it came about, different for two programs."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import workloads
from workbench.schedule import Hole, Schedule
from workbench.space.program_keys import program_key
from workbench.space.space import make_space, space_from_schedule
from workbench.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")
MATMUL = workloads.matmul(16, 16, 16, relu=True)


def key(*steps, func=MATMUL) -> str:
    s = Schedule(func, TARGET)
    for name, *args in steps:
        getattr(s, name)(*args)
    return program_key(s.func)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # the parts of an axis in another order: neighbours become strided
        ([("split", "i", [4, 4])], [("split", "i", [4, 4]), ("reorder", "i.1", "i.0")]),
        # another part of the sum is computed apart
        (
            [("split", "k", [4, 4]), ("rfactor", "k.0", 0)],
            [("split", "k", [4, 4]), ("rfactor", "k.1", 0), ("reorder", "k.1", "k.0")],
        ),
        # loops of equal length that walk different axes of a stage with a name of its own
        (
            [("cache_write", "C")],
            [("cache_write", "C"), ("reorder", "C.copy_j", "C.copy_i")],
        ),
        # a block that is copied
        ([("cache_read", "C", "A")], [("cache_read", "C", "B")]),
        # where a temporary lies
        ([("set_scope", "C", "global")], []),
        ([("storage_align", "C", 0, 32)], []),
        ([("storage_align", "C", 0, 32)], [("storage_align", "C", 0, 64)]),
        # marks and their numbers
        ([("unroll", "i")], []),
        ([("annotate", "k", "prefetch", 4)], [("annotate", "k", "prefetch", 8)]),
    ],
)
def test_different_programs_have_different_keys(one, other):
    assert key(*one) != key(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("split", "i", [1, 16])], []),
        ([("split", "i", [16, 1]), ("reorder", "i.1", "i.0")], []),
        ([("split", "i", [2, 8]), ("split", "i.1", [4, 2])], [("split", "i", [2, 4, 2])]),
        # a fused loop one of whose parts runs once is the other part
        ([("split", "i", [1, 16]), ("fuse", "i.0", "i.1")], []),
        ([("split", "j", [16, 1]), ("fuse", "j.0", "j.1")], []),
        ([("split", "j", [1, 4, 4]), ("fuse", "j.0", "j.1")], [("split", "j", [4, 4])]),
    ],
)
def test_one_program_has_one_key_however_it_came_about(one, other):
    assert key(*one) == key(*other)


@pytest.mark.parametrize(
    ("rows", "same"),
    [
        (1, {1: [], 4: [("split", "j", [4, 4])], 16: []}),
        (3, {1: [("fuse", "i", "j")], 4: [("split", "j", [4, 4]), ("fuse", "i", "j.0")], 16: []}),
    ],
)
def test_a_part_of_a_fused_loop_that_runs_once_is_left_out_in_rows_too(rows, same):
    func = workloads.matmul(rows, 16, 16)
    s = Schedule(func, TARGET)
    s.split("j", [None, Hole(choices=[1, 4, 16])])
    s.fuse("i", "j.0")
    (variant,) = space_from_schedule(s).variants
    picks = variant.sampler.draw(10, np.random.default_rng(0))
    keys = {variant.sampler.row(p)["j_1"]: f"{int(k):016x}" for p, k in zip(picks, variant.keys(picks), strict=True)}
    assert keys == {factor: key(*steps, func=func) for factor, steps in same.items()}


@pytest.mark.parametrize(
    "func",
    [
        MATMUL,
        workloads.conv2d_nhwc(6, 6, 64, 16, relu=True),
        workloads.conv2d_nhwc(6, 5, 32, 64, groups=4, relu=True),
        workloads.conv2d_transpose_nhwc(5, 4, 3, 17),
        workloads.depthwise_conv2d_nhwc(14, 14, 32),
        workloads.softmax(16, 72),
        workloads.matmul(3, 7, 600, bias=True),
    ],
    ids=lambda f: f.name,
)
def test_a_row_has_the_key_of_the_program_that_it_fills_and_of_its_replay(func):
    for v in make_space(func, TARGET).variants:
        picks = v.sampler.draw(2, np.random.default_rng(1))
        for pick, number in zip(picks, v.keys(picks), strict=True):
            filled = v.schedule.fill(v.sampler.row(pick))
            again = Schedule.from_json(func, filled.to_json(), TARGET)
            assert program_key(filled.func) == program_key(again.func) == f"{int(number):016x}"
