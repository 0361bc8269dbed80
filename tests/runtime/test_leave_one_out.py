"""Steps left out one by one: which can be, that all are timed against the whole, what is told of the others."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench import advice
from workbench.errors import UsageError
from workbench.schedule import Schedule


def test_each_step_is_left_out_and_timed():
    s = Schedule(wb.workloads.matmul(128, 128, 128), wb.Target.host(threads=1))
    with pytest.raises(UsageError) as told:
        advice.leave_one_out(s)
    assert told.value.code == "advice.no_steps"
    i, i1 = s.split("i", [None, 4])
    s.reorder(i, "k", i1, "j")
    s.vectorize("j")
    s.unroll(i1)
    found = advice.leave_one_out(s, budget_ms=300)
    assert [one.number for one in found] == [0, 1, 2, 3]
    assert [one.ratio is None for one in found] == [True, True, False, False]
    assert found[0].why_not.startswith("step 1")  # it names a loop that only the split makes
    assert found[1].why_not.startswith("step 2")  # the loop is innermost only after it
    assert found[2].ratio > 1.5  # one number at a time takes longer
    assert found[2].known == "apart" or not found[2].contest.clean
    assert (found[2].confidence or 0.0) > 0.9 or not found[2].contest.clean
    assert "without step 2" in found[2].text
    lines = repr(found).splitlines()
    assert "not timed" in lines[0]
    assert f"without it {found[2].ms:.4g} ms, " in lines[2]
    assert found[2].ms > found[2].whole_ms > 0
