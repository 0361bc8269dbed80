"""Totals and shares over tasks, as every table of tasks shows them."""

from __future__ import annotations

import pytest

from workbench.log.weighted_latency import shares, total


def test_a_task_counts_as_often_as_it_is_called():
    calls = [(3, 2.0), (1, 4.0)]
    assert total(calls) == 10.0
    assert shares(calls) == pytest.approx([0.6, 0.4])


@pytest.mark.parametrize("calls", [[(1, 2.0), (2, None)], [(1, None)]])
def test_nothing_is_said_of_a_whole_that_is_not_known(calls):
    assert total(calls) is None
    assert shares(calls) == [None] * len(calls)


def test_no_tasks_and_no_time():
    assert total([]) is None
    assert shares([]) == []
    assert shares([(2, 0.0)]) == [None]
