"""What a loop does to memory: steps and sizes as in a run, and what they mean in words."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from analysis.replay import value
from analysis.test_nest import EXACT, PADDED, TARGET, build, picked

import workbench as wb
from workbench import workloads
from workbench.analysis import AccessRow, accesses, nest_rows
from workbench.errors import InputError
from workbench.ir import blocks, loops
from workbench.ir.compact_temporaries import compact
from workbench.ir.expr import loads


def says(func, loop, target=TARGET):
    return {row.text: row.says for row in accesses(func, loop, target)}


def walked(func, loop):
    """(block, buffer, most frequent distance in bytes) of every element that a statement names, from real indices."""
    own = compact(func)
    found = set()
    for block, path in blocks(own.body):
        here = next((lp for lp in path if lp.name == loop), None)
        if here is None:
            continue
        named = [(block.buffer, block.index), *((ld.buffer, ld.index) for ld in loads(block.value))]
        for buffer, index in named:
            b = own.buffer(buffer)
            item = {"float32": 4, "int32": 4}[b.dtype]
            flat = []
            for i in range(here.extent):
                env = {lp.name: i if lp is here else lp.extent // 2 for lp in path}
                at = [value(f, env) for f in index]
                flat.append(sum(x * s for x, s in zip(at, b.strides(), strict=True)) * item)
            steps = Counter(y - x for x, y in itertools.pairwise(flat))
            found.add((block.name, buffer, steps.most_common(1)[0][0] if steps else None))
    return found


@pytest.mark.parametrize("name", [n for n in (*EXACT, *PADDED) if n != "picked"])
def test_steps_are_those_of_a_run(name):
    func = build(name)
    for loop, _ in loops(func.body):
        rows = accesses(func, loop.name, TARGET)
        real = walked(func, loop.name)
        if loop.extent > 1:
            assert {(r.block, r.buffer, r.step_bytes) for r in rows} == real
        else:
            assert {r.says for r in rows} == {"one iteration only"}


@pytest.mark.parametrize(
    "name", ["matmul", "tiled_matmul", "strided_conv", "skipping", "transposed", "fused", "softmax"]
)
def test_touched_bytes_of_all_buffers_are_the_working_set(name):
    func = build(name)
    sizes = {r.id: r.working_set for r in nest_rows(func, TARGET).rows if r.kind == "loop"}
    for loop, size in sizes.items():
        most: dict[str, int] = {}
        for row in accesses(func, loop, TARGET):
            most[row.buffer] = max(most.get(row.buffer, 0), row.touched)
        assert sum(most.values()) == size, loop


def test_the_rows_of_a_matmul():
    func = workloads.matmul(64, 64, 64)
    assert accesses(func, "k", TARGET) == (
        AccessRow("C", "A", "A[i, k]", "read", 4, "next element, contiguous", 256),
        AccessRow("C", "B", "B[k, j]", "read", 256, "256 bytes, a new line each time", 4096),
        AccessRow("C", "C", "C[i, j]", "read, write", 0, "same element, so the order of additions matters", 64),
    )
    assert says(func, "j")["A[i, k]"] == "same element, used again"
    assert says(func, "i") == {
        "A[i, k]": "256 bytes, a new line each time",
        "B[k, j]": "same element, used again",
        "C[i, j]": "256 bytes, a new line each time",
    }


def test_a_line_that_serves_several_iterations():
    assert says(build("strided_conv"), "kw")["X[n, h*2+kh, w*2+kw, c]"] == "16 bytes, a line serves 4 iterations"
    assert says(build("skipping"), "i")["Y[i, j]"] == "40 bytes, mostly a new line"


def test_a_new_page_each_time():
    assert says(workloads.matmul(64, 2048, 64), "k")["B[k, j]"] == "8192 bytes, a new 4 KB page of memory each time"
    assert says(workloads.matmul(64, 4096, 64), "k")["B[k, j]"] == "16 KB, a new 4 KB page of memory each time"


def test_lanes_that_do_not_lie_side_by_side_are_gathered():
    s = wb.Schedule(workloads.matmul(32, 32, 32))
    s.reorder("k", "j", "i").vectorize("i")
    assert says(s.func, "i") == {
        "A[i, k]": "128 bytes, gathered lane by lane",
        "B[k, j]": "same element, the same for all lanes",
        "C[i, j]": "128 bytes, scattered lane by lane",
    }


def test_a_temporary_has_another_value_in_every_iteration_of_its_home():
    texts = says(build("conv_pad"), "relu_w.0")
    assert texts["conv[conv_w, conv_o]"] == "same place, another value each time"
    assert texts["W[kh, kw, c, o]"] == "same element, used again"
    assert (
        says(build("conv_pad"), "conv_c")["conv[conv_w, conv_o]"] == "same element, so the order of additions matters"
    )


def test_the_order_of_a_maximum_does_not_change_it_but_its_iterations_wait():
    assert says(build("softmax"), "k")["largest[i]"] == "same element, so each iteration waits for the one before"


def test_numbers_that_are_read_at_run_time_decide_the_step():
    row = next(r for r in accesses(picked(), "i", TARGET) if r.buffer == "X")
    assert (row.step_bytes, row.says) == (None, "decided at run time")


def test_a_fused_loop_says_in_how_many_of_its_steps():
    s = wb.Schedule(workloads.matmul(8, 16, 8))
    s.fuse("i", "j")
    rows = {r.buffer: r for r in accesses(s.func, "i.j", TARGET)}
    assert (rows["A"].step_bytes, rows["A"].says) == (0, "same element, in 94 % of the steps")
    assert (rows["B"].step_bytes, rows["B"].says) == (4, "next element, contiguous in 94 % of the steps")
    assert (rows["C"].step_bytes, rows["C"].says) == (4, "next element, contiguous")


def test_open_numbers_decide_what_they_decide_and_no_more():
    s = wb.Schedule(workloads.matmul(64, 64, 64))
    s.split("k", [None, wb.Hole("t")])
    outer = {r.buffer: r for r in accesses(s.func, "k.0", TARGET)}
    assert (outer["A"].step_bytes, outer["A"].says, outer["A"].touched) == (None, "depends on an open number", 256)
    assert outer["C"].says == "same element, so the order of additions matters"
    inner = {r.buffer: r for r in accesses(s.func, "k.1", TARGET)}
    assert (inner["A"].step_bytes, inner["A"].says, inner["A"].touched) == (4, "next element, contiguous", None)


def test_a_padded_stride_counts():
    s = wb.Schedule(workloads.conv2d_nhwc(8, 8, 16, 16))
    s.storage_align("pad", 2, 16, offset=4)
    assert next(r for r in accesses(s.func, "pad_w", TARGET) if r.kind == "write").step_bytes == 4 * 20


def test_a_loop_that_is_not_there():
    with pytest.raises(InputError) as error:
        accesses(workloads.matmul(8, 8, 8), "kk", TARGET)
    assert error.value.code == "accesses.loop"
