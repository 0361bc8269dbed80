"""This process keeps off the cores while it measures."""

import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info
from waiting import until

from workbench.runtime.machine.blas_threads import _IDLE, _others, quiet, settle


def blas_threads():
    return [entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas"]


def test_numeric_libraries_have_one_thread_meanwhile_also_for_several_users():
    before = blas_threads()
    with quiet():
        assert set(blas_threads()) <= {1}
        with quiet():
            assert set(blas_threads()) <= {1}
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_users_in_several_threads_end_in_any_order():
    before, inside, leave = blas_threads(), threading.Event(), threading.Event()

    def other():
        with quiet():
            inside.set()
            leave.wait(100.0)

    thread = threading.Thread(target=other)
    with quiet():
        thread.start()
        assert inside.wait(100.0)
    assert set(blas_threads()) <= {1}
    leave.set()
    thread.join()
    until(lambda: blas_threads() == before)  # a run of another test may be about to end: it is a user, too


def test_what_a_thread_has_limited_that_still_lives_can_be_limited_and_given_back_by_another():
    before, step, leave = blas_threads(), threading.Event(), threading.Event()

    def other():
        with quiet():
            pass
        step.set()
        leave.wait(20.0)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert step.wait(20.0)
        with quiet():
            assert set(blas_threads()) <= {1}
        assert blas_threads() == before
    finally:
        leave.set()
        thread.join()


def test_what_was_set_comes_back_after_an_error():
    before = blas_threads()
    with pytest.raises(KeyError), quiet():
        raise KeyError
    assert blas_threads() == before


def test_threads_that_run_are_waited_for_but_not_for_ever(monkeypatch):
    # What other threads of this process do at the moment is not asked: tests before this one may have left some.
    monkeypatch.setattr("workbench.runtime.machine.blas_threads._runnable", lambda: 0)
    seen = iter([1.0, 1.0, 0.5, 0.1])
    monkeypatch.setattr("workbench.runtime.machine.blas_threads._others", lambda: next(seen))
    assert settle() == 0.1
    now, asked = iter(k / 100 for k in range(1000)), []
    monkeypatch.setattr("workbench.runtime.machine.blas_threads.time", SimpleNamespace(perf_counter=lambda: next(now)))
    monkeypatch.setattr("workbench.runtime.machine.blas_threads._others", lambda: asked.append(1) or 0.9)
    assert settle() == 0.9
    assert len(asked) == 25


def test_other_threads_are_seen_and_this_one_is_not():
    end = threading.Event()

    def work():
        while not end.is_set():
            np.sort(np.arange(100_000)[::-1])  # without the interpreter's lock

    thread = threading.Thread(target=work)
    thread.start()
    try:
        until(lambda: _others() >= 0.05)
    finally:
        end.set()
        thread.join()


PROGRAM = """
import time
import numpy as np
import workbench as wb
from workbench.runtime.machine.blas_threads import settle

a = np.ones((1500, 1500), np.float32)
a @ a  # its threads spin for a tenth of a second
busy = settle()
ran = time.process_time()
time.sleep(0.05)
print(time.process_time() - ran, busy)
"""


@pytest.mark.bench
def test_threads_that_spin_after_a_product_have_gone_to_sleep_or_are_told_of():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=True)
    ran, busy = map(float, done.stdout.split())
    assert ran < 0.025 or busy >= _IDLE, "on a busy machine they spin for longer than anybody waits"
