"""How well the estimate that stands beside every schedule ranks them, against the clock.

Run it by hand on a quiet machine, or with ``pytest -m bench tests/benchmarks/bench_estimate.py``::

    python tests/benchmarks/bench_estimate.py [--schedules 30] [--seed 0] [--threads 1]

Schedules of a convolution are drawn uniformly from its search space (a variant, then a row of it) and measured. The
claim: Spearman's correlation of `estimate` with the measured times is 0.8 or more over 30 of them.
"""

from __future__ import annotations

import argparse
import json
import math

import numpy as np
import pytest
from benchmarks.bench_model import drawn

from workbench import workloads
from workbench.analysis import estimate
from workbench.cost_model import spearman
from workbench.graph.tasks import Task
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.space.space import make_space
from workbench.target import Target

SCHEDULES, CLAIM = 30, 0.8


def pairs(schedules: int, seed: int, threads: int) -> list[tuple[float, float]]:
    """Estimated and measured milliseconds of as many schedules of a convolution."""
    target = Target.host(threads=threads)
    target.peak_gflops()
    task = Task.of_func(workloads.conv2d_nhwc(28, 28, 64, 64, bias=True, relu=True), target)
    space = make_space(task, target)
    chosen = [space.schedule(c) for c in drawn(space, schedules, np.random.default_rng(seed))]
    inputs = [MeasureInput(task.key, task.func, s.func, "kernel", int(task.flops)) for s in chosen]
    with LocalRunner(target, MeasureOptions(early_stop=0.0)) as runner:
        results = dict(runner.measure_many(inputs))
    found = []
    for k, schedule in enumerate(chosen):
        assert results[k].status == "ok", results[k]
        assert math.isfinite(results[k].min_ms), results[k]
        guess = estimate(schedule, target).ms
        assert guess is not None
        found.append((guess, float(results[k].min_ms)))
    return found


@pytest.mark.bench
def test_the_estimate_ranks_schedules_of_a_convolution() -> None:
    guessed, measured = np.array(pairs(SCHEDULES, 0, 1)).T
    assert len(measured) == SCHEDULES
    assert spearman(guessed, measured) >= CLAIM


def main() -> None:
    """Print the correlation, and both times of every schedule."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--schedules", type=int, default=SCHEDULES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    found = pairs(given.schedules, given.seed, given.threads)
    guessed, measured = np.array(found).T
    print(json.dumps({"spearman": round(float(spearman(guessed, measured)), 3), "estimated and measured ms": found}))


if __name__ == "__main__":
    main()
