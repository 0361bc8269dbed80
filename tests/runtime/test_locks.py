"""Locks that a forked child finds open, and results that are made once."""

import os
import threading
import time

import pytest

from workbench.locks import ForkLock, once


def test_everybody_gets_the_one_result():
    """A second result would end the first one, which somebody uses already."""
    made = []

    @once
    def slow():
        """What it is for."""
        made.append(object())
        time.sleep(0.05)
        return made[-1]

    got = []
    threads = [threading.Thread(target=lambda: got.append(slow())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert len(got) == 4
    assert set(got) == set(made) == {slow()}
    assert slow.__doc__ == "What it is for."


def test_what_fails_is_tried_again():
    answers = iter([None, 7])

    @once
    def sometimes():
        answer = next(answers)
        if answer is None:
            raise ValueError("not yet")
        return answer

    with pytest.raises(ValueError, match="not yet"):
        sometimes()
    assert sometimes() == sometimes() == 7


@pytest.mark.parametrize("reentrant", [False, True])
def test_one_holder(reentrant):
    lock = ForkLock(reentrant)
    with lock:
        assert lock.acquire(blocking=False) == reentrant
        if reentrant:
            lock.release()
        other = []
        thread = threading.Thread(target=lambda: other.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join(100)
        assert other == [False]
    assert lock.acquire()
    lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.timeout(60)
def test_a_child_finds_it_open():
    lock, held, done = ForkLock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(50)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not lock.acquire(blocking=False)
    done.set()
    thread.join(100)
