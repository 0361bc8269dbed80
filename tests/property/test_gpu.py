"""Random schedules for a GPU are right on every thread, in three orders of the threads."""

from __future__ import annotations

import pytest

from property import gpu
from workbench.codegen.gpu import simt

pytestmark = pytest.mark.skipif(simt.problem() is not None, reason="there is no C++ compiler")


def test_some_schedules():
    tally = gpu.run(30, seed=1)
    assert all(tally[what] for what in ("tiled", "stages", "barrier", "shared", "local", "some threads", "two kernels"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_schedules(seed):
    tally = gpu.run(200, seed)
    assert all(tally[what] for what in (*gpu.WORDS, "tiled", "stages", "anything"))
