"""What importing a model costs: seconds and memory, each in a process of its own.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_import.py exports/resnet50_dynamo_op18.onnx exports/minilm_dynamo_op18.onnx
    python tests/benchmarks/bench_import.py                  # a made-up model of 100 MB

Prints the median time of `load_onnx` (of `read_program` where dimensions stay open) after the imports, and the largest
resident memory of the whole process over the size of the file. The aim is 3 s and 3 times the size for 100 MB.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

MB = 1e6

CHILD = """
import json, sys, time
sys.path.insert(0, sys.argv[2])
from peak import peak_bytes
from workbench.graph.onnx import read_program
import onnx, onnx.reference
began = time.perf_counter()
program = read_program(sys.argv[1])
open_dims = any(not isinstance(d, int) for v in program.inputs for d in v.dims or ())
graph = None if open_dims else program.graph()
seconds = time.perf_counter() - began
print(json.dumps({"seconds": seconds, "peak": peak_bytes(), "nodes": len(program.nodes), "open": open_dims}))
"""


def made_up(path: Path, megabytes: int = 100) -> Path:
    """Write a model of many layers whose weights have this size together."""
    from onnx import TensorProto, helper, numpy_helper, save

    rng, nodes, tensors, size = np.random.default_rng(0), [], [], 512
    for k in range(int(megabytes * MB / (4 * size * size))):
        weights = rng.standard_normal((size, size), dtype=np.float32)
        tensors.append(numpy_helper.from_array(weights, f"w{k}"))
        nodes.append(helper.make_node("MatMul", [f"t{k}", f"w{k}"], [f"m{k}"], name=f"dense{k}"))
        nodes.append(helper.make_node("Relu", [f"m{k}"], [f"t{k + 1}"], name=f"relu{k}"))
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, size]) for n in ("t0", f"t{len(tensors)}")]
    graph = helper.make_graph(nodes, "made up", ends[:1], ends[1:], tensors)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(path))
    return path


def measure(path: Path, repeat: int = 3) -> dict[str, float]:
    """Import a model some times: median seconds and largest peak in bytes, absolute and over the file's size."""
    command = [sys.executable, "-c", CHILD, str(path), str(Path(__file__).resolve().parents[1])]
    runs = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(repeat)]
    size, peak = path.stat().st_size, max(r["peak"] for r in runs)
    seconds = [r["seconds"] for r in runs]
    spread = (max(seconds) - min(seconds)) / statistics.median(seconds)
    figures = {"size": size, "seconds": statistics.median(seconds), "spread": spread, "peak": peak}
    return {**figures, "ratio": peak / size, "nodes": runs[0]["nodes"], "open": runs[0]["open"]}


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="*", type=Path)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = args.models or [made_up(Path(folder) / "made_up_100mb.onnx")]
        found = {m.name: measure(m, args.repeat) for m in models}
    for name, f in found.items():
        what = f"{f['size'] / MB:7.1f} MB, {f['nodes']:4d} nodes: {f['seconds']:5.2f} s (spread {f['spread']:.0%}), "
        print(f"{name:<32} {what}peak {f['peak'] / MB:7.1f} MB = {f['ratio']:.2f} times the file")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
