"""How good the search strategies and models are after few trials, and what proposing and learning costs.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_search.py --trials 96 --seeds 5                 # really measured, on one thread
    python tests/benchmarks/bench_search.py --record rows.jsonl                   # measure rows for replays
    python tests/benchmarks/bench_search.py --replay rows.jsonl --seeds 20        # no measurement: see search_world
    python tests/benchmarks/bench_search.py --overhead 5000                       # milliseconds per batch

Prints for every workload and strategy the median and the quartiles over the seeds of the best speed after 16, 32, ...
trials in GFLOP/s, the trials until 98 % of the best of all was reached, Kendall's tau of the predictions before each
round, and the processor time of asking and telling per batch. On one thread a candidate is timed by its thread's
processor time, so other load hardly matters.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

try:
    from tests.benchmarks.search_world import World, record
except ImportError:  # run as a script
    from search_world import World, record  # type: ignore[import-not-found,no-redef]

from workbench import workloads
from workbench.cost_model import make_model
from workbench.ir.flops import count_flops
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.search import SEARCHES, make_search
from workbench.space.space import make_space
from workbench.target import Target

WORKLOADS = {
    "matmul 512": lambda: workloads.matmul(512, 512, 512, constant_b=True),
    "conv 3x3 64→64 @56": lambda: workloads.conv2d_nhwc(56, 56, 64, 64, bias=True, relu=True),
    "conv 3x3 512→512 @7": lambda: workloads.conv2d_nhwc(7, 7, 512, 512, bias=True, relu=True),
    "depthwise 3x3 256 @28": lambda: workloads.depthwise_conv2d_nhwc(28, 28, 256),
    "conv 1x1 256→64 @56": lambda: workloads.conv2d_nhwc(56, 56, 256, 64, 1, padding=0, bias=True, relu=True),
    "conv 3x3 16→64 @55": lambda: workloads.conv2d_nhwc(55, 55, 16, 64, bias=True, relu=True),
    "conv 1x1 512→1000 @13": lambda: workloads.conv2d_nhwc(13, 13, 512, 1000, 1, padding=0, bias=True, relu=True),
}
#: Answers for a batch: (position, measurement) for each candidate.
Measure = Callable[[Sequence[Any]], Iterable[tuple[int, Any]]]


def run(
    strategy: str, model: str, name: str, flops: int, space: Any, measure: Measure, trials: int, batch: int, seed: int
) -> dict[str, Any]:
    """Run one search; the figures of one row of the table."""
    begin = time.thread_time()
    task = SimpleNamespace(key=name, flops=flops)
    search = make_search(strategy, task, space, make_model(model, seed), seed)
    best, curve, failed, costs = math.inf, [], 0, [time.thread_time() - begin]
    while len(curve) < trials:
        begin = time.thread_time()
        candidates = search.ask(min(batch, trials - len(curve)))
        thinking = time.thread_time() - begin
        if not candidates:
            break
        results = sorted(measure(candidates), key=lambda r: r[0])
        for _, m in results:
            best = min(best, m.ms) if m.status == "ok" else best
            failed += m.status != "ok"
            curve.append(flops / best / 1e6 if math.isfinite(best) else 0.0)
        begin = time.thread_time()
        search.tell([(candidates[k], m) for k, m in results])
        costs.append(thinking + time.thread_time() - begin)
    curve += curve[-1:] * (trials - len(curve))
    return {"workload": name, "strategy": strategy, "model": model, "seed": seed, "curve": curve, "failed": failed,
            "tau": search.quality.tau, "batch_ms": [1e3 * c for c in costs[1:]]}  # fmt: skip


def replayed(world: World, flops: int, seed: int) -> Measure:
    """Measure by a fitted machine, with one per cent of noise."""
    rng = np.random.default_rng([seed, 99])

    def measure(batch: Sequence[Any]) -> list[tuple[int, Any]]:
        slower = abs(rng.standard_normal(len(batch))) * 0.01
        times = [flops / 2.0 ** (s - d) / 1e6 for s, d in zip(world.speeds(batch), slower, strict=True)]
        return [(k, SimpleNamespace(status="ok", ms=ms)) for k, ms in enumerate(times)]

    return measure


def measured(runner: LocalRunner, name: str, func: Any, flops: int, space: Any) -> Measure:
    """Really measure."""

    def measure(batch: Sequence[Any]) -> Iterable[tuple[int, Any]]:
        inputs = [MeasureInput(name, func, space.schedule(c).func, "kernel", flops, math.inf) for c in batch]
        return runner.measure_many(inputs)

    return measure


def made_up(flops: int) -> Measure:
    """A machine of no meaning, for the cost of searching alone: faster where the model says so, with much noise."""

    def measure(batch: Sequence[Any]) -> list[tuple[int, Any]]:
        out = []
        for k, c in enumerate(batch):
            noise = 0.1 * np.random.default_rng(int(c.key, 16)).standard_normal()
            speed = 0.7 * (c.predicted or 0.0) + noise + 0.1 * (c.variant % 3)
            out.append((k, SimpleNamespace(status="ok", ms=flops / 2.0**speed / 1e6)))
        return out

    return measure


def show(rows: list[dict[str, Any]], marks: Sequence[int]) -> None:
    """Print medians and quartiles of the searches of one workload, one line per strategy and model."""
    top = max(r["curve"][-1] for r in rows)
    for kind in dict.fromkeys((r["strategy"], r["model"]) for r in rows):
        group = [r for r in rows if (r["strategy"], r["model"]) == kind]
        curves = np.array([r["curve"] for r in group])
        at = "  ".join(
            f"{m}: {np.median(curves[:, m - 1]):.0f} [{np.quantile(curves[:, m - 1], 0.25):.0f}"
            f"-{np.quantile(curves[:, m - 1], 0.75):.0f}]"
            for m in marks
        )
        reached = [int(np.argmax(c >= 0.98 * top)) + 1 if c[-1] >= 0.98 * top else math.inf for c in curves]
        taus = [r["tau"] for r in group if r["tau"] is not None]
        tau = f"{np.median(taus):.2f}" if taus else "-"
        cost = np.concatenate([r["batch_ms"][1:] for r in group]) if len(group[0]["batch_ms"]) > 1 else np.zeros(1)
        first = np.median([r["batch_ms"][0] for r in group])
        print(
            f"{group[0]['workload']:<24}{'/'.join(kind):<22}{at}  98% at {np.median(reached):.0f}  tau {tau}  "
            f"failed {sum(r['failed'] for r in group)}  batch {cost.mean():.0f} ms (first {first:.0f}, "
            f"95 % under {np.quantile(cost, 0.95):.0f})",
            flush=True,
        )


def main() -> None:
    """Print the table; with --json the runs as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=96)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--strategies", nargs="+", default=list(SEARCHES))
    parser.add_argument("--models", nargs="+", default=["xgboost"])
    parser.add_argument("--only", nargs="+", help="parts of workload names")
    parser.add_argument("--record", type=Path, help="measure rows into this file, and do nothing else")
    parser.add_argument("--replay", type=Path, help="answer from trees fitted to the rows of this file")
    parser.add_argument("--overhead", type=int, help="trials of searches over a made-up machine: what searching costs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    target = Target.host(threads=options.threads)
    trials = options.overhead or options.trials
    marks = [m for m in (16, 32, 64, 96, 128, 256, 512, 1024, 2048, 4096) if m <= trials]
    every = []
    with LocalRunner(target, MeasureOptions()) as runner:
        for name, make in WORKLOADS.items():
            if options.only and not any(part in name for part in options.only):
                continue
            func = make()
            flops, space = count_flops(func), make_space(func, target)
            live = measured(runner, name, func, flops, space)
            if options.record:
                record(options.record, name, flops, space, live, 320, 256)
                continue
            world = World(options.replay, name, space) if options.replay else None
            rows = []
            for strategy in options.strategies:
                for model in options.models if SEARCHES[strategy].learns else ["none"]:
                    for seed in range(options.seeds):
                        measure = made_up(flops) if options.overhead else live
                        measure = replayed(world, flops, seed) if world else measure
                        kind = "analytic" if model == "none" else model
                        rows.append(run(strategy, kind, name, flops, space, measure, trials, options.batch, seed))
            every += rows
            if not options.json:
                show(rows, marks)
    if options.json:
        print(json.dumps(every))


if __name__ == "__main__":
    main()
