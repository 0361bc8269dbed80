"""Direct against Winograd convolutions on one core, by what the rules and the untrained model propose.

Run it by hand, or with ``pytest -m bench tests/benchmarks/bench_winograd.py``::

    python tests/benchmarks/bench_winograd.py [--proposals 12] [--threads 1]

For every case: the fastest of some proposals of each kind (direct, F(4x4) or F(2x2)), measured again in turns. Speed
counts the operations of the direct convolution, whatever the algorithm; with one thread, the clock is the thread's
processor time. The claim: the better of the two is faster than direct by the ratio that `CASES` states.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass

import numpy as np
import pytest

from workbench import workloads
from workbench.ir.flops import count_flops
from workbench.machine_model.features import INDEX
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.schedule import Schedule
from workbench.space.space import make_space
from workbench.space.variant import Variant
from workbench.target import Target

#: (height and width, input channels, output channels) -> the least ratio direct / Winograd that is claimed.
CASES = {
    (56, 64, 64): 1.5,
    (28, 128, 128): 1.5,
    (14, 256, 256): 1.3,
    (29, 37, 53): 1.3,
    (7, 512, 512): 1.2,
}
KINDS = {0: "direct", 4: "F(4x4)", 2: "F(2x2)"}


@dataclass(frozen=True)
class Result:
    """Fastest schedule of one kind: least ms (median of the turns), spread, largest error over its bound."""

    ms: float
    spread: float
    error: float


def kind(variant: Variant) -> int:
    """Outputs per tile and dimension, 0 for a direct variant."""
    return next((int(step.args["m"]) for step in variant.schedule.trace if step.name == "winograd"), 0)


def proposals(variants: list[Variant], count: int) -> list[Schedule]:
    """What the untrained model likes best over some variants."""
    scored: list[tuple[float, Schedule]] = []
    for v in variants:
        picks = v.sampler.draw(1024, np.random.default_rng(0))
        speed = v.features(picks)[:, INDEX["speed"]]
        best = np.argsort(-speed, kind="stable")[:count]
        scored += [(float(speed[k]), v.schedule.fill(v.sampler.row(picks[k]))) for k in best]
    return [s for _, s in sorted(scored, key=lambda x: -x[0])[:count]]


def measure(size: tuple[int, int, int], count: int, threads: int, turns: int = 5) -> dict[int, Result]:
    """Measure one case."""
    side, ci, co = size
    func = workloads.conv2d_nhwc(side, side, ci, co, bias=True, relu=True)
    target = Target.host(threads=threads)
    runner = LocalRunner(target, MeasureOptions(), builders=1)
    flops = count_flops(func)

    def run(schedules: list[Schedule]) -> list[Measurement]:
        inputs = [MeasureInput("bench", func, s.func, "kernel", flops) for s in schedules]
        done = dict(runner.measure_many(inputs))
        return [done[k] for k in range(len(schedules))]

    best: dict[int, Schedule] = {}
    for m in KINDS:
        schedules = proposals([v for v in make_space(func, target).variants if kind(v) == m], count)
        if not schedules:  # the rule takes tiles of one size
            continue
        found = run(schedules)
        assert all(f.ok for f in found), [f.error for f in found if not f.ok]
        best[m] = min(zip(found, schedules, strict=True), key=lambda x: x[0].min_ms)[1]
    again = [run(list(best.values())) for _ in range(turns)]
    runner.close()
    out = {}
    for k, m in enumerate(best):
        times = [turn[k].min_ms for turn in again]
        out[m] = Result(
            statistics.median(times), (max(times) - min(times)) / min(times), again[0][k].max_rel_error or 0.0
        )
    return out


def report(size: tuple[int, int, int], found: dict[int, Result]) -> str:
    """One line per kind."""
    side, ci, co = size
    flops = count_flops(workloads.conv2d_nhwc(side, side, ci, co, bias=True, relu=True))
    lines = []
    for m, r in found.items():
        ratio = found[0].ms / r.ms
        lines.append(
            f"3x3 {ci}→{co} @{side}".ljust(20) + f"{KINDS[m]:<8} {r.ms:8.3f} ms  {flops / r.ms / 1e6:6.0f} GFLOP/s  "
            f"x{ratio:.2f}  spread {r.spread:.0%}  error {r.error:.2f} of its bound"
        )
    return "\n".join(lines)


@pytest.mark.bench
@pytest.mark.parametrize("size", CASES, ids=str)
def test_winograd_is_faster_where_it_is_claimed(size: tuple[int, int, int]) -> None:
    found = measure(size, 12, 1)
    print(report(size, found))
    claim = CASES[size]
    assert found[0].ms / min(r.ms for m, r in found.items() if m) > claim


def main() -> None:
    """Print all cases."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--proposals", type=int, default=12)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    for size in CASES:
        print(report(size, measure(size, args.proposals, args.threads)), flush=True)


if __name__ == "__main__":
    main()
