"""Tuned kernels on PoCL against its naive kernels: OpenCL on a processor, from the rules to the log.

Run it by hand (it is not part of the default tests)::

    pip install pyopencl pocl-binary-distribution && python tests/benchmarks/bench_opencl.py --trials 48

Naive is what one writes first: a work-item for each result, 64 to a group, and the sum of a result in that item. The
target says that threads run one by one (``-thread_warp_size=1``), so the rules of processors make the candidates.
Both are measured in turns by the device's clock; the best of all repetitions counts. ``--gpu-rules`` tunes with the
rules of GPUs instead. Prints milliseconds, and by how much the tuned kernel is faster.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path

import workbench as wb
from workbench import workloads
from workbench.ir import Func, blocks
from workbench.schedule import Schedule
from workbench.space.shared_steps.threads import fused

FUNCS = {
    "matmul": lambda: workloads.matmul(512, 512, 512),
    "conv": lambda: workloads.conv2d_nhwc(56, 56, 64, 64, 3, 1, 1),
    "softmax": lambda: workloads.softmax(1024, 1024),
    "layer_norm": lambda: workloads.layer_norm(1024, 768),
}


def naive(func: Func) -> Schedule:
    """A work-item for each result of each stage."""
    s = Schedule(func)
    for name in [b.name for b, _ in blocks(func.body)]:
        block, path = s.func.block(name)
        spatial = [lp.name for lp in path if lp.name in block.driving("S")]
        outer, inner = s.split(fused(s, spatial), [None, 64], "guard")
        s.bind(outer, "blockIdx.x").bind(inner, "threadIdx.x")
    return s


def in_turns(schedules: dict[str, Schedule], target: wb.Target, turns: int) -> dict[str, float]:
    """Milliseconds of each, the least of all repetitions."""
    best = dict.fromkeys(schedules, math.inf)
    for _ in range(turns):
        for name, s in schedules.items():
            measured = s.measure(target=target, repeat=5, timeout_s=60)
            if not measured.ok:
                raise SystemExit(f"{name}: {measured.error}")
            best[name] = min(best[name], *measured.costs_ms)
    return best


def main() -> None:
    """Tune, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*FUNCS, []], help="workloads; all by default")
    parser.add_argument("--trials", type=int, default=48)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--device", default="portable", help="a word of the device's name")
    parser.add_argument("--gpu-rules", action="store_true")
    options = parser.parse_args()
    text = f"opencl -device={options.device}"
    target = wb.Target(text if options.gpu_rules else f"{text} -thread_warp_size=1")
    for name in options.names or FUNCS:
        func = FUNCS[name]()
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "opencl.tunelog.jsonl"
            with wb.tune(func, trials=options.trials, target=target, log=log) as run:
                run.wait()
            tuned = run.best(run.tasks[0])
        times = in_turns({"naive": naive(func), "tuned": tuned}, target, options.turns)
        factor = times["naive"] / times["tuned"]
        print(f"{name:12} naive {times['naive']:9.3f} ms  tuned {times['tuned']:9.3f} ms  x{factor:.1f}", flush=True)


if __name__ == "__main__":
    main()
