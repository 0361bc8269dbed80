"""What a stage costs, against sums made by hand."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench import labs
from workbench.errors import ScheduleError
from workbench.labs.catalog.fusion.blurring import blur
from workbench.workloads import dense, matmul, reduce


def test_a_blur_everything_first():
    counted = labs.stages(blur(8, 16))
    assert counted["bx"] == labs.Stage(runs=160, needed=160, kept=640, temporary=True)
    assert counted["by"] == labs.Stage(runs=128, needed=128, kept=512, temporary=False)


@pytest.mark.parametrize(("rows", "columns"), [(1, 16), (2, 16), (4, 8), (8, 4)])
def test_a_blur_in_tiles(rows, columns):
    s = wb.Schedule(blur(8, 16))
    y0, y1 = s.split("by_y", [None, rows])
    x0, x1 = s.split("by_x", [None, columns])
    s.reorder(y0, x0, y1, x1)
    s.compute_at("bx", x0)
    bx = labs.stages(s.func)["bx"]
    tiles = (8 // rows) * (16 // columns)
    assert bx.runs == tiles * (rows + 2) * columns
    assert bx.kept == 4 * (rows + 2) * columns
    assert bx.repeated == pytest.approx((8 // rows) * (rows + 2) / 10)


def test_what_is_inlined_is_no_stage():
    assert labs.stages(wb.Schedule(blur(8, 16)).compute_inline("bx").func).keys() == {"by"}


def test_a_sum_needs_all_its_steps():
    assert labs.stages(dense(4, 8, 16))["dense"] == labs.Stage(runs=512, needed=512, kept=128, temporary=True)


@pytest.mark.parametrize(("rows", "shared", "writers"), [(1, 4, 16), (4, 4, 4), (8, 4, 2), (16, 0, 1), (32, 0, 1)])
def test_lines_of_results_that_several_iterations_write(rows, shared, writers):
    s = wb.Schedule(reduce(64, 8))
    outer, _ = s.split("i", [None, rows])
    s.parallel(outer)
    found = labs.shared_lines(s.func)["Y"]
    assert found == labs.Sharing(iterations=64 // rows, lines=4, shared=shared, writers=writers)


@pytest.mark.parametrize("width", [2, 8, 16])
def test_shared_lines_of_a_product_against_a_loop_over_all_elements(width):
    s = wb.Schedule(matmul(8, 48, 4))
    outer, inner = s.split("j", [None, width])
    s.reorder(outer, "k", "i", inner)
    s.parallel(outer)
    writers = {}
    for i in range(8):
        for j in range(48):
            writers.setdefault((i * 48 + j) // 16, set()).add(j // width)
    found = labs.shared_lines(s.func)["C"]
    several = [len(w) for w in writers.values() if len(w) > 1]
    assert (found.lines, found.shared, found.writers) == (len(writers), len(several), max(several, default=1))


def test_nothing_is_shared_where_nothing_is_parallel():
    assert labs.shared_lines(matmul(8, 8, 8))["C"] == labs.Sharing(iterations=1, lines=4, shared=0, writers=1)


def test_a_block_that_is_not_there_is_refused():
    with pytest.raises(ScheduleError) as caught:
        labs.count(matmul(8, 8, 8), 8, "D")
    assert caught.value.code == "block.unknown"
    with pytest.raises(ScheduleError, match="reduces"):
        labs.count(blur(8, 16), 8)


def test_a_temporary_inside_of_a_parallel_loop_is_shared_by_nobody():
    s = wb.Schedule(blur(8, 16))
    s.compute_at("bx", "by_y")
    s.parallel("by_y")
    found = labs.shared_lines(s.func)
    assert found["bx"] == labs.Sharing(iterations=8, lines=8 * 3, shared=0, writers=1)  # 3 rows of 64 bytes each
    assert found["by"] == labs.Sharing(iterations=8, lines=8, shared=0, writers=1)
