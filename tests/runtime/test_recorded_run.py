"""A run in motion: calls and gaps add up to it, threads work inside their calls, the arena's map is the plan's."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from runtime.test_reentrant import chain

import workbench as wb
from workbench import zoo
from workbench.runtime.execution.executable import Executable
from workbench.runtime.execution.recorded_run import RecordedRun, _least_disturbed
from workbench.runtime.execution.timeline import Recording
from workbench.runtime.networks.memory_map import live_bytes, memory_map


@pytest.mark.parametrize("threads", [1, 3])
def test_calls_and_gaps_add_up_to_the_run(threads):
    found = Executable(chain(threads)).record(runs=4, roofline=False)
    stamps = found.recording.stamps
    assert stamps.shape == (4, 4)
    spent = stamps[:, -1] - stamps[:, 0]
    assert found.interrupted < 0 or spent[found.run] == spent.min()
    assert (found.calls_ns >= 0).all()
    assert (found.gaps_ns >= 0).all()
    assert int((found.calls_ns + found.gaps_ns).sum()) == spent[found.run]
    assert found.profile.attrs["runs"] == 4
    thread, call, begin, end, busy = found.work()
    assert set(call) == {0, 1, 2}
    assert (np.diff(begin) >= 0).all()
    for t, c, b, e, used in zip(thread, call, begin, end, busy, strict=True):
        assert 0 <= t < found.recording.threads
        assert found.stamps[c] <= b <= e <= found.stamps[c + 1]
        assert used <= e - b
    only = {c for c in range(3) if (call == c).sum() == 1 and found.gaps_ns[c] == 0}
    assert 1 in only or 0 in only  # a call without a region is one stretch, from its beginning to its end


def network():
    return wb.compile(zoo.get_network("squeezenet_v1.1", size=64), threads=1)


def test_the_map_of_the_arena():
    plan = network().plan
    held = memory_map(plan)
    assert len({h.name for h in held}) == len(held)
    assert all(h.start >= 0 and h.nbytes > 0 and h.start + h.nbytes <= plan.arena_bytes for h in held)
    assert all(h.first <= h.last < len(plan.calls) for h in held)
    live = live_bytes(held, len(plan.calls))
    assert max(live) <= plan.arena_bytes
    assert max(live) == pytest.approx(plan.least_bytes, rel=0.1)
    for a, b in itertools.combinations(held, 2):  # two that share bytes meet in one call at most, where one is written
        if a.start < b.start + b.nbytes and b.start < a.start + a.nbytes:
            early, late = sorted((a, b), key=lambda h: h.first)
            assert early.last <= late.first


def stamped(calls: list[list[int]]) -> Recording:
    """Runs whose calls took so long."""
    stamps = np.concatenate([np.zeros((len(calls), 1), np.int64), np.cumsum(calls, axis=1)], axis=1)
    return Recording(stamps, np.empty((0, 3), np.int64), np.empty((0, 2, 4), np.int64))


def test_a_run_that_something_interrupted_is_not_drawn():
    calm, broken = [1000, 3000, 1000], [1000, 23_000, 1000]
    run = RecordedRun(None, None, stamped([broken, broken, calm, [1010, 3050, 990], broken]), 2)
    assert _least_disturbed(run.recording) in (2, 3)
    assert run.interrupted == -1
    assert replace(run, run=0).interrupted == 1


def test_where_all_were_interrupted_the_shortest_is_drawn():
    found = stamped([[9000, 1000, 1000, 1000], [1000, 7000, 1000, 1000], [1000, 1000, 9500, 1000]])
    assert _least_disturbed(found) == 1
