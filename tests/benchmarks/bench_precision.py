"""Products and convolutions in bfloat16 against what the processor's instruction for it can do.

Run it by hand on a quiet machine with AMX::

    python tests/benchmarks/bench_precision.py                # default schedules
    python tests/benchmarks/bench_precision.py --trials 64    # and tuned

"ceiling" is the instruction alone on random operands in registers, on all threads at the same time, measured before and
after each kernel. Whole networks: ``bench_networks.py --precision bfloat16``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from bench_tensor import ceiling, inputs
from suite import host

#: Operations of one call of the loop that the ceiling is measured with.
_SIZE = 1024


def peak(threads: int, seconds: float) -> float:
    """10^9 operations per second of all threads together."""
    (call,) = ceiling("bf16 amx", _SIZE, inputs("bf16 amx", _SIZE)).values()
    done, end = [0.0] * threads, time.perf_counter() + seconds

    def work(k: int) -> None:
        best = np.inf
        while time.perf_counter() < end:
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
        done[k] = 2 * _SIZE**3 / best / 1e9

    workers = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return sum(done)


def conv(size: int, ci: int, co: int, kernel: int) -> Any:
    """Convolution of an image between two others, with bias and relu, as a task of the graph compiler."""
    from workbench import extract_tasks
    from workbench.graph import Graph, Node, TensorType

    rng, pads = np.random.default_rng(0), (kernel // 2,) * 4
    shapes = {"v": (ci, 16, 1, 1), "w": (co, ci, kernel, kernel), "u": (16, co, 1, 1)}
    weights = {n: rng.standard_normal(s).astype("f4") for n, s in shapes.items()} | {"b": np.ones(co, "f4")}
    nodes = [
        Node("before", "Conv", ("x", "v"), ("p",)),
        Node("conv", "Conv", ("p", "w", "b"), ("q",), {"pads": pads}),
        Node("relu", "Relu", ("q",), ("r",)),
        Node("after", "Conv", ("r", "u"), ("y",)),
    ]
    graph = Graph.make("g", nodes, {"x": TensorType((1, 16, size, size))}, ("y",), weights)
    return next(t for t in extract_tasks(graph.optimize(precision="bfloat16")) if f"{ci}→{co}" in t.name)


def matmul(n: int) -> Any:
    """Product with constant weights; its result is float32."""
    from workbench import workloads
    from workbench.graph.tasks import Task

    return Task.of_func(workloads.matmul(n, n, n, dtype="bfloat16", constant_b=True), name=f"matmul {n}")


#: Case -> task, and the share of the ceiling that is asked for.
CASES = {
    "matmul 512": (lambda: matmul(512), 0.60),
    "matmul 1024": (lambda: matmul(1024), 0.60),
    "conv 3x3 64→64 @56": (lambda: conv(56, 64, 64, 3), 0.45),
    "conv 1x1 256→64 @56": (lambda: conv(56, 256, 64, 1), 0.45),
}


def tuned(task: Any, args: argparse.Namespace, target: Any) -> Any:
    """The best schedule of a short run."""
    import workbench as wb

    with tempfile.TemporaryDirectory() as folder, wb.tune([task], trials=args.trials, log=Path(folder) / "log.jsonl",
                                                          target=target) as session:  # fmt: skip
        session.wait(600)
        return session.best(task)


def bench(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure one kernel between two measurements of the ceiling."""
    from workbench.space.default_schedule import default_schedule
    from workbench.target import Target

    make, goal = CASES[name]
    task, target = make(), Target.host(threads=args.threads)
    schedule = tuned(task, args, target) if args.trials else default_schedule(task, target)
    before = peak(args.threads, args.seconds)
    found = schedule.measure(repeat=20)
    top = max(before, peak(args.threads, args.seconds))
    speed = task.flops / found.median_ms / 1e6
    row = {"case": name, "median_ms": found.median_ms, "min_ms": found.min_ms, "gflops": speed, "ceiling": top}
    row |= {
        "share": speed / top,
        "best_share": task.flops / found.min_ms / 1e6 / top,
        "goal": goal,
        "clean": found.clean,
    }
    times = f"{found.median_ms:7.4f} ms (min {found.min_ms:.4f})"
    shares = f"{row['share']:.0%} (fastest {row['best_share']:.0%}; goal {goal:.0%})"
    doubt = "" if found.clean else found.why_not
    print(f"{name:22s} {times}  {speed:6.0f} of {top:6.0f} GFLOP/s: {shares}  {doubt}", flush=True)
    return row


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--trials", type=int, default=0, help="tune each kernel first")
    p.add_argument("--seconds", type=float, default=0.5, help="of each measurement of the ceiling")
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    rows = [bench(name, args) for name in args.cases]
    if args.json:
        args.json.write_text(json.dumps({"host": host.describe(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
