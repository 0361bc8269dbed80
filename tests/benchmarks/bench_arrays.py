"""What a run costs with ordinary NumPy arrays, with arrays made for it, and with `out=`, beside onnxruntime.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_arrays.py --threads 1
    python tests/benchmarks/bench_arrays.py --threads 1 --operators   # many single operators, 0.8 MB each

All ways take turns within one process, `--rounds` times, each for a few runs after one that does not count; a pause
lets threads that wait for work go to sleep. The time is that of `run` as a caller sees it: arrays are checked, and the
result of each run is dropped before the next one. Figures are milliseconds, least / median; the ratio is the median of
onnxruntime / ours over the rounds, so that what disturbs a whole round disturbs both. Above 1 we are faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import workbench as wb

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
Inputs = dict[str, tuple[int, list[int]]]


def one(op: str, inputs: Inputs, weights: Mapping[str, np.ndarray] | None = None, **attributes: Any) -> bytes:
    """A model of one node whose result has the shape that onnx finds."""
    weights = weights or {}
    node = helper.make_node(op, [*inputs, *weights], ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        op,
        [helper.make_tensor_value_info(n, kind, shape) for n, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [numpy_helper.from_array(a, n) for n, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def normal(*shape: int) -> np.ndarray:
    """Random numbers."""
    return np.random.default_rng(0).standard_normal(shape, dtype="float32")


def cases() -> dict[str, bytes]:
    """Models by name."""
    square, image = (FLOAT, [512, 512]), (FLOAT, [1, 64, 56, 56])
    return {
        "one element": one("Exp", {"x": (FLOAT, [1])}),
        "exp of 1 M": one("Exp", {"x": (FLOAT, [1024, 1024])}),
        "add of 1 M": one("Add", {"x": (FLOAT, [1024, 1024]), "z": (FLOAT, [1024, 1024])}),
        "concat to 1.6 MB": one("Concat", {"x": image, "z": image}, axis=1),
        "gather from 51 MB": one("Gather", {"x": (FLOAT, [100_000, 128]), "i": (INT64, [256])}),
        "softmax 512": one("Softmax", {"x": square}),
        "matmul 512": one("MatMul", {"x": square, "z": square}),
        "conv 3x3, 64": one("Conv", {"x": image}, {"w": normal(64, 64, 3, 3)}, pads=[1, 1, 1, 1]),
        "light_squeezenet": _model("light_squeezenet"),
    }


def operators() -> dict[str, bytes]:
    """Models of one operator on an image of 64 channels, or on 384 rows of 512."""
    image, rows = {"x": (FLOAT, [1, 64, 56, 56])}, {"x": (FLOAT, [384, 512])}
    two = {**image, "z": image["x"]}
    found = {op: one(op, image) for op in ("Exp", "Log", "Tanh", "Sigmoid", "Relu", "Erf", "Sqrt", "Neg", "Abs",
                                           "Floor", "LeakyRelu", "Elu", "HardSwish", "Softplus", "Reciprocal",
                                           "GlobalAveragePool")}  # fmt: skip
    found |= {op: one(op, two) for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu")}
    found |= {op: one(op, rows, axes=[-1]) for op in ("ReduceMean", "ReduceMax", "ReduceL2")}
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    norm = {n: np.ones(64, "float32") for n in ("scale", "bias", "mean", "var")}
    found |= {
        "Softmax": one("Softmax", rows),
        "LogSoftmax": one("LogSoftmax", rows),
        "LayerNormalization": one("LayerNormalization", rows, {"s": np.ones(512, "float32")}),
        "BatchNormalization": one("BatchNormalization", image, norm),
        "MaxPool": one("MaxPool", image, **window),
        "AveragePool": one("AveragePool", image, **window),
        "Transpose": one("Transpose", rows),
        "Concat": one("Concat", two, axis=1),
        "Gather": one("Gather", {**rows, "i": (INT64, [128])}),
        "Pad": one("Pad", image, {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1])}),
        "Slice": one("Slice", image, {"b": np.array([3]), "e": np.array([50]), "a": np.array([2])}),
        "MatMul": one("MatMul", {"x": (FLOAT, [256, 256]), "z": (FLOAT, [256, 256])}),
        "Gemm": one("Gemm", {"x": (FLOAT, [1, 512])}, {"w": normal(512, 1000), "b": normal(1000)}),
        "Conv 1x1": one("Conv", image, {"w": normal(64, 64, 1, 1)}),
        "Conv 3x3": one("Conv", image, {"w": normal(64, 64, 3, 3)}, pads=[1, 1, 1, 1]),
        "Conv depthwise": one("Conv", image, {"w": normal(64, 1, 3, 3)}, pads=[1, 1, 1, 1], group=64),
    }
    return found


def _model(name: str) -> bytes:
    import onnx

    return (Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"{name}.onnx").read_bytes()


def ways(model: bytes, threads: int) -> dict[str, Callable[[], Any]]:
    """Calls that run the model once."""
    graph = wb.load_onnx(model)
    ours = wb.compile(graph, threads=threads)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    given, lined = {}, ours.empty_inputs()
    for spec in ours.inputs:
        lined[spec.name][...] = rng.integers(0, 384, spec.shape) if "int" in spec.dtype else normal(*spec.shape)
        given[spec.name] = lined[spec.name].copy()
    out = {k: np.empty_like(v) for k, v in ours.run(given).items()}
    for mine, theirs in zip(ours.run(given).values(), session.run(None, given), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-3)
    found: dict[str, Callable[[], Any]] = {
        "ordinary": lambda: ours.run(given),
        "aligned": lambda: ours.run(lined),
        "out=": lambda: ours.run(given, out=out),
        "onnxruntime": lambda: session.run(None, given),
    }
    return found


def measure(calls: Mapping[str, Callable[[], Any]], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Milliseconds of one run in each round, by way."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for k in range(rounds):
        for name, call in [*calls.items()][:: 1 if k % 2 else -1]:
            time.sleep(0.005)
            call()
            times = []
            end = time.perf_counter() + seconds
            while time.perf_counter() < end or len(times) < 3:
                begin = time.perf_counter()
                call()
                times.append((time.perf_counter() - begin) * 1e3)
            found[name].append(statistics.median(times))
    return found


def main() -> None:
    """Print a line per case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--operators", action="store_true", help="many single operators instead")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.02, help="of each way in a round")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures, ratios = {}, []
    for name, model in (operators() if args.operators else cases()).items():
        times = figures[name] = measure(ways(model, args.threads), args.rounds, args.seconds)
        pairs = [theirs / ours for ours, theirs in zip(times["ordinary"], times["onnxruntime"], strict=True)]
        ratios.append(statistics.median(pairs))
        text = "  ".join(f"{way} {min(t):.4f}/{statistics.median(t):.4f}" for way, t in times.items())
        print(f"{name:<18} {text}  ratio {ratios[-1]:.2f}", flush=True)
    print(f"geometric mean of the ratios {statistics.geometric_mean(ratios):.2f}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
