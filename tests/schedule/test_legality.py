"""Legality asked directly: what is proved, what is refuted with a witness, and what stays undecided."""

from __future__ import annotations

import pytest

from workbench import workloads
from workbench.errors import ScheduleError
from workbench.ir import Affine, blocks
from workbench.schedule import Hole, Schedule, legality


def block_of(schedule, name="C"):
    """A block and the loops around it."""
    return next((b, p) for b, p in blocks(schedule.func.body) if b.buffer == name)


def test_each_check_has_a_text_and_stands_in_a_module_of_its_subject():
    for name in legality.__all__:
        found = getattr(legality, name)
        assert found.__doc__, name
        assert found.__module__.startswith("workbench.schedule.legality."), name
        assert not name.startswith("check_") or f"`{name}`" in legality.__doc__, name


def test_loops_over_the_output_write_elements_of_their_own():
    s = Schedule(workloads.matmul(8, 8, 8))
    block, path = block_of(s)
    assert [legality.writes_distinct(s.func, block, path, loop) for loop in "ijk"] == [True, True, False]
    assert (legality.spatial_loops(block), legality.reduction_loops(block)) == ({"i", "j"}, {"k"})
    assert legality.conflict(s.func, block, path, "i") is None


def test_two_iterations_that_write_one_element_are_shown():
    s = Schedule(workloads.matmul(4, 4, 4))
    block, path = block_of(s)
    witness = legality.conflict(s.func, block, path, "k")
    assert (witness.buffer, witness.element) == ("C", (0, 0))
    assert dict(witness.first)["k"] != dict(witness.second)["k"]


def test_open_numbers_are_answered_for_all_fillings():
    s = Schedule(workloads.matmul(8, 8, 8))
    s.split("i", [None, Hole("t")])
    block, path = block_of(s)
    assert legality.writes_distinct(s.func, block, path, "i.0")
    witness = legality.conflict(s.func, block, path, "k")
    assert witness.filling == (("i_0", 2), ("t", 4)), "a filling is chosen and said"
    assert str(witness) == "with i_0 = 2, t = 4, (k = 0) and (k = 1) both write C[0, 0]"
    extents = legality.extents_of(path)
    low, high = legality.form_range(block.env[block.iters[0].name], extents, s.func.relations)
    assert (low, high) == (0, 7)
    assert legality.nonneg(extents["i.1"] - 1, s.func.relations)
    assert legality.nonneg(extents["i.1"] - extents["i.0"], s.func.relations) is None


def test_digits_of_a_loop_determine_it_together():
    s = Schedule(workloads.matmul(8, 8, 8))
    s.split("i", [None, 2])
    block, path = block_of(s)
    form = block.env[block.iters[0].name]
    extents = legality.extents_of(path)
    assert legality.determines(form, extents, ())
    twice = Affine(tuple((digit, 1) for digit, _ in form.terms))
    assert not legality.determines(twice, extents, ()), "i.0 + i.1 has one value for several iterations"
    assert legality.evaluate_form(form, {"i.0": 3, "i.1": 1}) == 7
    assert legality.tiles([d for d, _ in form.terms if d.var == "i.0"], 4, (), once=True)
    assert not legality.tiles([], 4, ())


def test_a_reader_comes_after_what_it_reads():
    s = Schedule(workloads.conv2d_nhwc(6, 6, 4, 8, bias=True))
    names = [b.buffer for b, _ in blocks(s.func.body)]
    for buffer in names:
        legality.check_flow(s.func, buffer, "test.order")
    backwards = type(s.func)(**{f: getattr(s.func, f) for f in s.func.__slots__} | {"body": s.func.body[::-1]})
    made = next(n for n in names if legality.readers(s.func, n))
    with pytest.raises(ScheduleError, match="before") as refused:
        legality.check_flow(backwards, made, "test.order")
    assert refused.value.code == "test.order"
    assert [b.buffer for b, _ in legality.writers(s.func, made)] == [made]
