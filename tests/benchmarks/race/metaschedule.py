"""Tune one kernel with TVM's MetaSchedule, for a Python that has ``apache-tvm``; the other half of `bench_race`.

    python metaschedule.py matmul_512 --trials 256 --threads 2 --out FOLDER

Writes ``FOLDER/NAME.so`` (the winner) and ``FOLDER/NAME.json``: seconds from the start of this process until the last
trial was measured, and the best latency after each trial. Inputs and outputs are as in `kernels`: images channels last,
weights ``[kh, kw, ci, co]``.

Releases known to work: apache-tvm 0.27.0.post1 with apache-tvm-ffi 0.1.14.post0; later releases of the second one crash
when a module is serialised. The stock builder's pool of processes hangs on small machines, so candidates are built in
forked processes, which is faster than what a stock installation does.
"""

from __future__ import annotations

import time

STARTED = time.time()

import argparse  # noqa: E402
import json  # noqa: E402
import multiprocessing  # noqa: E402
import os  # noqa: E402
import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402

import tvm  # noqa: E402
from tvm import te, tirx  # noqa: E402
from tvm.ir.utils import derived_object  # noqa: E402
from tvm.s_tir import meta_schedule as ms  # noqa: E402
from tvm.s_tir.meta_schedule.builder import BuilderResult, PyBuilder  # noqa: E402
from tvm.s_tir.meta_schedule.builder.local_builder import default_build  # noqa: E402
from tvm.s_tir.meta_schedule.measure_callback import MeasureCallback, PyMeasureCallback  # noqa: E402
from tvm.support.tar import tar  # noqa: E402


def matmul(m, n, k):
    """Return the tensors of a product."""
    a, b = te.placeholder((m, k), name="a"), te.placeholder((k, n), name="b")
    r = te.reduce_axis((0, k), name="r")
    return [a, b, te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="c")]


def padded(x, size, channels):
    """Surround an image by one pixel of zeros."""

    def value(n, h, w, c):
        inside = tirx.all(h >= 1, h <= size, w >= 1, w <= size)
        return tirx.if_then_else(inside, x[n, h - 1, w - 1, c], tirx.const(0.0, "float32"))

    return te.compute((1, size + 2, size + 2, channels), value, name="padded")


def conv3x3(size, ci, co, bias_relu):
    """Return the tensors of a convolution, with bias and relu if asked for."""
    x, w = te.placeholder((1, size, size, ci), name="x"), te.placeholder((3, 3, ci, co), name="w")
    p = padded(x, size, ci)
    r, s, c = te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, 3), name="s"), te.reduce_axis((0, ci), name="rc")
    y = te.compute(
        (1, size, size, co), lambda n, i, j, f: te.sum(p[n, i + r, j + s, c] * w[r, s, c, f], axis=[r, s, c]), name="y"
    )
    if not bias_relu:
        return [x, w, y]
    b = te.placeholder((co,), name="b")
    z = te.compute((1, size, size, co), lambda n, i, j, f: te.max(y[n, i, j, f] + b[f], tirx.const(0.0, "float32")))
    return [x, w, b, z]


def depthwise3x3(size, channels):
    """Return the tensors of a depthwise convolution."""
    x, w = te.placeholder((1, size, size, channels), name="x"), te.placeholder((3, 3, channels), name="w")
    p = padded(x, size, channels)
    r, s = te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, 3), name="s")
    y = te.compute(
        (1, size, size, channels), lambda n, i, j, f: te.sum(p[n, i + r, j + s, f] * w[r, s, f], axis=[r, s]), name="y"
    )
    return [x, w, y]


KERNELS = {
    "matmul_512": lambda: matmul(512, 512, 512),
    "conv_64_56": lambda: conv3x3(56, 64, 64, bias_relu=True),
    "conv_512_7": lambda: conv3x3(7, 512, 512, bias_relu=False),
    "depthwise_256_28": lambda: depthwise3x3(28, 256),
}


def _build_one(item, path):
    default_build(item.mod, item.target, None).export_library(path, fcompile=tar)


@derived_object
class ForkingBuilder(PyBuilder):
    """Builds every candidate in a process of its own, two at a time."""

    def __init__(self, timeout_s=30.0):
        super().__init__()
        self.timeout_s = timeout_s

    def build(self, build_inputs):
        """Build a batch; a slow or failing candidate is reported as such."""
        fork = multiprocessing.get_context("fork")
        waiting, running, results = list(enumerate(build_inputs)), {}, [None] * len(build_inputs)
        while waiting or running:
            while waiting and len(running) < 2:
                index, item = waiting.pop(0)
                path = os.path.join(tempfile.mkdtemp(prefix="race"), "module.tar")
                process = fork.Process(target=_build_one, args=(item, path))
                process.start()
                running[index] = (process, path, time.monotonic() + self.timeout_s)
            for index, (process, path, deadline) in list(running.items()):
                late = time.monotonic() > deadline
                if late:
                    process.kill()
                elif process.is_alive():
                    continue
                process.join()
                good = process.exitcode == 0
                results[index] = (
                    BuilderResult(path, None) if good else BuilderResult(None, "late" if late else "failed")
                )
                del running[index]
            time.sleep(0.002)
        return results


@derived_object
class Curve(PyMeasureCallback):
    """Notes when each trial was measured, and how fast it was."""

    def __init__(self):
        super().__init__()
        self.points = []

    def apply(self, task_scheduler, task_id, measure_candidates, builder_results, runner_results):
        """Take one round."""
        now = time.time() - STARTED
        for result in runner_results:
            seconds = None if result.error_msg is not None else [float(x) for x in result.run_secs]
            self.points.append((now, None if seconds is None else 1e3 * sum(seconds) / len(seconds)))


def main():
    """Tune, and write the winner."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", choices=KERNELS)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu", default="sapphirerapids")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ["TVM_NUM_THREADS"] = str(options.threads)
    module = tvm.IRModule({"main": te.create_prim_func(KERNELS[options.kernel]()).with_attr("global_symbol", "main")})
    target = tvm.target.Target({"kind": "llvm", "mcpu": options.cpu, "num-cores": options.threads})
    curve = Curve()
    how = ms.runner.EvaluatorConfig(number=3, repeat=1, min_repeat_ms=100, enable_cpu_cache_flush=False)
    database = ms.tune_tir(
        module,
        target=target,
        work_dir=tempfile.mkdtemp(prefix="race"),
        max_trials_global=options.trials,
        num_trials_per_iter=min(64, options.trials),
        builder=ForkingBuilder(),
        runner=ms.runner.LocalRunner(timeout_sec=10, evaluator_config=how),
        measure_callbacks=[curve, *MeasureCallback.create("default")],
        seed=1,
        num_tuning_cores=2,
    )
    seconds = time.time() - STARTED
    best = ms.tir_integration.compile_tir(database, module, target)
    tvm.compile(best.mod, target=target).export_library(str(options.out / f"{options.kernel}.so"))
    valid = [ms_ for _, ms_ in curve.points if ms_ is not None]
    result = {"kernel": options.kernel, "trials": len(curve.points), "threads": options.threads, "seconds": seconds,
              "best_ms": min(valid, default=None), "curve": curve.points, "tvm": tvm.__version__}  # fmt: skip
    (options.out / f"{options.kernel}.json").write_text(json.dumps(result))
    print(f"{options.kernel}: {len(curve.points)} trials, {seconds:.1f} s, best {min(valid, default=0):.4f} ms")


if __name__ == "__main__":
    main()
