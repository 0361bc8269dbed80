"""Tuned kernels on PoCL against its naive kernels: OpenCL on a processor, from the rules to the log.

Run it by hand (it is not part of the default tests)::

    pip install pyopencl pocl-binary-distribution && python tests/benchmarks/bench_opencl.py --trials 48

Naive is what one writes first, and the fastest of its forms counts: a kernel by hand (`BY_HAND`: a work-item for each
element of a product, for each row of a normalisation) under several sizes of a group, the driver's own choice among
them, and the nest with a work-item for each result of each stage, 64 to a group. All forms are right. The target says
that threads run one by one (``-thread_warp_size=1``), so the rules of processors make the candidates. Naive and tuned
are measured in turns by the device's clock; the best of all repetitions counts. ``--gpu-rules`` tunes with the rules of
GPUs instead. Prints milliseconds, and by how much the tuned kernel is faster.

A naive product of 512 x 512 x 512 takes 84 ms for every size of a group on two cores of a Xeon with AVX-512: 3
GFLOP/s, an eightieth of what NumPy reaches there. PoCL does not vectorise over work-items, and each of them walks down
a column.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from workbench import workloads
from workbench.codegen.gpu import opencl
from workbench.ir import Func, blocks
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.runtime.measuring.random_inputs import draw
from workbench.schedule import Schedule
from workbench.space.shared_steps.threads import fused

#: Repetitions of each in a turn.
REPEAT = 5
FUNCS = {
    "matmul": lambda: workloads.matmul(512, 512, 512),
    "conv": lambda: workloads.conv2d_nhwc(56, 56, 64, 64, 3, 1, 1),
    "softmax": lambda: workloads.softmax(1024, 1024),
    "layer_norm": lambda: workloads.layer_norm(1024, 768),
}

#: What one writes first, with the work-items of its grid.
BY_HAND = {
    "matmul": (
        (512, 512),
        """kernel void f(global const float *A, global const float *B, global float *C) {
    int j = get_global_id(0), i = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < 512; ++k) sum += A[i * 512 + k] * B[k * 512 + j];
    C[i * 512 + j] = sum;
}""",
    ),
    "conv": (
        (64, 56, 56),
        """kernel void f(global const float *X, global const float *W, global float *Y) {
    int o = get_global_id(0), w = get_global_id(1), h = get_global_id(2);
    float sum = 0;
    for (int kh = 0; kh < 3; ++kh)
        for (int kw = 0; kw < 3; ++kw) {
            int y = h + kh - 1, x = w + kw - 1;
            if (y < 0 || y >= 56 || x < 0 || x >= 56) continue;
            for (int c = 0; c < 64; ++c) sum += X[(y * 56 + x) * 64 + c] * W[((kh * 3 + kw) * 64 + c) * 64 + o];
        }
    Y[(h * 56 + w) * 64 + o] = sum;
}""",
    ),
    "softmax": (
        (1024,),
        """kernel void f(global const float *X, global float *Y) {
    int row = get_global_id(0) * 1024;
    float largest = -INFINITY, sum = 0;
    for (int j = 0; j < 1024; ++j) largest = fmax(largest, X[row + j]);
    for (int j = 0; j < 1024; ++j) sum += Y[row + j] = exp(X[row + j] - largest);
    for (int j = 0; j < 1024; ++j) Y[row + j] /= sum;
}""",
    ),
    "layer_norm": (
        (1024,),
        """kernel void f(global const float *X, global const float *G, global const float *B, global float *Y) {
    int row = get_global_id(0) * 768;
    float mean = 0, square = 0;
    for (int j = 0; j < 768; ++j) mean += X[row + j];
    mean /= 768;
    for (int j = 0; j < 768; ++j) square += (X[row + j] - mean) * (X[row + j] - mean);
    float scale = rsqrt(square / 768 + 1e-5f);
    for (int j = 0; j < 768; ++j) Y[row + j] = (X[row + j] - mean) * scale * G[j] + B[j];
}""",
    ),
}
#: Work-items of a group along the first and the second axis; None leaves it to the driver.
GROUPS: tuple[tuple[int, ...] | None, ...] = (None, (64,), (8, 8), (16, 16), (16,))


def by_hand(name: str, func: Func, device: str) -> Iterator[Callable[[], float]]:
    """Yield for each size of a group what runs the kernel by hand and gives its milliseconds; checks its result."""
    cl, context = opencl.library(), opencl.context(device)
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    items, text = BY_HAND[name]
    kernel = cl.Kernel(cl.Program(context, text).build(), "f")
    inputs = draw(func, 1)
    want = evaluate(func, inputs)[func.outputs[0].name]
    memories = [cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=x) for x in inputs.values()]
    memories.append(cl.Buffer(context, cl.mem_flags.READ_WRITE, want.nbytes))

    def run(group: Any) -> float:
        event = kernel(queue, items, group, *memories)
        event.wait()
        return float(event.profile.end - event.profile.start) / 1e6

    for sizes in GROUPS:
        group = sizes and (*sizes, *(1,) * (len(items) - len(sizes)))
        if group is None or (len(group) == len(items) and not any(n % g for n, g in zip(items, group, strict=True))):
            run(group)
            got = np.empty_like(want)
            cl.enqueue_copy(queue, got, memories[-1])
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-4 * float(np.abs(want).max()))
            yield lambda group=group: min(run(group) for _ in range(REPEAT))


def naive(func: Func) -> Schedule:
    """A work-item for each result of each stage."""
    s = Schedule(func)
    for name in [b.name for b, _ in blocks(func.body)]:
        block, path = s.func.block(name)
        spatial = [lp.name for lp in path if lp.name in block.driving("S")]
        outer, inner = s.split(fused(s, spatial), [None, 64], "guard")
        s.bind(outer, "blockIdx.x").bind(inner, "threadIdx.x")
    return s


def timed(s: Schedule, target: wb.Target) -> Callable[[], float]:
    """Measure a schedule when called; the least milliseconds of `REPEAT`."""

    def run() -> float:
        measured = s.measure(target=target, repeat=REPEAT, timeout_s=60)
        if not measured.ok:
            raise SystemExit(str(measured.error))
        return min(measured.costs_ms)

    return run


def in_turns(runs: dict[str, list[Callable[[], float]]], turns: int) -> dict[str, list[float]]:
    """Milliseconds of each, the least of all turns."""
    best = {name: [math.inf] * len(each) for name, each in runs.items()}
    for _ in range(turns):
        for name, each in runs.items():
            best[name] = [min(t, run()) for t, run in zip(best[name], each, strict=True)]
    return best


def main() -> None:
    """Tune, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*FUNCS, []], help="workloads; all by default")
    parser.add_argument("--trials", type=int, default=48)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--device", default="portable", help="a word of the device's name")
    parser.add_argument("--gpu-rules", action="store_true")
    options = parser.parse_args()
    text = f"opencl -device={options.device}"
    target = wb.Target(text if options.gpu_rules else f"{text} -thread_warp_size=1")
    for name in options.names or FUNCS:
        func = FUNCS[name]()
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "opencl.tunelog.jsonl"
            with wb.tune(func, trials=options.trials, target=target, log=log) as run:
                run.wait()
            tuned = run.best(run.tasks[0])
        runs = {
            "hand": list(by_hand(name, func, options.device)),
            "nest": [timed(naive(func), target)],
            "tuned": [timed(tuned, target)],
        }
        times = {kind: min(found) for kind, found in in_turns(runs, options.turns).items()}
        first = min(times["hand"], times["nest"])
        print(
            f"{name:12} naive {first:9.3f} ms (by hand {times['hand']:.3f}, nest {times['nest']:.3f})  "
            f"tuned {times['tuned']:9.3f} ms  x{first / times['tuned']:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
