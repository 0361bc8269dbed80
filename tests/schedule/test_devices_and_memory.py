"""Bound loops, scopes and padding of temporaries, units: what they mean, and what they keep."""

from __future__ import annotations

import numpy as np
import pytest
from schedule import nests

from workbench import workloads
from workbench.codegen.backend import build_func
from workbench.codegen.constants import Storage
from workbench.codegen.temporary_storage import place
from workbench.errors import ScheduleError
from workbench.ir.compact_temporaries import compact
from workbench.ir.interpreter import interp
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.ir.unit_loops import drop_unit_loops
from workbench.ir.verify import verify
from workbench.schedule import Hole, Schedule
from workbench.schedule.legality.invariants import unit_regions
from workbench.target import Target


def compiled(schedule: Schedule, threads: int = 2) -> None:
    """Generated code, with its temporaries poisoned, gives the interpreter's result."""
    from workbench.runtime.kernel import Kernel

    func, target = schedule.func, Target.host(threads=threads)
    given = interp.random_inputs(func)
    got = Kernel(func, build_func(func, target, poison=True), target)(*(given[b.name] for b in func.inputs))
    got = got if isinstance(got, tuple) else (got,)
    for b, value in zip(func.outputs, got, strict=True):
        np.testing.assert_allclose(value, interp.run(func, given)[b.name], rtol=1e-5, atol=1e-5)


# ---- bind ------------------------------------------------------------------------------------------------------------


def test_a_matmul_for_a_device():
    """The grid, virtual threads and threads of TVM's classic schedule, with the copy of a tile in fast memory."""
    s = Schedule(nests.epilogue())
    s.split("i", [3, 2, 2])
    s.split("j", [2, 2, 4])
    s.reorder("i.0", "j.0", "i.1", "j.1", "i.2", "j.2", "k")
    s.reverse_compute_at("bias_add", "j.2")
    s.reverse_compute_at("relu", "j.2")
    s.bind("i.0", "blockIdx.y").bind("j.0", "blockIdx.x").bind("j.1", "vthread")
    s.bind("i.2", "threadIdx.y").bind("j.2", "threadIdx.x")
    s.set_scope("C", "local").set_scope("bias_add", "local")
    assert [lp.kind for lp in s.loops[:6]] == [
        *("blockIdx.y", "blockIdx.x", "serial", "vthread", "threadIdx.y", "threadIdx.x")
    ]
    nests.check_rows(s)
    compiled(s)
    assert parse(to_text(s.func)) == s.func


def test_cooperative_fetching_goes_through_shared_memory():
    """Two loops over threads in one block: the second starts when the first is done."""
    s = Schedule(workloads.elementwise(8, 12))
    s.compute_at("add", "relu_i")
    s.compute_at("tanh", "relu_i")
    s.bind("relu_i", "blockIdx.x").bind("tanh_j", "threadIdx.x").bind("relu_j", "threadIdx.x")
    s.set_scope("tanh", "shared")
    with pytest.raises(ScheduleError) as e:
        s.set_scope("tanh", "local")
    assert e.value.code == "set_scope.shared"
    assert "tanh_j" in e.value.message
    nests.check_rows(s)
    compiled(s)


def test_an_open_number_of_threads_is_limited():
    s = Schedule(workloads.transpose(4096, 8))
    s.split("i", [None, Hole("t")])
    s.bind("i.1", "threadIdx.x")
    assert "bind(i.1) <= 1024" in [c.label for c in s.func.constraints]
    rows = s.domain.sample(64, np.random.default_rng(0))
    assert 1 < rows[:, -1].max() <= 1024


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ([("bind", "i", "blockIdx.x"), ("bind", "k", "vthread")], "bind.reduction"),
        ([("reorder", "k", "j"), ("bind", "k", "threadIdx.x")], "bind.reduction"),
        ([("bind", "i", "blockIdx.x"), ("bind", "k", "threadIdx.x")], ""),
        ([("bind", "k", "threadIdx.x"), ("reorder", "k", "j")], "loop.mark"),
        ([("bind", "i", "threadIdx.x"), ("bind", "j", "blockIdx.x")], "bind.order"),
        ([("bind", "j", "blockIdx.x")], "bind.order"),
        ([("bind", "j", "threadIdx.y"), ("bind", "i", "blockIdx.x"), ("unroll", "j")], "unroll.marked"),
        ([("parallel", "i"), ("bind", "j", "threadIdx.x")], "bind.order"),
        ([("bind", "j", "threadIdx.x"), ("parallel", "i")], "loop.mark"),
        ([("reverse_compute_at", "bias_add", "i"), ("bind", "i", "blockIdx.x"), ("bind", "j", "blockIdx.y")], None),
        ([("bind", "i", "blockIdx.x"), ("bind", "j", "blockIdx.y"), ("reverse_compute_at", "bias_add", "i")], None),
        ([("bind", "i", "vthread"), ("bind", "j", "vthread")], ""),
        ([("bind", "i", "blockIdx.x"), ("split", "i", [None, 4])], "split.marked"),
    ],
)
def test_what_may_be_bound(steps, code):
    s = Schedule(nests.epilogue())
    *before, (name, *args) = steps
    for step, *rest in before:
        getattr(s, step)(*rest)
    if code == "":
        getattr(s, name)(*args)
        nests.check_rows(s)
        return
    with pytest.raises(ScheduleError) as e:
        getattr(s, name)(*args)
    assert e.value.code == (code or ("bind.order" if name == "bind" else "loop.mark"))
    assert e.value.hint


# ---- memory ----------------------------------------------------------------------------------------------------------


def placed(s: Schedule, buffer: str) -> str:
    return place(compact(drop_unit_loops(s.func))).placed[buffer].kind


