"""Networks of 8 bits, ours and onnxruntime's, each quantised by its own tools from the same samples, in turns.

Run it by hand::

    python tests/benchmarks/bench_quantised.py MODEL.onnx [--log F] [--threads 2] [--rounds 9] [--keep FOLDER]

`MODEL` has float32 weights and inputs of fixed shapes. onnxruntime gets its own static quantisation (QDQ, uint8
tensors, int8 weights by channel, extremes), after the preprocessing that its documentation asks for, and runs our
file too. What is compared is the median over the rounds of each round's least time; errors are against float32, on a
sample that took no part in the calibration. ``--keep`` keeps the quantised files, so that ours can be tuned.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import workbench as wb

RUNS = 5


def samples(graph, count):
    """Seeded inputs."""
    types = graph.input_types()
    rngs = [np.random.default_rng(k) for k in range(count)]
    return [{n: rng.standard_normal(t.shape).astype(t.dtype) for n, t in types.items()} for rng in rngs]


def by_their_tools(model: Path, folder: Path, given) -> Path:
    """Path of the model as onnxruntime quantises it."""
    import onnx
    import onnxruntime.quantization as q
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.left = iter(given)

        def get_next(self):
            return next(self.left, None)

    source, ready, path = (folder / n for n in ("opset13.onnx", "ready.onnx", "theirs.onnx"))
    proto = onnx.load(model)
    onnx.save(
        proto if proto.opset_import[0].version >= 13 else onnx.version_converter.convert_version(proto, 13), source
    )
    quant_pre_process(str(source), str(ready), skip_symbolic_shape=True)
    types = {"activation_type": q.QuantType.QUInt8, "weight_type": q.QuantType.QInt8}
    q.quantize_static(ready, path, Reader(), q.QuantFormat.QDQ, per_channel=True, **types)
    return path


def runner(path: Path, threads: int):
    """Function that runs a file with onnxruntime."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)[0]


def compared(model: Path, folder: Path, log: str | None, threads: int, rounds: int) -> None:
    """Print the table."""
    graph = wb.load_onnx(model)
    *given, held_out = samples(graph, 5)
    ours = folder / "ours.onnx"
    wb.save_onnx(wb.quantize(graph, given), ours)
    theirs = by_their_tools(model, folder, given)
    kernels = wb.compile(wb.load_onnx(ours), log=log, threads=threads)
    of_theirs = wb.compile(wb.load_onnx(theirs), threads=threads)
    candidates = {
        "ours": lambda feeds: next(iter(kernels.run(feeds).values())),
        "onnxruntime, its file": runner(theirs, threads),
        "onnxruntime, our file": runner(ours, threads),
        "ours, its file, untuned": lambda feeds: next(iter(of_theirs.run(feeds).values())),
    }
    want = runner(model, threads)(held_out)
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            least = float("inf")
            for _ in range(RUNS):
                start = time.perf_counter()
                run(held_out)
                least = min(least, time.perf_counter() - start)
            times[name].append(least * 1e3)
    first = statistics.median(times["ours"])
    print(f"{model.stem}, {threads} threads, {len(kernels.untuned)} tasks of ours untuned")
    print(f"{'':<26} {'ms':>8} {'least':>8} {'/ ours':>7} {'error':>7}")
    for name, run in candidates.items():
        error = np.linalg.norm((run(held_out) - want).astype("f8")) / np.linalg.norm(want.astype("f8"))
        middle = statistics.median(times[name])
        print(f"{name:<26} {middle:>8.3f} {min(times[name]):>8.3f} {middle / first:>7.2f} {error:>7.4f}")


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", type=Path)
    p.add_argument("--log")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--keep", type=Path)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        compared(args.model, folder, args.log, args.threads, args.rounds)


if __name__ == "__main__":
    main()
