"""Whole networks beside onnxruntime: tune, then time both in fresh processes, one after the other, several rounds.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_networks.py light_squeezenet --trials 256 --threads 2
    python tests/benchmarks/bench_networks.py light_resnet50 --trials 512 --threads 2

Prints medians, minima and maxima over the rounds, the ratios of the medians, and the largest difference of the outputs
relative to the largest reference value. ``--json FILE`` also writes the figures with the host's description.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ORT = """
import json, sys, time
import numpy as np, onnxruntime as ort
model, npz, out, threads, seconds = sys.argv[1:]
options = ort.SessionOptions()
options.intra_op_num_threads = int(threads)
options.inter_op_num_threads = 1
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feeds = dict(np.load(npz))
outputs = session.run(None, feeds)
np.savez(out, **{o.name: v for o, v in zip(session.get_outputs(), outputs)})
times, end = [], time.perf_counter() + float(seconds)
while len(times) < 20 or time.perf_counter() < end:
    start = time.perf_counter()
    session.run(None, feeds)
    times.append((time.perf_counter() - start) * 1e3)
times.sort()
print(json.dumps({"median_ms": times[len(times) // 2], "min_ms": times[0]}))
"""


def workbench(*args: str) -> dict:
    """Run the command line and return its JSON result."""
    done = subprocess.run([sys.executable, "-m", "workbench", *args, "--json"], capture_output=True, text=True)
    if done.returncode:
        output = f"{done.stderr[-2000:]}\n{done.stdout[-2000:]}"
        raise SystemExit(f"workbench {' '.join(args)} failed ({done.returncode}):\n{output}")
    return json.loads(done.stdout)


def onnxruntime(model: Path, npz: Path, out: Path, threads: int, seconds: float) -> dict:
    """Time onnxruntime in a process of its own."""
    cmd = [sys.executable, "-c", ORT, str(model), str(npz), str(out), str(threads), str(seconds)]
    return json.loads(subprocess.run(cmd, capture_output=True, text=True, check=True).stdout)


def make_inputs(model: Path, path: Path, seed: int = 0) -> None:
    """Seeded random inputs for every true input of the model."""
    import onnx

    graph = onnx.load(str(model)).graph
    weights = {i.name for i in graph.initializer}
    rng = np.random.default_rng(seed)
    feeds = {
        v.name: rng.standard_normal([d.dim_value or 1 for d in v.type.tensor_type.shape.dim]).astype(np.float32)
        for v in graph.input
        if v.name not in weights
    }
    np.savez(path, **feeds)


def difference(a: Path, b: Path) -> float:
    """Largest difference relative to the largest reference value, over all outputs."""
    ours, theirs = dict(np.load(a)), dict(np.load(b))
    assert ours.keys() == theirs.keys(), (ours.keys(), theirs.keys())
    return max(float(np.max(np.abs(ours[k] - theirs[k])) / np.max(np.abs(theirs[k]))) for k in theirs)


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("model")
    p.add_argument("--trials", type=int, default=256)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=2.0, help="time spent per process and round")
    p.add_argument("--log", help="use this log instead of tuning")
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        filled, npz, log = folder / "filled.onnx", folder / "in.npz", Path(args.log or folder / "tuning.jsonl")
        threads = ["--threads", str(args.threads)]
        tuned: dict = {}
        workbench("tasks", args.model, "--fill-weights", "0", "--save-filled", str(filled))
        make_inputs(filled, npz)
        if not args.log:
            start = time.perf_counter()
            tuned = workbench("tune", str(filled), "--trials", str(args.trials), "--log", str(log), *threads)
            rate = tuned["trials"] / tuned["seconds"]
            wall = time.perf_counter() - start
            print(f"tuned {tuned['trials']} trials in {wall:.1f} s, process start included; {rate:.1f} trials a second")
        rows: dict[str, list[float]] = {"tuned": [], "untuned": [], "onnxruntime": []}
        bench = ["--benchmark", "--inputs", str(npz), *threads]
        for _ in range(args.rounds):
            peer = onnxruntime(filled, npz, folder / "ort.npz", args.threads, args.seconds)
            tuned_run = workbench("run", str(filled), "--log", str(log), "--outputs", str(folder / "ours.npz"), *bench)
            untuned_run = workbench("run", str(filled), *bench)
            for name, run in (("onnxruntime", peer), ("tuned", tuned_run), ("untuned", untuned_run)):
                rows[name].append(run["median_ms"])
        report(args, rows, difference(folder / "ours.npz", folder / "ort.npz"), tuned)


def report(args: argparse.Namespace, rows: dict[str, list[float]], diff: float, tuned: dict) -> None:
    """Print the table, and write it when asked to."""
    reference = statistics.median(rows["onnxruntime"])
    print(f"{args.model}, {args.threads} thread(s), {args.rounds} rounds of fresh processes; ms per run")
    for name, values in rows.items():
        median = statistics.median(values)
        span = f"min {min(values):8.2f}  max {max(values):8.2f}"
        print(f"  {name:12s} median {median:8.2f}  {span}  ratio {median / reference:5.2f}")
    print(f"  outputs differ by {diff:.2e} of max |reference|")
    if args.json:
        host = {"machine": platform.machine(), "python": platform.python_version()}
        spent = {k: tuned.get(k) for k in ("trials", "seconds")}
        figures = {"model": args.model, "threads": args.threads, "rows": rows, "difference": diff, "tuned": spent}
        args.json.write_text(json.dumps({**figures, "host": host}, indent=1))


if __name__ == "__main__":
    main()
