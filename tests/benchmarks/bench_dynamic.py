"""Networks of open lengths against executables of that very shape, and against onnxruntime.

Run it by hand (it is not part of the default tests)::

    pip install onnxruntime && PYTHONPATH=tests python tests/benchmarks/bench_dynamic.py --shapes 200
    python tests/benchmarks/bench_dynamic.py --only reader --model ch_PP-OCRv4_rec_infer.onnx

Each network is compiled once for all its lengths, and run with random ones, each of which onnxruntime computes too.
What is compiled meanwhile is counted. For some of the shapes (``--timed``) an executable of that very shape, with
schedules from the same log, and onnxruntime run in turns with it; the least of many runs counts. Prints median,
extremes and geometric mean of the ratios; ``--rows`` also the slowest shapes, and the kernels that they ran.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
import onnxruntime
from graph.open_nets import OpenNet, bert, boxes, detector, recogniser

import workbench as wb

NETWORKS: Mapping[str, Callable[[], OpenNet]] = {
    "bert": lambda: bert(layers=2),
    "reader": recogniser,
    "detector": lambda: detector(lengths=range(64, 225, 32)),
    "boxes": boxes,
}


@contextmanager
def compiles() -> Iterator[list[int]]:
    """Groups of each graph that is compiled meanwhile."""
    module = sys.modules["workbench.network.compile"]
    found, make = list[int](), module.make_kernels

    def counting(groups: Any, *args: Any) -> Any:
        found.append(len(groups))
        return make(groups, *args)

    module.make_kernels = counting
    try:
        yield found
    finally:
        module.make_kernels = make


def of_file(path: str, lengths: range) -> OpenNet:
    """A reader of lines of text in a file, with free width."""
    model = onnx.load(path)
    (x,) = model.graph.input
    return OpenNet(model, {f"{x.name}.0": range(1, 2), f"{x.name}.3": lengths},
                   lambda s, rng: {x.name: rng.random((1, 3, 48, s[f"{x.name}.3"]), np.float32) * 2 - 1})  # fmt: skip


def session(model: Any, threads: int) -> Any:
    """The model in onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def in_turns(runs: Mapping[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Milliseconds of each, the least of many runs in turns."""
    best = dict.fromkeys(runs, math.inf)
    for run in runs.values():
        run()
    until, most = time.perf_counter() + seconds, itertools.count()
    while time.perf_counter() < until or next(most) < 3:
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best


def error(got: Mapping[str, Any], want: Any) -> float:
    """Largest difference, relative to the largest number of a result; infinite where shapes differ."""
    worst = 0.0
    for a, b in zip(got.values(), want, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return math.inf
        if a.size:
            worst = max(worst, float(np.abs(a - b).max() / max(1.0, float(np.abs(b).max()))))
    return worst


def summary(what: str, ratios: list[float]) -> str:
    """Median, worst and geometric mean."""
    mean = statistics.geometric_mean(ratios)
    ends = f"least {min(ratios):.3f}, geometric mean {mean:.3f}"
    return f"{what}: median {statistics.median(ratios):.3f}, most {max(ratios):.3f}, {ends}"


def measure(name: str, net: OpenNet, options: argparse.Namespace) -> None:
    """One network: right for every shape, compiled ahead, and how long it takes."""
    start = time.perf_counter()
    executable = wb.compile(wb.load_onnx(net.model, dynamic=net.lengths), options.log, threads=options.threads)
    print(f"{name}: {executable}, {time.perf_counter() - start:.0f} s {executable.reason}", flush=True)
    other, rng = session(net.model, options.threads), np.random.default_rng(options.seed)
    shapes = [{k: int(rng.choice(r)) for k, r in net.lengths.items()} for _ in range(options.shapes)]
    with compiles() as found:
        errors = [error(executable.run(f := net.feeds(s, rng)), other.run(None, f)) for s in shapes]
    print(f"  {len(shapes)} shapes, largest error {max(errors):.1e}, compiled meanwhile: {len(found)}", flush=True)
    rows = []
    for s in shapes[: options.timed]:
        feeds = net.feeds(s, rng)
        alone = wb.compile(
            wb.load_onnx(net.model, {n: a.shape for n, a in feeds.items()}),
            options.log,
            threads=options.threads,
            nearest=True,
        )
        times = in_turns({"ours": lambda f=feeds: executable.run(f), "fixed": lambda a=alone, f=feeds: a.run(f),
                          "onnxruntime": lambda f=feeds: other.run(None, f)}, options.seconds)  # fmt: skip
        kernels = executable._choice(executable._values(feeds)).compiled.bucket.most if executable.compiled else ()
        rows.append((times["ours"] / times["fixed"], times["onnxruntime"] / times["ours"], s, kernels, times))
    if rows:
        print(" ", summary("ours / of that shape", [r[0] for r in rows]))
        print(" ", summary("onnxruntime / ours", [r[1] for r in rows]))
    for ratio, _, s, kernels, times in sorted(rows, key=lambda r: -r[0])[: options.rows]:
        print(f"  {ratio:.2f}", s, "kernels of", kernels, {k: round(t, 3) for k, t in times.items()}, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=NETWORKS, action="append", help="networks; all by default")
    parser.add_argument("--model", help="a reader of lines of text, instead of the built one")
    parser.add_argument("--log", help="schedules")
    parser.add_argument("--shapes", type=int, default=200)
    parser.add_argument("--timed", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.3, help="of the runs in turns, per shape")
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.only or NETWORKS:
        net = of_file(options.model, range(48, 641, 4)) if name == "reader" and options.model else NETWORKS[name]()
        measure(name, net, options)


if __name__ == "__main__":
    main()
