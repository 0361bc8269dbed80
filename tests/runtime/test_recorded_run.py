"""A run in motion: calls and gaps add up to it, threads work inside their calls, the arena's map is the plan's."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace

import numpy as np
import pytest
from runtime.test_reentrant import chain

import workbench as wb
from workbench import zoo
from workbench.runtime.execution import recorded_run
from workbench.runtime.execution.executable import Executable
from workbench.runtime.execution.recorded_run import RecordedRun, _typical, record_in_turns
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


def test_gaps_of_every_run():
    """Two runs of two calls on two threads; the second call of each has no region."""
    stamps = np.array([[0, 100, 200], [1000, 1100, 1200]], np.int64)
    regions = np.array([[10, 90, 2], [1020, 1090, 2]], np.int64)
    work = np.array([[[10, 50, 40, 1], [30, 80, 50, 1]], [[1030, 1040, 10, 1], [1050, 1090, 40, 1]]], np.int64)
    run = RecordedRun(None, None, Recording(stamps, regions, work), 1)
    assert run.each_gap_ns.tolist() == [[30, 0], [50, 0]]
    assert run.gaps_ns.tolist() == [50, 0]
    assert run.has_gaps
    assert not RecordedRun(None, None, stamped([[1, 2]]), 0).has_gaps


def test_turns_that_something_disturbed_are_taken_again(monkeypatch):
    """Runs of two networks at one place are of one turn, in alternating order; what was disturbed does not count."""
    order: list[str] = []
    disturbed = {1, 4}
    taken = recorded_run._Turns.take

    class Watch:
        def begin(self):
            pass

        def absent(self):
            return len(turns.calm) not in disturbed

        def reason(self):
            return "the thread had 50 % of a core"

    def take(self, warmup):
        nonlocal turns
        turns = self
        taken(self, warmup)

    turns = None
    monkeypatch.setattr(recorded_run._Turns, "take", take)
    monkeypatch.setattr(recorded_run, "timing", lambda pool: contextlib.nullcontext(Watch()))
    real = recorded_run.record
    monkeypatch.setattr(
        recorded_run, "record", lambda context, plan, runs: order.append(plan.name) or real(context, plan, runs)
    )
    networks = [Executable(replace(chain(1), name=name)) for name in ("a", "b")]
    a, b = record_in_turns(networks, runs=4, roofline=False)
    assert "".join(order) == "abbaabbaabba"
    assert len(a.plain_ms) == len(b.plain_ms) == len(a.recording.stamps) == 4
    assert (a.recording.stamps[:, -1] < b.recording.stamps[:, 0]).tolist() == [True, True, False, False]
    assert a.why_not == ""
    disturbed = set(range(100))
    order.clear()
    a, b = record_in_turns(networks, runs=2, roofline=False)
    assert len(order) == 2 * recorded_run.PATIENCE * 2
    assert a.why_not == "the thread had 50 % of a core"
    assert len(a.recording.stamps) == 2
    a, _ = record_in_turns(networks, runs=20, roofline=False, seconds=0.0)
    assert len(a.recording.stamps) == recorded_run.LEAST_TURNS


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
    assert _typical(run.recording) in (2, 3)
    assert run.interrupted == -1
    assert replace(run, run=0).interrupted == 1


def test_the_run_that_is_drawn_is_the_one_whose_calls_take_what_they_usually_do():
    """The last one is nearest to the median of the runs, by calls that are far from theirs."""
    assert _typical(stamped([[100, 100, 110], [101, 99, 100], [130, 70, 100], [104, 104, 104]])) == 1


def test_where_all_were_interrupted_the_shortest_is_drawn():
    found = stamped([[9000, 1000, 1000, 1000], [1000, 7000, 1000, 1000], [1000, 1000, 9500, 1000]])
    assert _typical(found) == 1
