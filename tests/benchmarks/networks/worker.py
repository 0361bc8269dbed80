"""One library, one network, one fresh process: prints times and writes the outputs.

``python -m networks.worker LIBRARY NETWORK MODEL INPUTS OUTPUTS THREADS SECONDS PRECISION [LOG]``
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .models import NETWORKS, Arrays, Network

Call = Callable[[], Sequence[np.ndarray]]
Made = tuple[Call, dict[str, Any]]


def ours(
    network: Network, model: Path, feeds: Arrays, threads: int, precision: str, log: str
) -> tuple[Call, dict[str, Any]]:
    """This project, with the best schedules of the log (none: default schedules)."""
    import workbench as wb

    start = time.perf_counter()
    graph = wb.load_onnx(str(model), shapes=network.shapes or None)
    loaded = time.perf_counter()
    exe = wb.compile(graph, log or None, threads=threads, precision=precision)
    spent = {"import_s": loaded - start, "compile_s": time.perf_counter() - loaded, "untuned": len(exe.untuned)}
    exe.run(feeds)
    profile = exe.profile(feeds, repeat=30)
    top = profile.nlargest(12, "ms")[["call", "ms", "share", "gflops"]]
    spent["calls_ms"] = float(profile.ms.sum())
    spent["top"] = [[str(c), float(ms), float(share), float(g)] for c, ms, share, g in top.itertuples(index=False)]
    return lambda: list(exe.run(feeds).values()), spent


def onnxruntime(
    network: Network, model: Path, feeds: Arrays, threads: int, precision: str, log: str
) -> tuple[Call, dict[str, Any]]:
    """The vendor-neutral runtime, in single precision."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds), {}


def openvino(
    network: Network, model: Path, feeds: Arrays, threads: int, precision: str, log: str
) -> tuple[Call, dict[str, Any]]:
    """Left alone it computes in bfloat16 where the processor can."""
    import openvino as ov

    core = ov.Core()
    read = core.read_model(str(model))
    if network.shapes:
        read.reshape({name: list(shape) for name, shape in network.shapes.items()})
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    if precision == "float32":
        hints["INFERENCE_PRECISION_HINT"] = "f32"
    compiled = core.compile_model(read, "CPU", hints)
    request = compiled.create_infer_request()
    given = [feeds[i.get_any_name()] for i in compiled.inputs]
    return lambda: list(request.infer(given).values()), {}


LIBRARIES = {"ours": ours, "onnxruntime": onnxruntime, "openvino": openvino}


def main() -> None:
    """Entry point."""
    library, name, model, inputs, outputs, threads, seconds, precision, *log = sys.argv[1:]
    feeds = dict(np.load(inputs))
    make = LIBRARIES[library]
    run, spent = make(NETWORKS[name], Path(model), feeds, int(threads), precision, log[0] if log else "")
    np.savez(outputs, *run())
    times: list[float] = []
    warm = time.perf_counter() + 0.25 * float(seconds)
    while time.perf_counter() < warm:
        run()
    end = time.perf_counter() + float(seconds)
    cpu = sum(_busy())
    began, own = time.perf_counter(), time.process_time()
    while len(times) < 20 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    wall, mine = time.perf_counter() - began, time.process_time() - own
    foreign = max(0.0, (sum(_busy()) - cpu - mine) / wall)
    result = {"median_ms": float(np.median(times)), "min_ms": min(times), "foreign_cores": foreign, **spent}
    print(json.dumps(result))


def _busy() -> tuple[float, ...]:
    """Seconds that the machine's cores spent working, for telling how much others took meanwhile."""
    import os

    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return (0.0,)
    tick = os.sysconf("SC_CLK_TCK")
    user, nice, system, _idle, _wait, irq, soft = (int(f) / tick for f in fields[:7])
    return user, nice, system, irq, soft


if __name__ == "__main__":
    main()
