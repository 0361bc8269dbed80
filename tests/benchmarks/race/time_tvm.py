"""Time a library of MetaSchedule's in a fresh process, for a Python that has ``apache-tvm``; prints milliseconds."""

from __future__ import annotations

import os
import sys

import numpy as np


def main() -> None:
    """Arguments: library, threads, shapes as ``512x512,512x512,...`` in the order of the parameters."""
    library, threads, shapes = sys.argv[1:4]
    os.environ["TVM_NUM_THREADS"] = threads
    import tvm

    module = tvm.runtime.load_module(library)
    device = tvm.cpu()
    rng = np.random.default_rng(0)
    sizes = [tuple(int(x) for x in shape.split("x")) for shape in shapes.split(",")]
    arrays = [tvm.runtime.tensor(rng.standard_normal(size, dtype=np.float32), device) for size in sizes]
    timer = module.time_evaluator("main", device, number=1, repeat=30, min_repeat_ms=20)
    timer(*arrays)
    print(1e3 * float(np.median(timer(*arrays).results)))


if __name__ == "__main__":
    main()