def test_scopes_decide_where_a_temporary_lies():
    s = Schedule(workloads.elementwise(8, 12))
    s.compute_at("add", "relu_i")
    s.compute_at("tanh", "relu_i")
    assert placed(s, "add") == "stack"
    s.set_scope("add", "global")
    assert placed(s, "add") == "shared"
    compiled(s)
    s.parallel("relu_i")
    assert placed(s, "add") == "thread"
    compiled(s)
    s.set_scope("add", "local")
    assert placed(s, "add") == "stack"
    compiled(s)
    s.set_scope("add", "auto")
    assert s.func.buffer("add").scope == "auto"


@pytest.mark.parametrize(
    ("floats", "auto", "local"),
    [(Storage.STACK_BYTES // 4 // 8, "shared", "stack"), (Storage.LOCAL_STACK_BYTES // 4 // 8 + 1, "shared", "thread")],
)
def test_a_local_temporary_of_the_whole_call(floats, auto, local):
    s = Schedule(workloads.elementwise(8, floats))
    assert placed(s, "add") == auto
    s.set_scope("add", "local")
    assert placed(s, "add") == local
    compiled(s)


def test_rows_are_padded_in_memory_only():
    s = Schedule(workloads.transpose(8, 12))
    s.cache_write(s.blocks[0].name)
    local = next(b.name for b in s.buffers if b.role == "temp")
    plain, rows = interp.random_inputs(s.func), s.func.buffer(local).shape
    want = interp.run(s.func, plain)
    s.storage_align(local, 0, 16, 1)
    assert s.func.buffer(local).strides() == (rows[1] // 16 * 16 + 17 if rows[1] % 16 != 1 else rows[1], 1)
    verify(s.func)
    for name, value in interp.run(s.func, plain).items():
        np.testing.assert_array_equal(value, want[name])
    compiled(s)
    s.storage_align(local, 0, 32)
    assert s.func.buffer(local).strides()[0] == 32
    assert s.func.buffer(local).nbytes == rows[0] * 32 * 4
    compiled(s)


def test_padding_follows_a_temporary_that_shrinks():
    s = Schedule(nests.epilogue())
    s.cache_write("C")
    s.split("i", [None, 4])
    s.split("j", [None, 8])
    s.reorder("i.0", "j.0", "i.1", "j.1")
    s.reverse_compute_at("C.copy", "j.0")
    s.storage_align("C.local", 0, 32, 4)
    small = compact(drop_unit_loops(s.func)).buffer("C.local")
    assert (small.shape, small.strides()) == ((4, 8), (36, 1))
    compiled(s)
    nests.check_rows(s)


# ---- notes -----------------------------------------------------------------------------------------------------------


def test_notes_stay_through_steps_and_text():
    s = Schedule(nests.epilogue())
    s.annotate("i", "prefetch", 2).annotate("i", "mine", "a word").annotate("C", "mine", -3)
    s.annotate("i", "prefetch", 3)
    outer, inner = s.split("i", [None, 4])
    assert s.func.loop(outer)[0].notes == (("prefetch", 3), ("mine", "a word"))
    assert s.func.loop(inner)[0].notes == ()
    s.annotate(inner, "prefetch", 1)
    name = s.fuse(outer, inner)
    assert s.func.loop(name)[0].notes == (("prefetch", 3), ("mine", "a word"))
    assert s.func.block("C")[0].notes == (("mine", -3),)
    s.reorder("j", name)
    s.parallel("j")
    assert s.func.loop(name)[0].note("mine") == "a word"
    assert parse(to_text(s.func)) == s.func
    assert Schedule.from_json(s.base, s.to_json()).func == s.func
    nests.check_rows(s)
    compiled(s)


# ---- units -----------------------------------------------------------------------------------------------------------


def unit() -> Schedule:
    s = Schedule(nests.epilogue())
    s.split("i", [None, 4])
    s.split("j", [None, 8])
    s.reorder("i.0", "j.0", "i.1", "j.1", "k")
    assert s.blockize("i.1") == "C.unit"
    return s


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("split", ("i.1", [None, 2])),
        ("fuse", ("j.0", "i.1")),
        ("reorder", ("i.1", "j.0")),
        ("reverse_compute_at", ("bias_add", "i.1")),
        ("vectorize", ("j.1",)),
        ("unroll", ("k",)),
        ("split", ("k", [None, 2])),
        ("cache_write", ("C",)),
        ("compute_at", ("C", "bias_add_i")),
    ],
)
def test_steps_do_not_cut_through_a_unit(name, args):
    s = unit()
    before = s.func
    with pytest.raises(ScheduleError) as e:
        getattr(s, name)(*args)
    assert e.value.code in ("unit.inside", "unit.cut")
    assert "C.unit" in e.value.message
    assert e.value.hint
    assert s.func == before


def test_a_unit_moves_as_a_whole():
    s = unit()
    s.reorder("j.0", "i.0")
    s.reverse_compute_at("bias_add", "i.0")
    s.annotate("k", "mine", 1)
    s.parallel("j.0")
    assert s.func.loop("i.1")[0].note("block") == "C.unit"
    nests.check_rows(s)
    compiled(s)


def test_holes_around_a_unit_may_be_split_again():
    s = Schedule(nests.epilogue())
    s.split("i", [None, Hole("t")])
    s.reorder("i.0", "j", "i.1", "k")
    s.blockize("i.1")
    s.split("i.0", [None, Hole("u")])
    nests.check_rows(s)


def test_what_a_unit_reads_and_writes():
    assert unit_regions(unit().func, "i.1") == ({"A": (4, 8), "B": (8, 8)}, {"C": (4, 8)})
    s = Schedule(workloads.conv2d_nhwc(6, 6, 4, 8))
    assert unit_regions(s.func, "h")[0]["W"] == (3, 3, 4, 8)
