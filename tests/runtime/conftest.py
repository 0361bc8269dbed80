"""What tests of the runtime share."""

import pytest

from workbench.runtime.thread_pool.pool import ThreadPool


@pytest.fixture
def make_pool():
    pools = []

    def make(n):
        pools.append(ThreadPool(n))
        return pools[-1]

    yield make
    for pool in pools:
        pool.stop()
