"""Templates against the sketch rules: the same search with as many trials, the winners against each other.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_templates.py --trials 192

For every workload both spaces are searched with the same strategy, model and seed. Then the three best of each are
timed in one process in alternating blocks; what counts is the ratio of the two that come out first. Prints for each
workload the best of both in milliseconds, and how much of the sketch space's speed the template reaches.
"""

from __future__ import annotations

import argparse
import json
import math
from types import SimpleNamespace
from typing import Any

from workbench import workloads
from workbench.cost_model import make_model
from workbench.ir.flops import count_flops
from workbench.runtime.results.measure_options import ContestRules, MeasureOptions
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.search import make_search
from workbench.space.space import make_space
from workbench.target import Target

WORKLOADS = {
    "matmul 512": ("matmul", lambda: workloads.matmul(512, 512, 512)),
    "dense 768→3072, 128 rows": ("matmul", lambda: workloads.dense(128, 3072, 768, relu=True)),
    "conv 3x3 64→64 @56": ("conv2d_nhwc", lambda: workloads.conv2d_nhwc(56, 56, 64, 64, bias=True, relu=True)),
    "conv 1x1 256→64 @56": (
        "conv2d_nhwc",
        lambda: workloads.conv2d_nhwc(56, 56, 256, 64, 1, padding=0, bias=True, relu=True),
    ),
    "conv 3x3 512→512 @7": ("conv2d_nhwc", lambda: workloads.conv2d_nhwc(7, 7, 512, 512, bias=True, relu=True)),
    "depthwise 3x3 256 @28": (
        "depthwise_conv2d_nhwc",
        lambda: workloads.depthwise_conv2d_nhwc(28, 28, 256, bias=True, relu=True),
    ),
}
#: Of each space so many meet in the end.
FINALISTS = 3


def search(name: str, func: Any, space: Any, options: argparse.Namespace, runner: LocalRunner) -> list[tuple[Any, ...]]:
    """Search a space; the best candidates as (milliseconds, description, schedule)."""
    flops = count_flops(func)
    task = SimpleNamespace(key=name, flops=flops, func=func)
    found, best = [], math.inf
    searching = make_search("evolutionary", task, space, make_model("xgboost", options.seed), options.seed)
    for _ in range(0, options.trials, options.batch):
        candidates = searching.ask(options.batch)
        if not candidates:
            break
        inputs = [MeasureInput(name, func, space.schedule(c).func, "kernel", flops, best) for c in candidates]
        results = sorted(runner.measure_many(inputs), key=lambda r: r[0])
        for k, m in results:
            if m.status == "ok":
                best = min(best, m.min_ms)
                label = f"{space.variants[candidates[k].variant].label} {dict(candidates[k].row)}"
                found.append((m.min_ms, label, inputs[k].func))
        searching.tell([(candidates[k], m) for k, m in results])
    return sorted(found, key=lambda f: f[0])[:FINALISTS]


def compare(name: str, options: argparse.Namespace, runner: LocalRunner, target: Target) -> dict[str, Any]:
    """Figures of one workload."""
    template, make = WORKLOADS[name]
    func = make()
    both = {
        "sketch": search(name, func, make_space(func, target), options, runner),
        "template": search(name, func, make_space(func, target, template=template), options, runner),
    }
    flops = count_flops(func)
    finalists = [(space, *f) for space, found in both.items() for f in found]
    inputs = [MeasureInput(name, func, f[3], "kernel", flops) for f in finalists]
    contest = runner.contest(inputs, rules=ContestRules(budget_ms=2000.0, most_ms=6000.0))
    first = {
        space: min((i for i, f in enumerate(finalists) if f[0] == space), key=lambda i: contest.ratio(i, 0))
        for space in both
    }
    sketch, mine = first["sketch"], first["template"]
    return {
        "workload": name,
        "template": template,
        "trials": options.trials,
        "seed": options.seed,
        "sketch_ms": contest.latency_ms(sketch),
        "template_ms": contest.latency_ms(mine),
        "reached": 1.0 / contest.ratio(mine, sketch),
        "resolution": contest.resolution(mine, sketch),
        "best": {space: finalists[i][2] for space, i in first.items()},
    }


def main() -> None:
    """Print the table; with --json the figures as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=192)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", help="parts of workload names")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    target = Target.host(threads=options.threads)
    with LocalRunner(target, MeasureOptions(repeat=3, min_repeat_ms=20)) as runner:
        for name in WORKLOADS:
            if options.only and not any(part in name for part in options.only):
                continue
            row = compare(name, options, runner, target)
            if options.json:
                print(json.dumps(row), flush=True)
                continue
            print(
                f"{name:<24} sketch {row['sketch_ms']:.4f} ms   template {row['template_ms']:.4f} ms   "
                f"reached {row['reached']:.3f} ± {row['resolution']:.3f}",
                *(f"\n    {space}: {text}" for space, text in row["best"].items()),
                flush=True,
            )


if __name__ == "__main__":
    main()
