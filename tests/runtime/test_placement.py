"""Which cores the threads of a pool run on."""

import os
import sys
import threading

import pytest

from workbench.runtime.machine.interference import timing
from workbench.runtime.thread_pool import placement
from workbench.runtime.thread_pool.placement import Placement, cores, deal
from workbench.runtime.thread_pool.pool import ThreadPool

places = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not place threads")


@pytest.mark.parametrize(
    ("allowed", "threads", "shares"),
    [
        ([(0,), (1,)], 2, [{0}, {1}]),
        ([(0,), (1,), (2,), (3,)], 2, [{0, 2}, {1, 3}]),
        (
            [(0, 4), (1, 5), (2, 6), (3, 7)],
            4,
            [{0, 4}, {1, 5}, {2, 6}, {3, 7}],
        ),  # two processors of a core stay together
        ([(0, 4), (1, 5), (2, 6), (3, 7)], 3, [{0, 4, 3, 7}, {1, 5}, {2, 6}]),
        ([(0, 1), (2, 3)], 4, [{0}, {2}, {1}, {3}]),
        ([(0, 1), (2, 3)], 3, [{0, 3}, {2}, {1}]),
        ([(0,)], 2, []),
        ([], 1, []),
    ],
)
def test_processors_are_dealt_out(allowed, threads, shares):
    assert [set(share) for share in deal(allowed, threads)] == shares


@pytest.mark.parametrize("threads", range(1, 9))
def test_every_processor_is_somebodys_and_no_two_threads_meet(threads):
    allowed = [(0, 8), (1, 9), (2,), (3,), (4, 10), (5,)]
    shares = deal(allowed, threads)
    assert sorted(cpu for share in shares for cpu in share) == sorted(cpu for core in allowed for cpu in core)
    assert all(shares)


def test_cores_are_those_of_the_system(monkeypatch):
    monkeypatch.setattr(placement, "_siblings", lambda cpu: {cpu % 4, cpu % 4 + 4})
    assert cores({0, 1, 2, 3, 4, 6}) == [(0, 4), (1,), (2, 6), (3,)]
    monkeypatch.setattr(placement, "_siblings", lambda cpu: set())
    assert cores({3, 1}) == [(1,), (3,)]


@places
def test_lists_of_siblings_are_read(monkeypatch, tmp_path):
    (tmp_path / "2").write_text("2,6-7\n")
    (tmp_path / "3").write_text("nonsense")
    monkeypatch.setattr(placement, "_SIBLINGS", str(tmp_path / "{}"))
    assert cores({2, 3, 6, 7}) == [(2, 6, 7), (3,)]


@places
def test_threads_keep_to_their_shares_and_the_caller_only_meanwhile():
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("one processor")
    pool = ThreadPool(2)
    try:
        with timing(pool):
            (worker,) = pool.members
            assert os.sched_getaffinity(worker).isdisjoint(os.sched_getaffinity(0))
            assert os.sched_getaffinity(worker) | os.sched_getaffinity(0) == allowed
        assert os.sched_getaffinity(0) == allowed
    finally:
        pool.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_only_the_threads_that_are_kept_busy_are_looked_after():
    pool = ThreadPool(2)
    try:
        watched = []
        for busy in (None, 1):
            with timing(pool, busy) as watch:
                watched.append(len(watch._clocks))
        assert watched == [2, 1]
    finally:
        pool.stop()


@places
def test_a_caller_leaves_a_workers_core_and_is_free_again(monkeypatch):
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("one processor")
    shares = Placement(2)
    monkeypatch.setattr(placement, "PART_S", 0.0)
    os.sched_setaffinity(0, shares.shares[1])
    os.sched_setaffinity(0, allowed)
    moved: list[object] = []
    monkeypatch.setattr(
        Placement, "leave", lambda self, before: (moved.append(before), os.sched_setaffinity(0, before))
    )
    monkeypatch.setattr(placement, "_current_cpu", lambda: next(iter(shares.shares[1])))
    shares.part()
    assert moved == [allowed]
    monkeypatch.setattr(placement, "PART_S", 60.0)
    shares.part()  # not again so soon
    monkeypatch.setattr(placement, "_current_cpu", lambda: next(iter(shares.shares[0])))
    monkeypatch.setattr(placement, "PART_S", 0.0)
    shares.part()
    assert moved == [allowed]
    assert os.sched_getaffinity(0) == allowed


@places
def test_a_caller_that_was_confined_stays_so():
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("one processor")
    shares = Placement(2)
    for share in shares.shares:
        inside: list[set[int]] = []

        def confined(share=share, inside=inside):
            os.sched_setaffinity(0, share)  # of this thread
            with shares.caller():
                inside.append(os.sched_getaffinity(0))

        thread = threading.Thread(target=confined)
        thread.start()
        thread.join()
        assert inside == [set(share)]
    assert os.sched_getaffinity(0) == allowed


def test_where_the_system_does_not_place_threads_they_run_anywhere(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    shares = Placement(2)
    assert shares.shares == ()
    with shares.caller():
        pass
    shares.place(1, threading.current_thread())


@pytest.mark.skipif(sys.platform != "linux", reason="threads sleep in their own ways")
def test_workers_sleep_again_after_timing():
    import time

    pool = ThreadPool(2)
    try:
        with timing(pool):
            (worker,) = pool.members
            clock = (~worker << 3) | 6
            end, before = time.monotonic() + 60.0, time.clock_gettime_ns(clock)
            while time.clock_gettime_ns(clock) - before < 20_000_000:  # it sleeps after a millisecond otherwise
                assert time.monotonic() < end, "the worker sleeps while its time counts"
                time.sleep(0.01)
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            before = time.clock_gettime_ns(clock)
            time.sleep(0.05)
            if time.clock_gettime_ns(clock) == before:
                return
        pytest.fail("the worker spins on")
    finally:
        pool.stop()
