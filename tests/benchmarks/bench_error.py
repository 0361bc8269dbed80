"""Errors of networks in bfloat16 over many inputs, beside those of OpenVINO's default; float32 is onnxruntime's.

Run it by hand (OpenVINO is not among the project's dependencies); any machine will do::

    WORKBENCH_REAL_MODELS=models python tests/benchmarks/bench_error.py --logs logs --inputs 10
    python tests/benchmarks/bench_error.py resnet50 --skip openvino

One input says little: the largest error of an output is a single draw, and of two roundings of the same quality either
may come out ahead. "largest" is the largest error against the largest magnitude of the output, "rms" the root mean
square of the error against that of the output.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from networks.models import NETWORKS, Network, array
from networks.worker import LIBRARIES

OURS = ("ours", "openvino")


def errors(want: Sequence[np.ndarray], got: Sequence[np.ndarray]) -> tuple[float, float]:
    """Largest and root mean square error, each against the size of the output; the worst of all outputs."""
    pairs = [(a.astype("f8"), b.astype("f8")) for a, b in zip(want, got, strict=True)]
    largest = max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)
    return largest, max(float(np.sqrt(((a - b) ** 2).sum() / (a**2).sum())) for a, b in pairs)


def bench(network: Network, args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Errors of one network: library -> median and worst over the inputs."""
    import workbench as wb

    model = network.file(folder)
    types = wb.load_onnx(str(model), shapes=network.shapes or None).input_types()
    rows: dict[str, list[tuple[float, float]]] = {x: [] for x in OURS if x not in args.skip}
    feeds: dict[str, np.ndarray] = {name: np.zeros(t.shape, t.dtype) for name, t in types.items()}
    make = {x: LIBRARIES[x](network, model, feeds, args.threads, "bfloat16", "")[0] for x in rows}  # they read `feeds`
    exact = LIBRARIES["onnxruntime"](network, model, feeds, args.threads, "float32", "")[0]
    for seed in range(args.inputs):
        rng = np.random.default_rng(seed)
        for name, t in types.items():
            feeds[name][...] = array(name, t.shape, t.dtype, rng)
        want = exact()
        for library, run in make.items():
            rows[library].append(errors(want, run()))
    found: dict[str, Any] = {"network": network.name, "inputs": args.inputs}
    for library, each in rows.items():
        (largest, rms), (worst, _) = np.median(each, axis=0), np.max(each, axis=0)
        found[library] = {"largest": float(largest), "worst": float(worst), "rms": float(rms)}
        print(f"{network.name:14s} {library:9s} largest {largest:.4f} (worst {worst:.4f})  rms {rms:.4f}", flush=True)
    return found


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("networks", nargs="*", choices=[[], *NETWORKS])
    p.add_argument("--inputs", type=int, default=10)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--logs", type=Path, help="folder of models whose weights are filled in")
    p.add_argument("--skip", nargs="*", default=[], choices=OURS)
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.logs or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rows = [bench(NETWORKS[n], args, folder) for n in (args.networks or NETWORKS)]
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
