"""What surrounds the kernels of a network: compiling it, calling it, and several callers at once.

Run it by hand (it is not part of the default tests), on a quiet machine::

    python tests/benchmarks/bench_executable.py light_resnet50 --log some.tunelog.jsonl

Compiling is timed in fresh processes, from an empty cache of kernels and from a full one; the log is made from default
schedules when none is given, so that every task has a record. The aim for ResNet-50 is less than 10 s on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import workbench as wb
from workbench.log import Header, Record
from workbench.log.reader import write_log
from workbench.runtime.execution.executable import Executable
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, Slot
from workbench.space.default_schedule import default_schedule

_COMPILE = """
import resource, sys, time
import workbench as wb
graph = wb.load_onnx(sys.argv[1])
wall, cpu = time.perf_counter(), time.process_time()
executable = wb.compile(graph, log=sys.argv[2])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
helpers = resource.getrusage(resource.RUSAGE_CHILDREN)
assert not executable.untuned
print(wall, cpu, helpers.ru_utime + helpers.ru_stime)
"""


def make_log(model: str, path: Path) -> None:
    """Write a log with the default schedule of every task."""
    tasks, target = wb.extract_tasks(wb.load_onnx(model)), wb.Target.host()
    records = [
        Record(task_key=t.key, task=t.name, trial=k, status="ok", target=str(target), latency_ms=1.0, costs_ms=(1.0,),
               trace=tuple(default_schedule(t, target).to_json()))
        for k, t in enumerate(tasks)
    ]  # fmt: skip
    write_log(path, Header(tasks=tuple((t.key, t.name) for t in tasks), target=str(target)), records)


def compile_times(model: str, log: Path, repeats: int) -> dict[str, list[list[float]]]:
    """Seconds (wall, own processor time, helpers' processor time) from an empty cache and from a full one."""
    found: dict[str, list[list[float]]] = {"cold": [], "warm": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "WORKBENCH_CACHE_DIR": folder}
            for kind in found:
                command = [sys.executable, "-c", _COMPILE, model, str(log)]
                done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
                found[kind].append([float(x) for x in done.stdout.split()])
    return found


def call_us(size: int = 256, repeats: int = 15) -> float:
    """Processor time of one `run` of a network with one tiny kernel, in microseconds."""
    add = wb.te.placeholder((size,), name="A")
    func = wb.te.func(wb.te.compute((size,), lambda i: add[i] + 1.0, name="C"), "add")
    code = wb.Schedule(func, wb.Target.host(threads=1)).build()._code
    call = CallPlan("add", code, (Slot("input", 0), Slot("output", 0)))
    tiny = Executable(ExecutablePlan((ArraySpec("x", (size,)),), (ArraySpec("y", (size,)),), (), 0, (call,)))
    x = np.zeros(size, "float32")
    best = float("inf")
    for _ in range(repeats):
        begin = time.thread_time()
        for _ in range(1000):
            tiny.run(x)
        best = min(best, (time.thread_time() - begin) * 1e3)
    return best


def runs_per_second(executable: Executable, callers: int, seconds: float) -> float:
    """Runs per second of so many threads that call the same executable."""
    inputs = [{s.name: np.random.default_rng(k).standard_normal(s.shape).astype(s.dtype) for s in executable.inputs}
              for k in range(callers)]  # fmt: skip
    counts, end = [0] * callers, time.perf_counter() + seconds

    def call(k: int) -> None:
        while time.perf_counter() < end:
            executable.run(inputs[k])
            counts[k] += 1

    threads = [threading.Thread(target=call, args=(k,)) for k in range(callers)]
    begin = time.perf_counter()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return sum(counts) / (time.perf_counter() - begin)


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", nargs="?", default="light_resnet50")
    p.add_argument("--log", type=Path, help="a log with all tasks of the model for this machine")
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--seconds", type=float, default=2.0, help="of each measurement of throughput")
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = args.log or Path(folder) / "all.tunelog.jsonl"
        if args.log is None:
            make_log(args.model, log)
        compiled = compile_times(args.model, log, args.repeats)
        executable = wb.compile(wb.load_onnx(args.model), log=log)
    for kind, times in compiled.items():
        wall, own, helpers = min(times)
        print(f"{args.model} compiled {kind}: {wall:.2f} s ({own:.2f} s here, {helpers:.2f} s in helpers)")
    overhead = call_us()
    print(f"one call: {overhead:.1f} us beside the kernels")
    throughput = {}
    for callers in (1, 2, 4):
        throughput[callers] = runs_per_second(executable, callers, args.seconds)
        print(f"{callers} callers: {throughput[callers]:.1f} runs/s")
    if args.json:
        found = {"model": args.model, "compile_s": compiled, "call_us": overhead, "runs_per_s": throughput}
        args.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
