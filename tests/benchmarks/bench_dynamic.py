"""Networks of open lengths against executables of that very shape, and against onnxruntime.

Run it by hand (it is not part of the default tests)::

    pip install onnxruntime && PYTHONPATH=tests python tests/benchmarks/bench_dynamic.py --shapes 200
    python tests/benchmarks/bench_dynamic.py --only reader --model ch_PP-OCRv4_rec_infer.onnx
    python tests/benchmarks/bench_dynamic.py --only bert --log bert.jsonl --tune-range 60 --tune 20 --timed 6

Each network is compiled once for all its lengths, and run with random ones in turns with onnxruntime, whose results are
compared. What is compiled meanwhile is counted. Compiling for a shape takes longer than all its runs, so executables of
that very shape are made for a few of them alone (``--timed``), spread evenly by size. They have schedules from the same
log, or with ``--tune`` from some seconds of tuning for that shape. What has a log already is not tuned again. The least
of the runs of a shape counts. Prints median, extremes and geometric mean of the ratios; ``--rows`` also the slowest
shapes, and the kernels that they ran.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
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
    open_ = {k: d.dim_param or f"{x.name}.{k}" for k, d in enumerate(x.type.tensor_type.shape.dim) if not d.dim_value}
    known = {0: range(1, 2), 2: range(48, 49), 3: lengths}

    def feeds(sizes: Mapping[str, int], rng: np.random.Generator) -> dict[str, Any]:
        return {x.name: rng.random((1, 3, 48, sizes[open_[3]]), np.float32) * 2 - 1}

    return OpenNet(model, {name: known[k] for k, name in open_.items()}, feeds)


def session(model: Any, threads: int) -> Any:
    """The model in onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def in_turns(runs: Mapping[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Milliseconds of each, the least of some runs in turns, three at least."""
    best = dict.fromkeys(runs, math.inf)
    for run in runs.values():
        run()
    until, done = time.perf_counter() + seconds, 0
    while time.perf_counter() < until or done < 3:
        done += 1
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best


def spread(shapes: list[dict[str, int]], count: int) -> list[dict[str, int]]:
    """Some of the shapes, from the smallest to the largest."""
    found = sorted(shapes, key=lambda s: math.prod(s.values()))
    return [found[k * (len(found) - 1) // max(1, count - 1)] for k in range(min(count, len(found)))]


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


def fixed(net: OpenNet, feeds: Mapping[str, Any], options: argparse.Namespace) -> Any:
    """An executable of that very shape."""
    shapes = {n: a.shape for n, a in feeds.items()}
    graph, log = wb.load_onnx(net.model, shapes), options.log
    if options.tune:
        log = f"{options.log}.{'-'.join(str(n) for shape in shapes.values() for n in shape)}"
        tuned(graph, log, options.tune, options.threads)
    return wb.compile(graph, log, threads=options.threads, nearest=True)


def tuned(graph: Any, log: str, seconds: float, threads: int) -> None:
    """Tune what there is no log of yet."""
    if not Path(log).exists():
        target = wb.Target.host(threads=threads)
        trials = 64 * len(wb.extract_tasks(graph, target))
        wb.tune(graph, trials=trials, seconds=seconds, log=log, target=target, seed=0, progress=False).wait()


@dataclass
class Prepared:
    """A network that is compiled for all its lengths, and for some of the shapes alone."""

    net: OpenNet
    executable: Any
    shapes: list[dict[str, int]]
    alone: list[tuple[dict[str, int], Any]]


def prepare(name: str, net: OpenNet, options: argparse.Namespace) -> Prepared:
    """Compile what is compared."""
    start, rng = time.perf_counter(), np.random.default_rng(options.seed)
    graph = wb.load_onnx(net.model, dynamic=net.lengths)
    if options.tune_range:
        tuned(graph, options.log, options.tune_range, options.threads)
    executable = wb.compile(graph, options.log, threads=options.threads)
    print(f"{name}: {executable}, {time.perf_counter() - start:.0f} s {executable.reason}", flush=True)
    shapes = [{k: int(rng.choice(r)) for k, r in net.lengths.items()} for _ in range(options.shapes)]
    alone = [(s, fixed(net, net.feeds(s, rng), options)) for s in spread(shapes, options.timed)]
    print(f"  compiled, {len(alone)} shapes alone, {time.perf_counter() - start:.0f} s", flush=True)
    return Prepared(net, executable, shapes, alone)


def measure(made: Prepared, options: argparse.Namespace) -> None:
    """Whether it is right for every shape, compiles nothing, and how long it takes."""
    net, executable, rng = made.net, made.executable, np.random.default_rng(options.seed + 1)
    other, errors, against = session(net.model, options.threads), [], []
    with compiles() as found:
        for s in made.shapes:
            f = net.feeds(s, rng)
            errors.append(error(executable.run(f), other.run(None, f)))
            times = in_turns({"ours": lambda f=f: executable.run(f), "onnxruntime": lambda f=f: other.run(None, f)},
                             options.seconds / 2)  # fmt: skip
            against.append(times["onnxruntime"] / times["ours"])
    print(f"  {len(errors)} shapes, largest error {max(errors):.1e}, compiled meanwhile: {len(found)}", flush=True)
    print(" ", summary("onnxruntime / ours", against), flush=True)
    rows = []
    for s, alone in made.alone:
        feeds = net.feeds(s, rng)
        times = in_turns({"ours": lambda f=feeds: executable.run(f), "fixed": lambda a=alone, f=feeds: a.run(f)},
                         options.seconds)  # fmt: skip
        kernels = executable.kernels(executable._values(feeds)) if executable.compiled else None
        rows.append((times["ours"] / times["fixed"], s, kernels.bucket.most if kernels else (), times))
    if rows:
        print(" ", summary(f"ours / of that shape, {len(rows)} of them", [r[0] for r in rows]))
    for ratio, s, kernels, times in sorted(rows, key=lambda r: -r[0])[: options.rows]:
        print(f"  {ratio:.2f}", s, "kernels of", kernels, {k: round(t, 3) for k, t in times.items()}, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=NETWORKS, action="append", help="networks; all by default")
    parser.add_argument("--model", help="a reader of lines of text, instead of the built one")
    parser.add_argument("--log", help="schedules")
    parser.add_argument("--shapes", type=int, default=200)
    parser.add_argument("--timed", type=int, default=16, help="shapes that are compiled alone, too")
    parser.add_argument("--seconds", type=float, default=0.2, help="of the runs in turns, per shape")
    parser.add_argument("--tune-range", type=float, default=0, help="seconds of tuning for all lengths, into --log")
    parser.add_argument("--tune", type=float, default=0, help="the same for each of these shapes, into logs beside it")
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if (options.tune or options.tune_range) and not options.log:
        parser.error("tuning needs a log: say --log")
    for name in options.only or NETWORKS:
        net = of_file(options.model, range(48, 641)) if name == "reader" and options.model else NETWORKS[name]()
        measure(prepare(name, net, options), options)


if __name__ == "__main__":
    main()
