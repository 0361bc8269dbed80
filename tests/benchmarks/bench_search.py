"""How good the search is after few trials: random, analytic and learned models on the same spaces, really measured.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_search.py --trials 48 --threads 1

Prints for every workload and model the best speed after 8, 16, 32, ... trials in GFLOP/s, Kendall's tau of the
predictions before each round, and the time that proposing and learning took.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from types import SimpleNamespace

from workbench import workloads
from workbench.ir.flops import count_flops
from workbench.runtime.measure import LocalRunner, MeasureInput, MeasureOptions
from workbench.target import Target
from workbench.tune.cost_model import make_model
from workbench.tune.search import EvolutionarySearch
from workbench.tune.space import make_space

WORKLOADS = {
    "matmul 512": lambda: workloads.matmul(512, 512, 512, constant_b=True),
    "conv 3x3 64→64 @56": lambda: workloads.conv2d_nhwc(56, 56, 64, 64, bias=True, relu=True),
    "conv 1x1 256→64 @56": lambda: workloads.conv2d_nhwc(56, 56, 256, 64, 1, padding=0, bias=True, relu=True),
    "conv 3x3 512→512 @7": lambda: workloads.conv2d_nhwc(7, 7, 512, 512, bias=True, relu=True),
    "conv 3x3 16→64 @55": lambda: workloads.conv2d_nhwc(55, 55, 16, 64, bias=True, relu=True),
    "conv 3x3 64→256 @13": lambda: workloads.conv2d_nhwc(13, 13, 64, 256, bias=True, relu=True),
    "conv 1x1 512→1000 @13": lambda: workloads.conv2d_nhwc(13, 13, 512, 1000, 1, padding=0, bias=True, relu=True),
}


def search(
    name: str, model_name: str, trials: int, batch: int, seed: int, runner: LocalRunner, target: Target
) -> dict[str, object]:
    """Run one search; the figures of one row of the table."""
    func = WORKLOADS[name]()
    flops = count_flops(func)
    begin = time.process_time()
    space = make_space(func, target)
    search_ = EvolutionarySearch(SimpleNamespace(key=name, flops=flops), space, make_model(model_name, seed), seed)
    thinking = time.process_time() - begin
    best, curve, failed = math.inf, [], 0
    while len(curve) < trials:
        begin = time.process_time()
        candidates = search_.ask(min(batch, trials - len(curve)))
        thinking += time.process_time() - begin
        if not candidates:
            break
        inputs = [MeasureInput(name, func, space.schedule(c).func, "kernel", flops, best) for c in candidates]
        results = sorted(runner.measure_many(inputs), key=lambda r: r[0])
        for _, m in results:
            best = min(best, m.min_ms) if m.status == "ok" else best
            failed += m.status != "ok"
            curve.append(flops / best / 1e6 if math.isfinite(best) else 0.0)
        begin = time.process_time()
        search_.tell([(candidates[k], m) for k, m in results])
        thinking += time.process_time() - begin
    return {"workload": name, "model": model_name, "seed": seed, "curve": curve, "failed": failed,
            "tau": search_.held_out.correlation(), "thinking_s": thinking}  # fmt: skip


def main() -> None:
    """Print the table; with --json the curves as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="+", default=["random", "analytic", "xgboost"])
    parser.add_argument("--only", nargs="+", help="parts of workload names")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    target = Target.host(threads=options.threads)
    marks = [m for m in (4, 8, 16, 32, 64, 128, 256) if m <= options.trials]
    rows = []
    with LocalRunner(target, MeasureOptions()) as runner:
        for name in WORKLOADS:
            if options.only and not any(part in name for part in options.only):
                continue
            for model in options.models:
                row = search(name, model, options.trials, options.batch, options.seed, runner, target)
                rows.append(row)
                if not options.json:
                    best = "  ".join(f"{m:>3}: {row['curve'][min(m, len(row['curve'])) - 1]:6.1f}" for m in marks)
                    tau = "    -" if row["tau"] is None else f"{row['tau']:5.2f}"
                    print(
                        f"{name:<24} {model:<9} {best}  tau {tau}  failed {row['failed']}  {row['thinking_s']:.2f} s",
                        flush=True,
                    )
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
