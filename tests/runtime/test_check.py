"""The check of results against faults: every kernel of `faults` is found out, and right ones pass."""

from __future__ import annotations

import pytest
from runtime.faults import FAULTS

from workbench.codegen.backend import build_func
from workbench.ir import Func
from workbench.runtime.measuring.candidate_run import TrialRunner
from workbench.runtime.measuring.jobs import SetupJob, TrialJob
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.target import Target

TARGET = Target.host(threads=1)
RIGHT = {name.split(":")[0]: right for name, (right, _) in FAULTS.items()}


def checked(task: Func, kernel: Func, seed: int = 0) -> Measurement:
    """Run one function as a candidate for another."""
    runner = TrialRunner()
    runner.setup(SetupJob("t", task, seed))
    image = build_func(kernel, TARGET)
    return runner.run(TrialJob("t", image, kernel.params, 1, MeasureOptions(repeat=1)))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name):
    done = checked(*FAULTS[name])
    assert done.status == "wrong_answer", f"{name}: the largest error is {done.max_rel_error} of its bound"
    assert done.max_rel_error > 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RIGHT)
def test_the_right_kernel_passes(name, seed):
    done = checked(RIGHT[name], RIGHT[name], seed)
    assert done.status == "ok", done.error
    assert done.max_rel_error <= 1
