"""The life of thread pools: who starts, who leaves, and when."""

import gc
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from runtime.test_threads import Counter, repeat
from waiting import until

from workbench.errors import RunError
from workbench.runtime.thread_pool.pool import ThreadPool, shared_pool


def workers():
    return [t for t in threading.enumerate() if t.name.startswith("workbench-")]


def test_workers_leave_with_the_last_reference_to_their_pool():
    before = set(workers())
    pool = ThreadPool(4)
    pool.start()
    own = [t for t in workers() if t not in before]
    assert len(own) == 3
    del pool
    gc.collect()
    for thread in own:
        thread.join(100)
    assert not any(t.is_alive() for t in own)


def test_a_pool_that_the_system_gives_too_few_threads_can_start_later(make_pool, monkeypatch):
    """Those that did start leave again: a second worker of the same number would share its workspace."""
    before = set(workers())
    real, asked = threading.Thread.start, []

    def start(self):
        asked.append(self)
        if len(asked) == 3:
            raise RuntimeError("can't start new thread")
        real(self)

    pool = make_pool(4)
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RunError) as caught:
        pool.start()
    assert caught.value.code == "run.threads"
    assert not pool.started
    assert set(workers()) == before
    pool.start()
    assert len(set(workers()) - before) == 3
    counter = Counter(16, 4)
    counter.run(pool, 16, 500)
    assert (counter.counts == 500).all()


@pytest.mark.skipif(sys.platform == "win32", reason="the body yields with POSIX")
@pytest.mark.timeout(60)
def test_new_workers_wait_for_old_ones_that_are_still_busy(make_pool):
    before = set(workers())
    pool = make_pool(2)
    pool.start()
    (old,) = set(workers()) - before
    ctx = np.array([2, 3, 0, 0], np.int64)  # both tasks wait for a count that comes from here
    launcher = threading.Thread(target=repeat, args=(pool, "uneven", ctx, 2, 1))
    launcher.start()
    ticket = pool._memory[:8].view(np.int64)
    while ticket[0] != 2 << 40 | 1 << 20 | 1:
        time.sleep(0.001)
    pool.stop(timeout=0.01)
    assert old.is_alive()
    starter = threading.Thread(target=pool.start)
    starter.start()
    starter.join(0.2)
    assert set(workers()) - before == {old}
    ctx[2] = 1
    for thread in (starter, launcher, old):
        thread.join(100)
        assert not thread.is_alive()
    assert len(set(workers()) - before) == 1


def test_interpreter_exit_with_sleeping_and_spinning_workers():
    program = (
        "from workbench.runtime.thread_pool.pool import shared_pool; shared_pool(4).start(); shared_pool(2).start()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_shared_pool_is_one_per_count():
    assert shared_pool(3) is shared_pool(3)
    assert shared_pool(3) is not shared_pool(2)


def test_pools_that_nobody_holds_go_when_they_are_many():
    """Trying every number of threads must not leave the square of them."""
    held = shared_pool(5)
    held.start()
    before = set(workers())
    for count in range(6, 22):
        shared_pool(count).start()
    own = set(workers()) - before
    gc.collect()
    until(lambda: sum(t.is_alive() for t in own) <= 17 + 18 + 19 + 20)
    assert sum(t.is_alive() for t in own) == 17 + 18 + 19 + 20
    assert shared_pool(5) is held
    counter = Counter(16, 5)
    counter.run(held, 16, 100)
    assert (counter.counts == 100).all()
