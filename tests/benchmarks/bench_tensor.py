"""Matrix products of bfloat16 and of bytes through AMX and VNNI, beside torch (oneDNN) and onnxruntime.

Run it by hand on a CPU that has the instructions (it is not part of the default tests; torch is not among the
project's dependencies)::

    pip install torch
    python tests/benchmarks/bench_tensor.py --json /tmp/tensor.json

One thread, one fresh process per library and round, the libraries in turn; times are of the thread's own processor
time. "ours" is timed inside machine code. The libraries can only be called from Python, which finds its own code
evicted from the caches after every product (10 to 40 us), so the ratios are to "ours, from Python", called in the same
way. Ours has B packed beforehand; of each library the fastest of its ways counts, one with packed weights where there
is one. The sums are float32 and int32 everywhere, and torch rounds its result to bfloat16. Operands are random: AMX
draws so much power that products of zeros run a quarter faster. "ceiling" is the instruction alone on such operands in
registers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Ways = dict[str, Callable[[], Any]]
Arrays = dict[str, np.ndarray]

#: Case -> (intrinsic, operations per second in 10^9 to show, libraries).
CASES = {
    "bf16 amx": ("x86.amx.bf16", 1400, ("torch",)),
    "u8s8 amx": ("x86.amx.u8s8", 2000, ("onnxruntime",)),
    "s8s8 amx": ("x86.amx.s8s8", 2000, ("torch", "onnxruntime")),
    # The libraries use AMX where there is AMX, so nobody stands beside VNNI here.
    "u8s8 vnni": ("x86.vnni.dot4", 600, ()),
}


def inputs(case: str, n: int) -> Arrays:
    """Operands, the same for everybody."""
    import ml_dtypes

    rng = np.random.default_rng(0)
    if case.startswith("bf16"):
        return {k: rng.standard_normal((n, n)).astype(ml_dtypes.bfloat16) for k in "AB"}
    low, high, dtype = (-128, 128, np.int8) if case.startswith("s8") else (0, 256, np.uint8)
    return {
        "A": rng.integers(low, high, (n, n)).astype(dtype),
        "B": rng.integers(-128, 128, (n, n)).astype(np.int8),
    }


def reference(a: Arrays) -> np.ndarray:
    """The product in double precision."""
    return a["A"].astype("f8") @ a["B"].astype("f8")


# ------------------------------------------------------------------------------------------------------------- ours


def ours(case: str, n: int, a: Arrays) -> Ways:
    """Our kernel, in the forms that are worth trying on one core."""
    from workbench import workloads
    from workbench.target import Target

    name = CASES[case][0]
    if name == "x86.amx.bf16":
        func = workloads.matmul(n, n, n, dtype="bfloat16", constant_b=True)
    else:
        func = workloads.matmul_int8(n, n, n, signed=case.startswith("s8"), constant_b=True)
    target = Target.host(threads=1)
    forms = ((2, 2, "ij"), (2, 2, "ji")) if "amx" in name else ((4, 4, "ji"), (8, 2, "ji"), (4, 4, "ij"))
    ways: Ways = {}
    for rows, columns, order in forms:
        kernel = schedule(func, target, name, rows, columns, order).build()
        ways[f"{rows}x{columns} {order}"] = kernel.prepare(**a)
    return ways


def native(call: Any, seconds: float) -> float:
    """Median milliseconds of a prepared call of ours, clocked next to the call in machine code."""
    from workbench.runtime.native import timing_loop

    kernel = call._kernel
    around, fn = kernel._around, kernel._loaded.address

    def run(repeat: int) -> np.ndarray:
        table = call._table.ctypes.data
        return np.asarray(
            timing_loop.time_calls(fn, table, around.workspace, around.rt, repeat, 1, timing_loop.clock_for(1), None)
        )

    each = float(np.median(run(20))) * 1e-9
    times = run(max(30, int(seconds / each)))
    return float(np.median(times[len(times) // 3 :])) / 1e6


def schedule(func: Any, target: Any, name: str, rows: int, columns: int, order: str) -> Any:
    """Blocks of rows x columns tiles in registers around the whole sum, B packed to suit."""
    from workbench.schedule import Schedule

    s = Schedule(func, target)
    tall = name.startswith("x86.amx")
    i0, i1, *i2 = s.split("i", [None, rows, 16] if tall else [None, rows])
    j0, j1, j2 = s.split("j", [None, columns, 16])
    group = 2 if name.endswith("bf16") else 4
    k0, *k1 = s.split("k", [None, 16, group] if tall else [None, group])
    outer = {"i": i0, "j": j0}
    s.reorder(*(outer[x] for x in order), k0, i1, j1, *i2, j2, *k1)
    s.transform_layout("B", 1, 16).transform_layout("B", 1, group, count="here")
    return s.unroll(i1).unroll(j1).tensorize((i2 or [j2])[0], name)


# ------------------------------------------------------------------------------------------------------------ peers


def torch_ways(case: str, n: int, a: Arrays) -> Ways:
    """Eager torch, and with weights that oneDNN has packed."""
    import torch

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    if case.startswith("s8"):
        x, w = torch.from_numpy(a["A"]), torch.from_numpy(a["B"])
        return {"_int_mm": lambda: torch._int_mm(x, w)}
    x, w = (torch.from_numpy(a[k].view(np.uint16)).view(torch.bfloat16) for k in "AB")
    out = torch.empty(n, n, dtype=torch.bfloat16)
    ways: Ways = {"mm": lambda: torch.mm(x, w, out=out)}
    if torch.backends.mkldnn.is_available():
        packed = torch.ops.mkldnn._reorder_linear_weight(w.t().contiguous(), n)
        ways["packed"] = lambda: torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], "")
    return ways


def onnxruntime_ways(case: str, n: int, a: Arrays) -> Ways:
    """One MatMulInteger with constant B, which the session packs."""
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    kind = TensorProto.INT8 if case.startswith("s8") else TensorProto.UINT8
    node = helper.make_node("MatMulInteger", ["A", "B"], ["Y"])
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("A", kind, (n, n))],
        [helper.make_tensor_value_info("Y", TensorProto.INT32, (n, n))], [numpy_helper.from_array(a["B"], "B")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_ortvalue_input("A", ort.OrtValue.ortvalue_from_numpy(a["A"]))
    out = ort.OrtValue.ortvalue_from_numpy(np.zeros((n, n), np.int32))
    binding.bind_ortvalue_output("Y", out)

    def call() -> Any:
        session.run_with_iobinding(binding)
        return out

    return {"MatMulInteger": call}


# ---------------------------------------------------------------------------------------------------------- ceiling

#: Case -> instruction on tiles, or None for VNNI's on vectors.
INSTRUCTIONS = {"bf16 amx": "tdpbf16ps", "u8s8 amx": "tdpbusd", "s8s8 amx": "tdpbssd", "u8s8 vnni": None}


def ceiling(case: str, n: int, a: Arrays) -> Ways:
    """The instruction alone on operands that stay in registers, as often as the product of this size takes it."""
    import ctypes

    from workbench.codegen.llvm import llvmlite_binding
    from workbench.intrinsics import x86_amx
    from workbench.target import Target

    instruction = INSTRUCTIONS[case]
    steps = n**3 // (16 * 16 * (32 if case.startswith("bf16") else 64)) if instruction else n**3 // 64
    text = _tile_loop(instruction, steps // 4) if instruction else _dot_loop(steps // 16)
    assert x86_amx.CONFIG in text or not instruction  # so that the system is asked for the tiles
    library = llvmlite_binding.load_object(llvmlite_binding.compile_ir(text, Target.host(threads=1)), ("loop",))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library["loop"])
    data = [np.ascontiguousarray(a[k]).ctypes.data for k in "AB"]
    keep = (library, a)

    def run() -> Any:
        call(*data)
        return keep and None

    return {"registers only": run}


def _loop(before: list[str], body: list[str], after: list[str], count: int, phis: list[str]) -> str:
    lines = ["define void @loop(ptr %a, ptr %b) {", "entry:", *before, "br label %l", "l:"]
    lines += ["%i = phi i64 [ 0, %entry ], [ %n, %l ]", *phis, *body, "%n = add i64 %i, 1"]
    return "\n".join(
        [*lines, f"%c = icmp ult i64 %n, {count}", "br i1 %c, label %l, label %e", "e:", *after, "ret void", "}"]
    )


def _tile_loop(instruction: str, count: int) -> str:
    from workbench.intrinsics import x86_amx

    config = ", ".join(f"i8 {v}" for v in x86_amx.config())
    head = [f"@{x86_amx.CONFIG} = internal constant [64 x i8] [{config}], align 64"]
    head += [f"declare void @llvm.x86.{f}" for f in ("ldtilecfg(ptr)", "tilerelease()", "tilezero(i8)")]
    head += ["declare void @llvm.x86.tileloadd64(i8, ptr, i64)", f"declare void @llvm.x86.{instruction}(i8, i8, i8)"]
    before = [f"call void @llvm.x86.ldtilecfg(ptr @{x86_amx.CONFIG})"]
    before += [f"call void @llvm.x86.tilezero(i8 {t})" for t in range(4)]
    for t in range(4):
        before += [f"%p{t} = getelementptr i8, ptr %{'ab'[t // 2]}, i64 {t % 2 * 1024}"]
        before += [f"call void @llvm.x86.tileloadd64(i8 {4 + t}, ptr %p{t}, i64 64)"]
    pairs = ((0, 4, 6), (1, 4, 7), (2, 5, 6), (3, 5, 7))
    body = [f"call void @llvm.x86.{instruction}(i8 {c}, i8 {x}, i8 {y})" for c, x, y in pairs]
    return "\n".join(head) + "\n" + _loop(before, body, ["call void @llvm.x86.tilerelease()"], count, [])


def _dot_loop(count: int) -> str:
    v = "<16 x i32>"
    head = f"declare {v} @llvm.x86.avx512.vpdpbusd.512({v}, {v}, {v})\n"
    before = [f"%x{k} = load {v}, ptr %{'ab'[k]}, align 1" for k in range(2)]
    phis = [f"%s{k} = phi {v} [ zeroinitializer, %entry ], [ %t{k}, %l ]" for k in range(16)]
    call = f"call {v} @llvm.x86.avx512.vpdpbusd.512"
    body = [f"%t{k} = {call}({v} %s{k}, {v} %x0, {v} %x1)" for k in range(16)]
    sums = [f"%u{k} = xor {v} %t{k}, {f'%u{k - 1}' if k else '%t0'}" for k in range(16)]
    return head + _loop(before, body, [*sums, f"store {v} %u15, ptr %a, align 1"], count, phis)


WAYS = {"ours": ours, "torch": torch_ways, "onnxruntime": onnxruntime_ways, "ceiling": ceiling}


# ------------------------------------------------------------------------------------------------------- measuring


def worker(library: str, case: str, n: int, seconds: float) -> None:
    """Print the milliseconds per call of each way of a library, and its error, as JSON."""
    a = inputs(case, n)
    want, found = reference(a), {}
    for way, call in WAYS[library](case, n, a).items():
        got = call()
        if got is None:
            found[way] = {"ms": timed(call, seconds), "error": 0.0}
            continue
        got = got[0] if isinstance(got, tuple) else got
        got = got.numpy() if hasattr(got, "numpy") and str(getattr(got, "dtype", "")) != "torch.bfloat16" else got
        got = np.asarray(got.float() if hasattr(got, "float") else got, "f8")
        found[way] = {"ms": timed(call, seconds), "error": float(np.abs(got - want).max() / np.abs(want).max())}
        if library == "ours":
            found[f"{way}, inside"] = found[way] | {"ms": native(call, seconds)}
    print(json.dumps(found))


def timed(call: Callable[[], Any], seconds: float) -> float:
    """Median milliseconds of the thread's processor time per call; the first third warms up."""
    times: list[int] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 9:
        start = time.thread_time_ns()
        call()
        times.append(time.thread_time_ns() - start)
    return statistics.median(times[len(times) // 3 :]) / 1e6


def one(library: str, case: str, args: argparse.Namespace) -> dict[str, Any]:
    """Run one worker on one core."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    core = max(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(core), sys.executable, str(Path(__file__).resolve()), "--worker", library]
    command += ["--cases", case, "--size", str(args.size), "--time", str(args.time)]
    done = subprocess.run(command, env={**os.environ, **dict.fromkeys(names, "1")}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{library}, {case}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def row(case: str, library: str, rounds: list[dict[str, Any]], n: int) -> dict[str, Any]:
    """The fastest way of a library over all rounds; of ours, timed inside or from Python."""
    ways = [w for w in rounds[0] if library != "ours" or w.endswith(", inside")]
    ways = [w for w in rounds[0] if not w.endswith(", inside")] if library == "ours, from Python" else ways
    medians = {way: statistics.median(r[way]["ms"] for r in rounds) for way in ways}
    way = min(medians, key=lambda w: medians[w])
    speeds = sorted(2 * n**3 / r[way]["ms"] / 1e6 for r in rounds)
    error = max(r[way]["error"] for r in rounds)
    found = {"case": case, "library": library, "way": way, "ms": medians[way], "median": statistics.median(speeds)}
    return found | {"min": speeds[0], "max": speeds[-1], "error": error, "goal": CASES[case][1]}


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--time", type=float, default=0.4, help="seconds per way, process and round")
    parser.add_argument("--json")
    parser.add_argument("--worker")
    args = parser.parse_args()
    if args.worker:
        worker(args.worker, args.cases[0], args.size, args.time)
        return
    rows = []
    for case in args.cases:
        libraries = ("ours", *CASES[case][2], "ceiling")
        runs: dict[str, list[dict[str, Any]]] = {lib: [] for lib in libraries}
        for _ in range(args.rounds):
            for library in libraries:
                runs[library].append(one(library, case, args))
        runs = {"ours": runs["ours"], "ours, from Python": runs.pop("ours"), **runs}
        found = [row(case, library, rounds, args.size) for library, rounds in runs.items()]
        for r in found:
            like = found[0] if r["library"] == "ceiling" else found[1]
            ratio = "" if "ours" in r["library"] else f"  ours {like['median'] / r['median']:.2f} times as fast"
            goal = f"  (goal {r['goal']})" if r["library"] == "ours" else ""
            print(
                f"{case:<10} {r['library']:<17} {r['way']:<15} {r['median']:>7.0f} Gop/s  "
                f"({r['min']:.0f} to {r['max']:.0f})  error {r['error']:.1e}{goal}{ratio}",
                flush=True,
            )
        rows += found
    if args.json:
        from suite import host

        Path(args.json).write_text(json.dumps({"size": args.size, "host": host.describe(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
